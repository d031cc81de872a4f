"""The people, the engagement and the money: one module a noun."""

from engagements.models.audit import Audit, Check, Finding, FindingOutcome
from engagements.models.contract import Acceptance, ContractVersion, Party, TimeBox
from engagements.models.document import Document
from engagements.models.engagement import Engagement, EngagementRun, Stage
from engagements.models.event import Event
from engagements.models.evidence import Answer, Evidence
from engagements.models.milestone import Milestone, Payment, ReleaseCondition
from engagements.models.people import Contact, Customer, Membership, Role, User
from engagements.models.settlement import Settlement

__all__ = [
    "Acceptance",
    "Answer",
    "Audit",
    "Check",
    "Contact",
    "ContractVersion",
    "Customer",
    "Document",
    "Engagement",
    "EngagementRun",
    "Event",
    "Evidence",
    "Finding",
    "FindingOutcome",
    "Membership",
    "Milestone",
    "Party",
    "Payment",
    "ReleaseCondition",
    "Role",
    "Settlement",
    "Stage",
    "TimeBox",
    "User",
]
