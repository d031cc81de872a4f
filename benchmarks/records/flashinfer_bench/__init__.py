"""Convert Definitions and Workloads of FlashInfer-Bench into benchmark folders.

The format is that of https://github.com/flashinfer-ai/flashinfer-bench (FlashInfer Trace). A
Definition is one JSON file with the operator's reference as PyTorch code; its Workloads are JSON
lines. Nothing of either runs here.
"""
