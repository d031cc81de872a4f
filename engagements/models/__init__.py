"""The people, the engagement and the money: one module a noun."""

from engagements.models.audit import Audit, Check, Finding, FindingOutcome
from engagements.models.balance import InvoiceBalance
from engagements.models.clause import Clause, ContractClause
from engagements.models.contract import Acceptance, ContractVersion, Party
from engagements.models.document import Document, DocumentFailure
from engagements.models.engagement import Engagement, EngagementRun, Stage
from engagements.models.event import Event, EventAnchor, EventChain
from engagements.models.evidence import Answer, Evidence
from engagements.models.invoice import Counter, Invoice, InvoiceLine, Reminder
from engagements.models.ledger import Account, Entry, Leg, MonthTotal, Period, PeriodTotal
from engagements.models.mail import Mail, PasswordMail
from engagements.models.milestone import Milestone, ReleaseCondition
from engagements.models.pay_back import PayBack
from engagements.models.payment import BankImport, BankLine, Payment
from engagements.models.people import Contact, Customer, Membership, Role, User
from engagements.models.settlement import Dispute, Settlement
from engagements.models.time_box import Pause, TimeBox, TimeBoxWarning, TimeEntry
from engagements.models.transfer import BankAccount, Transfer, TransferFile

__all__ = [
    "Acceptance",
    "Account",
    "Answer",
    "Audit",
    "BankAccount",
    "BankImport",
    "BankLine",
    "Check",
    "Clause",
    "Contact",
    "ContractClause",
    "ContractVersion",
    "Counter",
    "Customer",
    "Dispute",
    "Document",
    "DocumentFailure",
    "Engagement",
    "EngagementRun",
    "Entry",
    "Event",
    "EventAnchor",
    "EventChain",
    "Evidence",
    "Finding",
    "FindingOutcome",
    "Invoice",
    "InvoiceBalance",
    "InvoiceLine",
    "Leg",
    "Mail",
    "Membership",
    "Milestone",
    "MonthTotal",
    "Party",
    "PasswordMail",
    "Pause",
    "PayBack",
    "Payment",
    "Period",
    "PeriodTotal",
    "ReleaseCondition",
    "Reminder",
    "Role",
    "Settlement",
    "Stage",
    "TimeBox",
    "TimeBoxWarning",
    "TimeEntry",
    "Transfer",
    "TransferFile",
    "User",
]
