"""A verdict in words, and what the contract makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from benchmarks.models import Verdict
from engagements.contracts.models import ContractVersion
from engagements.runs.models import EngagementRun


class Said(NamedTuple):
    """What stands in the panel: the verdict, why, and what follows."""

    headline: str
    why: str
    follows: str
    tone: str


_HEADLINES: Final = {
    Verdict.MET: ("Target met", "good"),
    Verdict.MISSED: ("Target missed", "bad"),
    Verdict.INCONCLUSIVE: ("Inconclusive", "doubt"),
    Verdict.INVALID: ("Invalid run", "doubt"),
    Verdict.DISQUALIFIED: ("Candidate disqualified", "bad"),
}
_WHY: Final = {
    Verdict.MET: "The whole interval lies at or above the target.",
    Verdict.MISSED: "The whole interval lies below the target.",
    Verdict.INCONCLUSIVE: (
        "The interval holds the target: it was neither shown to be met nor to be missed."
    ),
    Verdict.INVALID: "Something about the run itself was wrong, so its times are not believed.",
    Verdict.DISQUALIFIED: "The referee caught the candidate, so no speed of it is believed.",
}
_NO_CONSEQUENCE: Final = (
    "The run decides nothing under the contract. Inside the time-box another may be asked for."
)


def said(asked: EngagementRun, summary: Mapping[str, Any]) -> Said:
    """The panel of the report."""
    verdict = Verdict(summary["verdict"])
    headline, tone = _HEADLINES[verdict]
    return Said(headline, _WHY[verdict], _follows(asked, verdict), tone)


def _follows(asked: EngagementRun, verdict: Verdict) -> str:
    contract = asked.contract_version
    if asked.purpose == EngagementRun.Purpose.TRIAL or contract is None:
        return "This was a trial run: it decides nothing under a contract."
    if verdict == Verdict.MET:
        return "The milestones that wait for the target are released."
    counts_as_missed = verdict == Verdict.MISSED or (
        verdict == Verdict.INCONCLUSIVE
        and contract.inconclusive == ContractVersion.Inconclusive.MISSED
    )
    if not counts_as_missed:
        return _NO_CONSEQUENCE
    settled = "Everything received under the contract goes back, less the cost of the audit."
    if verdict == Verdict.INCONCLUSIVE:
        return f"The contract counts this as missed. {settled}"
    return settled
