"""Order engagements by whether the next step is the customer's."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from engagements.billing.balances import open_invoices
from engagements.contracts.milestones import handovers
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.signing_models import Acceptance
from engagements.contracts.time_box.models import CooperationRequest, Pause
from engagements.engagement.models import Engagement, Stage
from engagements.evidence.questionnaire import unanswered
from engagements.people.bank_accounts import BankAccount
from engagements.settlements.dispute_models import Dispute
from engagements.settlements.models import Settlement

State = ContractVersion.State


def customers_turn_first(engagements: QuerySet[Engagement]) -> QuerySet[Engagement]:
    """Sort engagements that wait for the customer first, then the others, each newest first.

    The customer's steps: answer the questions of the audit, accept an offer or the handover,
    provide what was asked for, pay an open invoice after the verdict, name a refund account, or
    end a pause.
    """
    this = OuterRef("pk")
    accepted = Acceptance.objects.filter(contract_version=OuterRef("pk"), party=Party.CUSTOMER)
    offer = ContractVersion.objects.filter(~Exists(accepted), engagement=this, state=State.OFFERED)
    in_force = {"contract_version__engagement": this, "contract_version__state": State.ACCEPTED}
    delivered = handovers.delivered().filter(pk=this)
    today = timezone.localdate()
    pause = Pause.objects.filter(**in_force, starts_on__lte=today, ends_on__gte=today)
    asked = CooperationRequest.objects.filter(engagement=this, provided_on__isnull=True)
    disputed = Dispute.objects.filter(settlement=OuterRef("pk"), resolved_at__isnull=True)
    refund = Settlement.objects.filter(
        ~Exists(disputed),
        contract_version__engagement=this,
        state__in=(Settlement.State.PROPOSED, Settlement.State.APPROVED, Settlement.State.FAILED),
        refund__gt=0,
    )
    account = BankAccount.objects.filter(customer=OuterRef("customer"), confirmation__isnull=False)
    unpaid = open_invoices().filter(engagement=this)
    return engagements.annotate(
        is_customers_turn=Q(Exists(offer))
        | (unanswered() & Q(stage__in=(Stage.SCOPING, Stage.AUDITING)))
        | Q(Exists(pause) | Exists(asked), stage=Stage.ACTIVE)
        | Q(Exists(delivered), stage=Stage.MET)
        | Q(Exists(unpaid), stage__in=(Stage.MET, Stage.TERMINATED))
        | Q(Exists(unpaid) | (Exists(refund) & ~Exists(account)), stage=Stage.MISSED)
    ).order_by("-is_customers_turn", "-opened_at", "-pk")
