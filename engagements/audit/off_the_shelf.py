"""Check 2: is there nothing off the shelf that fits?"""

from engagements.audit.description import Description, Meanings
from engagements.audit.words import Check

CHECK = Description(
    name=Check.OFF_THE_SHELF,
    question="Is nothing off the shelf that fits?",
    why=(
        "FlashAttention, paged attention, the vendors' fused kernels: the open ecosystem covers "
        "more than people think. Custom is for what it does not cover."
    ),
    value_label="The closest off-the-shelf kernel, and where it falls short",
    value_hint="its name and version, and what it does not cover.",
    consultant=Meanings(
        passed="The closest library kernel leaves this case uncovered.",
        failed="A library kernel covers this case: use it.",
        unknown="The candidates off the shelf have not been tried yet.",
    ),
    customer=Meanings(
        passed="No ready-made kernel covers your case.",
        failed="A ready-made kernel covers your case and costs you nothing to adopt.",
        unknown="We have not yet tried every ready-made kernel that might fit.",
    ),
)
