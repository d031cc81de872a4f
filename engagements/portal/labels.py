"""The portal's wording: where an engagement stands, in the customer's words."""

from __future__ import annotations

from engagements.audit.models import Audit, Check, FindingOutcome
from engagements.contracts.milestones.models import ReleaseCondition
from engagements.engagement.models import Stage

# What each check asks, for a reader who runs models and does not write kernels.
CHECK_MEANING: dict[str, str] = {
    Check.HOT: (
        "Only what takes a large share of the time is worth making faster. Under five percent, "
        "nobody would notice."
    ),
    Check.OFF_THE_SHELF: (
        "Libraries cover more than most people expect. Custom work is for what they leave out."
    ),
    Check.STABLE: (
        "A kernel is built for the sizes it meets. If they vary without pattern, the gain goes "
        "in the tail."
    ),
    Check.SURVIVES: (
        "Models change. A kernel that the next one cannot use has lost its value with the old one."
    ),
    Check.MAINTAIN: (
        "New hardware and new neighbours need the kernel looked at again. Somebody has to be able "
        "to."
    ),
    Check.WORTH: (
        "The gain counts for the whole step, not for the kernel alone. We look for twice as fast "
        "or better."
    ),
}

FINDING_WORD: dict[str, str] = {
    FindingOutcome.PASS: "Speaks for it",
    FindingOutcome.FAIL: "Speaks against it",
    FindingOutcome.UNKNOWN: "Could not be shown",
}

OUTCOME_SENTENCE: dict[str, str] = {
    Audit.Outcome.CUSTOM: "Custom kernel work may be right for you.",
    Audit.Outcome.REDIRECT: (
        "There are cheaper ways to get faster. We recommend those before any custom kernel."
    ),
    Audit.Outcome.DECLINE: "We advise against custom kernel work here, and would not sell you any.",
}

STAGE_WORD: dict[str, str] = {
    Stage.SCOPING: "First look",
    Stage.AUDITING: "Audit under way",
    Stage.AUDITED: "Audit done",
    Stage.OFFERED: "Contract on your table",
    Stage.ACTIVE: "Work under way",
    Stage.MET: "Target met",
    Stage.MISSED: "Target missed",
    Stage.CLOSED: "Finished",
    Stage.REDIRECTED: "We advise another way",
    Stage.DECLINED: "We advise against it",
    Stage.CANCELLED: "Cancelled",
}

RELEASE_WORD: dict[str, str] = {
    ReleaseCondition.SIGNED: "when the contract is signed by both",
    ReleaseCondition.AUDIT_DELIVERED: "when the audit is delivered",
    ReleaseCondition.DATE: "on the day named",
    ReleaseCondition.TARGET_MET: "when the target is met",
    ReleaseCondition.HANDOVER: "when you have accepted the handover",
}


def joined(names: list[str]) -> str:
    """Names as people say them: A, B or C."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} or {names[-1]}"
