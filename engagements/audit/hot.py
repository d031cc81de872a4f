"""Check 1: is the operation hot?"""

from decimal import Decimal

from engagements.audit.description import Description, Meanings, Quantity
from engagements.audit.words import Check, Outcome

# Below this share of the wall-clock time no kernel work moves the whole measurably.
LEAST_PERCENT = Decimal(5)


def _expects(percent: Decimal) -> Outcome:
    return Outcome.PASS if percent >= LEAST_PERCENT else Outcome.FAIL


CHECK = Description(
    name=Check.HOT,
    question="Is the operation hot?",
    why=(
        "An operation under 5% of the wall-clock time cannot move the whole, "
        "however fast it becomes. So we profile first."
    ),
    value_label="Share of the wall-clock time",
    value_hint="a percentage from the profile, as in 38 %.",
    consultant=Meanings(
        passed="At least 5% of the wall-clock time is spent in it: Amdahl leaves room.",
        failed="Under 5% of the wall-clock time: a free kernel would not be noticed.",
        unknown="No profile of the real traffic yet.",
    ),
    customer=Meanings(
        passed="Enough of your time is spent here for a faster kernel to be felt.",
        failed="Too little of your time is spent here: even a free kernel would not be felt.",
        unknown="We could not yet see how much of your time is spent here.",
    ),
    quantity=Quantity("%", "%|per ?cent", low=Decimal(0), high=Decimal(100)),
    expects=_expects,
)
