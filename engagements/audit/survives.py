"""Check 4: will the kernel survive a model change?"""

from decimal import Decimal

from engagements.audit.description import Description, Meanings, Quantity
from engagements.audit.words import Check

CHECK = Description(
    name=Check.SURVIVES,
    question="Will it survive a model change?",
    why=(
        "A kernel for a model that is replaced next quarter depreciates in weeks. "
        "What counts is how long the operation itself stays."
    ),
    value_label="Time until the operation is expected to change",
    value_hint="a time, as in 18 months.",
    consultant=Meanings(
        passed="The operation outlives the next model change, or the change is far off.",
        failed="The operation goes with a model that is about to be replaced.",
        unknown="The customer's model plans are not known yet.",
    ),
    customer=Meanings(
        passed="The kernel stays useful beyond your next model.",
        failed="The kernel would be obsolete too soon to pay for itself.",
        unknown="We do not yet know your plans for the model.",
    ),
    quantity=Quantity("months", "weeks?|months?|quarters?|years?", low=Decimal(0)),
)
