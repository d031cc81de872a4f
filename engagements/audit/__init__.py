"""The six checks that every workload goes through before custom work is offered.

One module a check; none of them touches the database. `CHECKS` has them in the order in
which they are asked, `outcome` says what six findings amount to.
"""

from engagements.audit import hot, maintain, off_the_shelf, stable, survives, worth
from engagements.audit.description import Description, Meanings, Quantity
from engagements.audit.outcome import Tally, outcome_of, tally
from engagements.models import Check

CHECKS: tuple[Description, ...] = (
    hot.CHECK,
    off_the_shelf.CHECK,
    stable.CHECK,
    survives.CHECK,
    maintain.CHECK,
    worth.CHECK,
)
_BY_NAME = {check.name: check for check in CHECKS}


def check(name: str) -> Description:
    """The check of this name (a Check value). Raises ValueError for any other."""
    return _BY_NAME[Check(name)]


__all__ = [
    "CHECKS",
    "Description",
    "Meanings",
    "Quantity",
    "Tally",
    "check",
    "outcome_of",
    "tally",
]
