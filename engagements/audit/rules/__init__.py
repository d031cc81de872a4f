"""The six checks that every workload goes through before custom work is offered.

One module a check, facts in and a finding out; none of them touches the database, and none
needs Django. `CHECKS` has them in the order in which they are asked, `outcome` says what six
findings amount to.
"""

from engagements.audit.rules import hot, maintain, off_the_shelf, stable, survives, worth
from engagements.audit.rules.advice import Alternative, Rung, SecondOpinion, Tool, Verdict
from engagements.audit.rules.case import Case, Needs, Operator, Tried, Work
from engagements.audit.rules.description import Description, Meanings, Quantity
from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Finding, Known, Missing, Source, as_data, from_data
from engagements.audit.rules.outcome import Tally, outcome_of, tally
from engagements.audit.rules.thresholds import Thresholds
from engagements.audit.rules.words import Advice, Check, Outcome

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
    "Advice",
    "Alternative",
    "Case",
    "Check",
    "Description",
    "Finding",
    "Interval",
    "Known",
    "Meanings",
    "Missing",
    "Needs",
    "Operator",
    "Outcome",
    "Quantity",
    "Rung",
    "SecondOpinion",
    "Source",
    "Tally",
    "Thresholds",
    "Tool",
    "Tried",
    "Verdict",
    "Work",
    "as_data",
    "check",
    "from_data",
    "outcome_of",
    "tally",
]
