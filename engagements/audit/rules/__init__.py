"""The six checks of a workload, made before custom work is offered.

One module per check computes a finding from facts, without Django or a database. `CHECKS` lists
them in display order.
"""

from engagements.audit.rules import hot, maintain, off_the_shelf, stable, survives, worth
from engagements.audit.rules.advice import Alternative, Rung, SecondOpinion, Tool, Verdict
from engagements.audit.rules.check import Check, Meanings, Quantity
from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Finding, Missing, Source, Sourced, as_data, from_data
from engagements.audit.rules.inputs import AuditInputs, Needs, Operator, Tried, Work
from engagements.audit.rules.labels import Advice, Outcome
from engagements.audit.rules.outcome import Tally, outcome_of, tally
from engagements.audit.rules.thresholds import Thresholds

CHECKS: tuple[Check, ...] = (
    hot.CHECK,
    off_the_shelf.CHECK,
    stable.CHECK,
    survives.CHECK,
    maintain.CHECK,
    worth.CHECK,
)


def check(name: str) -> Check:
    """Return the check with this name. Raises ValueError for any other."""
    for known in CHECKS:
        if known.name == name:
            return known
    raise ValueError(f"Unknown check {name!r}.")


__all__ = [
    "CHECKS",
    "Advice",
    "Alternative",
    "AuditInputs",
    "Check",
    "Finding",
    "Interval",
    "Meanings",
    "Missing",
    "Needs",
    "Operator",
    "Outcome",
    "Quantity",
    "Rung",
    "SecondOpinion",
    "Source",
    "Sourced",
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
