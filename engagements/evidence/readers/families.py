"""Kernel families by name pattern, across libraries.

The first family whose pattern matches a kernel's name has it. The names are
those of PyTorch (ATen, inductor), cuBLAS (nvjet, gemm), cuDNN, CUTLASS, FlashAttention,
FlashInfer, vLLM, SGLang, TensorRT-LLM, Triton's tutorials, NCCL, RCCL and NVSHMEM.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

COPY: Final = "copy"
MEMSET: Final = "memset"
COMMUNICATION: Final = "communication"
OTHER: Final = "other"

# Ordered by cost, as fused kernels have several names ("flash … softmax" is attention).
PATTERNS: Final[dict[str, str]] = {
    COMMUNICATION: r"(?i)nccl|rccl|nvshmem|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all"
    r"|cross_device_reduce|send_?recv|multimem",
    "attention": r"(?i)flash|fmha|attention|attn|\bmha_|(?<![a-z])mla(?![a-z])|paged_?kv"
    r"|prefill|decode_?kernel|(?<![a-z])sdpa|merge_state|cascade",
    # Grouped products, of ATen, CUTLASS (GroupProblemShape), DeepGEMM (MGrouped…) and Triton.
    "mixture of experts": r"(?i)moe|expert|group(ed)?_?(gemm|gemv|mm|matmul|linear)"
    r"|(gemm|mm|matmul)_?grouped|groupproblemshape|[mk]_?grouped_?(contiguous|masked)|ragged_dot"
    r"|topk_?gating|permute_tokens",
    "quantisation": r"(?i)(de)?quant(?!um)|fp8_?scal|scaled_fp|per_token_group|mx_?cast",
    "convolution": r"(?i)conv(?!ert)|wgrad|dgrad|implicit_gemm|winograd",
    "matrix product": r"(?i)gemm|gemv|nvjet|matmul|(?<![a-z])(b?a?d?d?mm)(?![a-z])|cutlass|cublas"
    r"|splitk|hgemm|xmma|wgmma|marlin|linear_?kernel|dot_kernel|Kernel2",
    "softmax": r"(?i)soft_?max|logsumexp|cross_entropy",
    "normalisation": r"(?i)norm",
    "rotary embedding": r"(?i)rotary|rope",
    "embedding and gather": r"(?i)embedding|gather|scatter|index(_|Select|ing|FuncLarge|Func)"
    r"|take_along|nonzero|write_indices|masked_(fill|select)",
    "sampling and sorting": r"(?i)sort|top_?k|top_?p|sampl|multinomial|radix|argmax|histogram"
    r"|distribution_",
    "optimiser": r"(?i)adam|multi_tensor|optimi[sz]er|sgd|lamb_",
    "scan": r"(?i)scan|cumsum|selective_|mamba|ssd_|chunk_",
    "reduction": r"(?i)reduce|(?<![a-z])(sum|mean|amax|amin|prod)(?![a-z])",
    "copy kernel": r"(?i)copy|cat_?array|catarray|transpose|permute|contiguous|memcpy|fill",
    "elementwise": r"(?i)elementwise|pointwise|silu|gelu|relu|sigmoid|tanh|activation"
    r"|dropout|triton_poi|(?<![a-z])(add|mul|div|sub|cast|where)(?![a-z])",
    "fused (compiled)": r"triton_(red|per|for|tem)_|triton__",
}
_COMPILED: Final = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}


@lru_cache(maxsize=20_000)
def family(kernel: str) -> str:
    """Return the family of a kernel name; "other" when unknown."""
    for name, pattern in _COMPILED.items():
        if pattern.search(kernel):
            return name
    return OTHER
