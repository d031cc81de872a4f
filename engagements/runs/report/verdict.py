"""Explain a verdict and its consequence under the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from benchmarks.models import Verdict
from engagements.contracts.models import ContractVersion
from engagements.runs.models import EngagementRun


class Explanation(NamedTuple):
    """A verdict as headline, reason and consequence; `tone` is the panel's colour."""

    headline: str
    reason: str
    consequence: str
    tone: str


_HEADLINES: Final = {
    Verdict.MET: ("Target met", "good"),
    Verdict.MISSED: ("Target missed", "bad"),
    Verdict.INCONCLUSIVE: ("Inconclusive", "doubt"),
    Verdict.INVALID: ("Invalid run", "doubt"),
    Verdict.DISQUALIFIED: ("Candidate disqualified", "bad"),
}
_REASONS: Final = {
    Verdict.MET: "The whole interval lies at or above the target.",
    Verdict.MISSED: "The whole interval lies below the target.",
    Verdict.INCONCLUSIVE: (
        "The interval contains the target, so the target was neither met nor missed."
    ),
    Verdict.INVALID: "The run did not follow the protocol, so its times do not count.",
    Verdict.DISQUALIFIED: (
        "The candidate broke the rules of the benchmark, so its times do not count."
    ),
}
_NO_CONSEQUENCE: Final = (
    "The run has no effect on the contract. Another one may be requested inside the time-box."
)


def explain(run: EngagementRun, summary: Mapping[str, Any]) -> Explanation:
    """Explain the verdict in `summary` under the contract of `run`."""
    verdict = Verdict(summary["verdict"])
    headline, tone = _HEADLINES[verdict]
    return Explanation(headline, _REASONS[verdict], _consequence(run, verdict), tone)


def _consequence(run: EngagementRun, verdict: Verdict) -> str:
    contract = run.contract_version
    if run.purpose == EngagementRun.Purpose.TRIAL or contract is None:
        return "This was a trial run, without effect on a contract."
    if verdict == Verdict.MET:
        return "The milestones that wait for the target are released."
    counts_as_missed = verdict == Verdict.MISSED or (
        verdict == Verdict.INCONCLUSIVE
        and contract.inconclusive == ContractVersion.Inconclusive.MISSED
    )
    if not counts_as_missed:
        return _NO_CONSEQUENCE
    refund = "Payments under the contract are refunded, less the cost of the audit."
    if verdict == Verdict.INCONCLUSIVE:
        return f"The contract counts this as missed. {refund}"
    return refund
