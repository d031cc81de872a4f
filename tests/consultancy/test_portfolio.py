"""The demonstration has an engagement in every stage, and signs in without a password."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.mail import EmailMessage
from django.db.models import Sum
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmarks.models import Record
from consultancy.checks import check_demo_is_not_in_production
from consultancy.demo import audits, portfolio, processes
from consultancy.demo.scenarios import SHARED_PREFIX
from consultancy.demo.users import create_customer, create_staff
from consultancy.demo.waiting import Deadline
from consultancy.environment import Environment
from engagements.audit.contract_basis import fitting_libraries
from engagements.audit.models import Finding
from engagements.billing.balances import overdue_invoices
from engagements.billing.bank_models import BankLine
from engagements.billing.queries import engagements_to_bill
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Stage
from engagements.evidence.models import Evidence
from engagements.ledger.models import Leg
from engagements.people.models import Membership
from engagements.runs.models import EngagementRun
from engagements.settlements.models import Settlement
from engagements.workbench import opening
from tests.engagements import evidence_world

pytestmark = pytest.mark.django_db


def test_the_portfolio_has_an_engagement_in_every_stage(
    client: Client, settings: LazySettings
) -> None:
    settings.TWOFOLD_DEMO = True
    users = create_staff()
    built = portfolio.build(users)
    assert [Stage(each.stage) for each in built] == [
        *(Stage.SCOPING, Stage.REDIRECTED, Stage.OFFERED, Stage.ACTIVE),
        *(Stage.MET, Stage.MISSED, Stage.ACTIVE, Stage.CLOSED),
    ]
    found = Record.objects.order_by("pk").values_list("verdict", "device_name", "signed_by__name")
    assert [verdict for verdict, *_ in found] == ["met", "missed", "met"]
    assert {tuple(rest) for _, *rest in found} == {("NVIDIA H200", "The catalogue's H200")}
    assert Settlement.objects.get().state == Settlement.State.PROPOSED
    assert overdue_invoices(today=timezone.localdate()).count() == 1
    # Finance has milestones to bill and bank lines to assign, and no payment is in suspense.
    assert [each.pk for each in engagements_to_bill()] == [built[4].pk]
    waiting = BankLine.objects.filter(state=BankLine.State.OPEN)
    legs = Leg.objects.filter(account__code="suspense", currency="EUR")
    assert legs.aggregate(Sum("amount"))["amount__sum"] == -sum(row.amount for row in waiting)
    treatments = set(ContractVersion.objects.values_list("tax_treatment", flat=True))
    assert treatments == {ContractVersion.TaxTreatment.REVERSE_CHARGE}
    # The audits expect no more than the shares of time allow, and no less than was measured.
    for engagement in built:
        findings = {
            each.check_name: each for each in Finding.objects.filter(audit__engagement=engagement)
        }
        if not findings:
            continue
        share = float(findings["hot"].value.rstrip("%")) / 100
        expected = float(findings["worth"].value.rstrip("×"))
        assert expected <= 1 / (1 - share) * 1.05
        measured = EngagementRun.objects.filter(engagement=engagement, run__record__isnull=False)
        assert not measured.filter(run__record__ratio__gte=expected).exists()
    offered = ContractVersion.objects.get(engagement=built[2])
    assert offered.target == 2
    # Everyone has a button, with what to try, and opens the pages of their role.
    front = client.get("/").content.decode()
    for member in Membership.objects.select_related("user"):
        assert reverse("demo-sign-in", args=[member.user_id]) in front
    for user, page in ((users.consultant, "board"), (users.finance, "finance")):
        response = client.post(reverse("demo-sign-in", args=[user.pk]), follow=True)
        assert response.redirect_chain[-1][0] == reverse(page)
        assert response.status_code == 200
    # The button counts as a password: finance approves without knowing one.
    approve = reverse("settlement-approve", args=[Settlement.objects.get().pk])
    assert "reauthenticate" not in client.post(approve).headers.get("Location", "")


class ReadingHere(Deadline):
    """Reads the evidence that a worker of the demonstration would."""

    def __init__(self) -> None:
        pass

    def wait(self, subject: str) -> None:
        for row in Evidence.objects.filter(state=Evidence.State.QUEUED):
            evidence_world.read(row)


def test_the_audit_from_evidence_leads_to_a_contract() -> None:
    users = create_staff()
    customer, signatory = create_customer(SHARED_PREFIX.customer, users=users)
    engagement = opening.open_engagement(
        customer=customer,
        title=SHARED_PREFIX.title,
        workload=SHARED_PREFIX.workload,
        lead=users.consultant,
        by=users.consultant,
    )
    audits.run_audit(
        SHARED_PREFIX,
        engagement=engagement,
        respondent=signatory,
        by=users.consultant,
        second=users.admin,
        deadline=ReadingHere(),
    )
    engagement.refresh_from_db()
    assert engagement.stage == Stage.AUDITED
    # A library fits by its documentation: the contract excludes it.
    assert fitting_libraries(engagement.audit)


def test_mails_of_the_demonstration_are_read_on_a_page(
    client: Client, settings: LazySettings, tmp_path: Path
) -> None:
    settings.TWOFOLD_DEMO = True
    variables = {"EMAIL_URL": processes.mail_url(tmp_path)}
    for name, value in Environment(variables).email(production=False).items():
        setattr(settings, name, value)
    link = "http://localhost:8000/accounts/password/reset/key/1-abc/"
    EmailMessage("Choose your password", f"Here: {link}\n", to=["petra@people.example"]).send()
    page = client.get(reverse("demo-mails")).content.decode()
    assert f'href="{link}"' in page
    assert "petra@people.example" in page
    assert list((tmp_path / "mails").iterdir())


@pytest.mark.parametrize(("demo", "production"), [(False, False), (True, True), (False, True)])
def test_elsewhere_nobody_signs_in_without_a_password(
    client: Client, settings: LazySettings, demo: bool, production: bool
) -> None:
    settings.TWOFOLD_DEMO, settings.PRODUCTION = demo, production
    sign_in = reverse("demo-sign-in", args=[create_staff().consultant.pk])
    assert client.post(sign_in).status_code == 404
    assert client.get(reverse("demo-mails")).status_code == 404
    assert sign_in not in client.get("/").content.decode()
    refused = [error.id for error in check_demo_is_not_in_production()]
    assert refused == (["consultancy.E001"] if demo and production else [])
