"""Check 3: are the shapes stable?"""

from decimal import Decimal

from engagements.audit.description import Description, Meanings, Quantity
from engagements.audit.words import Check

CHECK = Description(
    name=Check.STABLE,
    question="Are the shapes stable?",
    why=(
        "A kernel is tuned for the shapes it is written for. Where sequence lengths have a fat "
        "tail, it ends up slow in the tail."
    ),
    value_label="Share of the traffic in the shapes the kernel is written for",
    value_hint="a percentage of the traffic, as in 97 %.",
    consultant=Meanings(
        passed="A few shapes carry the traffic; the tail may stay with the library.",
        failed="The traffic spreads over shapes that one kernel cannot be tuned for.",
        unknown="No distribution of shapes from real traffic yet.",
    ),
    customer=Meanings(
        passed="Your traffic is regular enough to tune a kernel for it.",
        failed="Your traffic varies too much for one tuned kernel to help all of it.",
        unknown="We have not yet seen how much your traffic varies.",
    ),
    quantity=Quantity("% of traffic", "%|per ?cent", low=Decimal(0), high=Decimal(100)),
)
