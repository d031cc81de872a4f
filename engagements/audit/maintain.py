"""Check 5: is there the depth to maintain it?"""

from decimal import Decimal

from engagements.audit.description import Description, Meanings, Quantity
from engagements.audit.words import Check, Outcome


def _expects(engineers: Decimal) -> Outcome | None:
    return None if engineers > 0 else Outcome.FAIL


CHECK = Description(
    name=Check.MAINTAIN,
    question="Is there the depth to maintain it?",
    why=(
        "A custom kernel is not written once: new GPUs, new neighbours and numerical surprises "
        "come back to whoever owns it."
    ),
    value_label="Engineers who will be able to maintain it",
    value_hint="how many people, as in 2 engineers.",
    consultant=Meanings(
        passed="Named engineers can own the kernel after the handover.",
        failed="Nobody on the customer's side could own the kernel.",
        unknown="Who would own the kernel is not settled yet.",
    ),
    customer=Meanings(
        passed="Your team can own the kernel after the handover.",
        failed="Nobody on your team could look after the kernel once we leave.",
        unknown="It is not settled yet who would look after the kernel.",
    ),
    quantity=Quantity(
        "engineers", r"(?:\w+ )?(?:engineers?|people|persons?|FTEs?)", low=Decimal(0)
    ),
    expects=_expects,
)
