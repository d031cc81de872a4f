"""Register every domain's models with Django. Import a model from its domain, not from here."""

from engagements.api import models as api
from engagements.audit import models as audit
from engagements.benchmark import models as benchmark
from engagements.billing import (
    bank_models,
    payment_models,
    reminder_models,
    reversal_models,
    write_off_models,
)
from engagements.billing import models as billing
from engagements.charges import models as charges
from engagements.comments import models as comments
from engagements.contracts import models as contracts
from engagements.contracts import signing_models
from engagements.contracts.clauses import models as clauses
from engagements.contracts.milestones import models as milestones
from engagements.contracts.time_box import models as time_box
from engagements.disputes import models as disputes
from engagements.documents import models as documents
from engagements.engagement import models as engagement
from engagements.event_log import models as event_log
from engagements.evidence import models as evidence
from engagements.ledger import models as ledger
from engagements.ledger import period_models
from engagements.notifications import models as notifications
from engagements.notifications.webhooks import models as webhooks
from engagements.orders import models as orders
from engagements.payouts import match_models, overpayment_models
from engagements.payouts import models as payouts
from engagements.people import approval_models, bank_accounts, token_models
from engagements.people import models as people
from engagements.runners import models as runners
from engagements.runs import models as runs
from engagements.settlements import credit_models, dispute_models
from engagements.settlements import models as settlements
from engagements.workbench import models as workbench

__all__ = [
    "api",
    "approval_models",
    "audit",
    "bank_accounts",
    "bank_models",
    "benchmark",
    "billing",
    "charges",
    "clauses",
    "comments",
    "contracts",
    "credit_models",
    "dispute_models",
    "disputes",
    "documents",
    "engagement",
    "event_log",
    "evidence",
    "ledger",
    "match_models",
    "milestones",
    "notifications",
    "orders",
    "overpayment_models",
    "payment_models",
    "payouts",
    "people",
    "period_models",
    "reminder_models",
    "reversal_models",
    "runners",
    "runs",
    "settlements",
    "signing_models",
    "time_box",
    "token_models",
    "webhooks",
    "workbench",
    "write_off_models",
]
