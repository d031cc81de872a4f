"""Check 6: is the speedup worth it?"""

from decimal import Decimal

from engagements.audit.description import Description, Meanings, Quantity
from engagements.audit.words import Check, Outcome

# What the upkeep of a kernel has to be paid with, end to end and not in the kernel alone.
LEAST_RATIO = Decimal(2)


def _expects(ratio: Decimal) -> Outcome:
    return Outcome.PASS if ratio >= LEAST_RATIO else Outcome.FAIL


CHECK = Description(
    name=Check.WORTH,
    question="Is the speedup worth it?",
    why=(
        "1.2x in the kernel that becomes 1.05x end to end does not pay for the upkeep. "
        "We look for 2x end to end."
    ),
    value_label="Expected end-to-end speedup",
    value_hint="a ratio over the off-the-shelf baseline, as in 2.6x.",
    consultant=Meanings(
        passed="The roofline and Amdahl leave 2x end to end within reach.",
        failed="Less than 2x end to end is to be had: not worth the upkeep.",
        unknown="No estimate of the end-to-end speedup yet.",
    ),
    customer=Meanings(
        passed="Doubling your end-to-end speed is within reach.",
        failed="What could be gained would not pay for keeping the kernel alive.",
        unknown="We cannot yet say what speedup to expect.",
    ),
    quantity=Quantity("x", r"x\b|×|times", low=Decimal("0.1"), high=Decimal(1000)),
    expects=_expects,
)
