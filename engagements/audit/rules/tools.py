"""Recommend a tool for the kernel: Triton unless the requirements exclude it."""

from __future__ import annotations

from engagements.audit.rules import roofline, selection
from engagements.audit.rules.advice import Tool
from engagements.audit.rules.ceiling import CeilingFigures
from engagements.audit.rules.finding import Finding
from engagements.audit.rules.inputs import AuditInputs
from engagements.audit.rules.phrases import listed, percent
from engagements.evidence.readers import families

# Features that tile-level code cannot express: control over warps, clusters and other GPUs.
BEYOND_TRITON = {
    "warp_specialisation": "warps with different tasks",
    "clusters": "thread-block clusters",
    "communication": "communication between GPUs from inside the kernel",
    "sub_byte": "sub-byte values in tensor cores",
}
PRODUCTS = ("matrix product", "mixture of experts", "convolution")
PRODUCT_DEFINITIONS = (
    "fused_ffn",
    "fused_linear_relu",
    "matmul_ladder",
    "int8_linear",
    "int4_linear",
)
# Triton is typically within 10 to 20% of a hand-tuned kernel.
TRITON_SHARE = 0.85


def recommend(inputs: AuditInputs, worth: Finding) -> Tool:
    """Recommend a tool for this operator, with the reason."""
    beyond = _beyond_triton(inputs)
    if beyond:
        why = f"Triton cannot express {listed(beyond)}; CUDA C++ gives control over them."
        return Tool(name="CUDA C++", why=why)
    if _is_product(inputs) and _wants_tensor_peak(inputs):
        why = (
            "The libraries lack this compute-bound matrix product: CUTLASS composes tiles, "
            "schedules and epilogues at tensor-core peak."
        )
        return Tool(name="CUTLASS", why=why)
    share = _wanted_share(worth)
    if share is not None and share > TRITON_SHARE:
        why = (
            f"The target requires {percent(share)} of the GPU's peak, more than Triton usually "
            "reaches (within 10 to 20% of a hand-tuned kernel)."
        )
        return Tool(name="CUDA C++", why=why)
    why = (
        "Tile-level code is enough: a tenth of the lines of CUDA C++, within 10 to 20% of a "
        "hand-tuned kernel, and easier to port to the next GPU."
    )
    return Tool(name="Triton", why=why)


def _beyond_triton(inputs: AuditInputs) -> list[str]:
    needs = inputs.needs.value if inputs.needs else None
    wanted = [
        BEYOND_TRITON[name] for name in (needs.features if needs else ()) if name in BEYOND_TRITON
    ]
    if inputs.operator is not None and inputs.operator.name == families.COMMUNICATION:
        wanted.append(BEYOND_TRITON["communication"])
    return list(dict.fromkeys(wanted))


def _is_product(inputs: AuditInputs) -> bool:
    if inputs.needs is not None:
        return inputs.needs.value.definition in PRODUCT_DEFINITIONS
    found = selection.selected(inputs)
    return found is not None and found.operator.name in PRODUCTS


def _wants_tensor_peak(inputs: AuditInputs) -> bool:
    """Return whether it is compute-bound: memory-bound code gains nothing from tensor-core peak."""
    kernels = roofline.headroom(inputs).kernels
    return bool(kernels) and kernels[0].bound == "compute"


def _wanted_share(worth: Finding) -> float | None:
    """Return the share of the roofline that the target requires."""
    figures = worth.figures
    if not isinstance(figures, CeilingFigures) or figures.most is None or figures.needed is None:
        return None
    return figures.needed / figures.most
