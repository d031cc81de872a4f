"""One decoding step of the gated delta rule, the linear attention of Qwen3-Next and Kimi Linear."""
