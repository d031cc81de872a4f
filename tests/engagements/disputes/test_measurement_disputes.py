"""A disputed acceptance run is repeated: the signed repeat confirms or replaces its verdict."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core import management
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmarks.records import records, signatures
from benchmarks.services import keys
from benchmarks.verdict import consistency
from engagements import closing
from engagements.billing.balances import open_invoices
from engagements.billing.models import Invoice
from engagements.common.working_days import add_working_days
from engagements.contracts.milestones import handovers
from engagements.disputes import repeats, services, verdicts
from engagements.disputes.models import MeasurementDispute
from engagements.engagement.models import Stage
from engagements.ledger.positions import positions_of
from engagements.notifications.models import Mail
from engagements.payouts import refunds
from engagements.people import second_person
from engagements.runs import bundles
from engagements.runs.attempts import outcome_of_run
from engagements.runs.estimates import latest_acceptance
from engagements.runs.explanations import explain
from engagements.runs.models import EngagementRun
from engagements.runs.outcomes import Money
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from engagements.settlements.queries import has_unsettled_payments
from tests.database_constraints import violates, write
from tests.engagements import story as stories
from tests.engagements.cached_stories import cached_story
from tests.engagements.charts.measured import disqualified, record
from tests.engagements.scenario import SCENARIO
from tests.engagements.sessions import sign_in
from tests.engagements.story import Story
from tests.engagements.world import undone
from tests.errors import declined
from tests.referee_key import sign

pytestmark = pytest.mark.django_db


@cached_story(SCENARIO)
def first_missed() -> Story:
    """The first of three attempts missed, at about 1.1 times."""
    story = stories.in_force(attempts=3)
    stories.measured(story, 1.1)
    return story


@pytest.fixture
def story() -> Story:
    return first_missed()


def run_of(story: Story) -> EngagementRun:
    return EngagementRun.objects.get(engagement=story.engagement)


def raised(story: Story, **changed: Any) -> MeasurementDispute:
    given: dict[str, Any] = {
        "reason": "The machine was busy.",
        "repeater": "customer",
        "by": story.signatory,
    }
    return services.raise_dispute(run=run_of(story), **given | changed)


def repeat(story: Story, speedup: float, **changed: Any) -> dict[str, Any]:
    run = run_of(story).run
    given = {"document": run.benchmark.document, "source": run.solution.source}
    return record(speedup=speedup, **given | changed)


def test_an_overlapping_repeat_confirms_the_verdict(story: Story) -> None:
    dispute = raised(story)
    content = sign(repeat(story, 1.1, noise=0.03))
    ended = repeats.upload(dispute=dispute, content=content, cost=Decimal(900), by=story.signatory)
    assert (ended.state, ended.new_verdict) == ("confirmed", "")
    assert (ended.cost, ended.cost_bearer) == (900, "customer")
    event = story.engagement.events.get(verb="measurement_dispute.confirmed")
    assert (event.changes["cost"], event.changes["cost_bearer"]) == ("900.00", "customer")
    story.engagement.refresh_from_db()
    assert story.engagement.stage == Stage.ACTIVE
    with declined("dispute.ended"):
        repeats.upload(dispute=dispute, content=content, by=story.signatory)
    with declined("dispute.already_raised"):
        raised(story)


def test_another_verdict_replaces_it_and_meets_the_target(story: Story, tmp_path: Path) -> None:
    dispute = raised(story, repeater="expert", expert="Prof. Gauge", by=story.consultant)
    key = signatures.make_key(tmp_path / "expert")
    content = records.serialize(repeat(story, 2.6), key)
    with declined("dispute.unknown_key"):
        repeats.upload(dispute=dispute, content=content, by=story.consultant)
    keys.add(public_key=key.public.pem(), name="Prof. Gauge", by="operator")
    ended = repeats.upload(dispute=dispute, content=content, by=story.signatory)
    assert (ended.state, ended.new_verdict, ended.cost_bearer) == ("replaced", "met", "customer")
    story.engagement.refresh_from_db()
    assert story.engagement.stage == Stage.MET
    assert run_of(story).final_at is not None
    assert story.contract.milestones.filter(condition="target_met", state="released").exists()


def test_only_a_repeat_of_the_same_measurement_counts(story: Story) -> None:
    dispute = raised(story)
    usual = repeat(story, 1.1, noise=0.03)
    disputed = bundles.record_bytes(run=run_of(story), with_source=True)
    tried = {
        "dispute.unsigned": records.serialize(usual, None),
        "dispute.same_record": disputed,
        "repetition.other_run": sign(repeat(story, 1.1, source="def run(): ...\n")),
        "record.invalid": b"{}",
    }
    for code, content in tried.items():
        with declined(code):
            repeats.upload(dispute=dispute, content=content, by=story.signatory)
    with declined("dispute.other_party"):
        repeats.upload(dispute=dispute, content=sign(usual), by=story.consultant)


def test_the_settlement_waits() -> None:
    late = stories.missed()
    settlement = Settlement.objects.get(contract_version__engagement=late.engagement)
    raised(late)
    assert outcome_of_run(run_of(late)).money == Money.ON_HOLD
    settlement.refresh_from_db()
    assert settlement.is_on_hold
    with declined("settlement.on_hold"):
        settlements.approve(settlement=settlement, by=late.finance)
    with violates("settlement.on_hold"):
        write(settlement, state="approved")


def balances(story: Story) -> dict[str, Decimal]:
    """The balances of the accounts that are not zero, debit positive."""
    found = positions_of(story.engagement, "EUR").balances
    return {code: amount for code, amount in found.items() if amount}


def states(story: Story) -> list[str]:
    return [each.state for each in story.contract.milestones.order_by("position")]


def met_by_repeat(story: Story, dispute: MeasurementDispute) -> MeasurementDispute:
    ended = repeats.upload(dispute=dispute, content=sign(repeat(story, 2.6)), by=story.signatory)
    story.engagement.refresh_from_db()
    return ended


@pytest.mark.parametrize("is_approved", [False, True])
def test_a_met_repeat_replaces_the_settlement_before_money_moves(is_approved: bool) -> None:
    story = stories.underway()
    kept = states(story)
    stories.measured(story, 1.1)
    if is_approved:
        stories.approved(story)
    met_by_repeat(story, raised(story))
    assert (story.engagement.stage, story.settlement.state) == (Stage.MET, "voided")
    assert not story.settlement.needs_reproposal
    earned = -balances(story)["fee_revenue"], -balances(story)["audit_revenue"]
    audit = story.contract.audit_cost
    assert earned == (story.contract.fee - audit, audit)
    # What an approved settlement credited is billed anew, and paid by what came in before.
    target = [each.condition for each in story.contract.milestones.order_by("position")]
    kept[target.index("target_met")] = "released"
    assert states(story) == (["released", *kept[1:]] if is_approved else kept)
    explained = explain(run_of(story), run_of(story).run.record.summary)
    assert explained.headline == "Target met"
    assert bundles.customer_may_have_source(run_of(story))
    estimate = latest_acceptance(story.engagement)
    assert estimate is not None
    assert (estimate.verdict, estimate.low > 2) == ("met", True)


def test_after_the_refund_two_people_of_finance_book_the_repeat(client: Client) -> None:
    story = stories.missed()
    dispute = raised(story)
    services.withdraw(dispute=dispute, by=story.signatory)
    row = refunds.start_payment(settlement=stories.approved(story), by=story.finance)
    settlement = refunds.mark_paid(settlement=row, reference="REFUND-1", by=story.finance)
    ended = met_by_repeat(story, raised(story))
    assert (ended.awaits_booking, story.engagement.stage) == (True, Stage.MISSED)
    url = reverse("run-dispute-finance", args=[story.reference, ended.run_id])
    for user, code in ((story.consultant, 403), (story.stranger, 404), (story.finance, 302)):
        sign_in(client, user)
        assert client.post(url, {"act": "book"}).status_code == code
    with declined("dispute.booked_by_another"):
        verdicts.book(dispute=ended, by=story.finance)
    with violates("dispute.booked_by_another"):
        write(ended, booked_by=story.finance, awaits_booking=False)
    with undone():
        management.call_command("sole_owner", story.finance.email)
        alone = client.post(reverse("approve-alone", args=[ended.subject]))
        assert alone["Location"] == reverse("mfa_index")
        second_person.approve_alone(
            subject=ended.subject, by=story.finance, second_factor_at=timezone.now()
        )
        verdicts.book(dispute=ended, by=story.finance)
        shown = client.get(reverse("run-dispute", args=[story.reference, ended.run_id]))
        assert f'data-sole-approval="{ended.subject}"' in shown.content.decode()
    verdicts.book(dispute=ended, by=story.second)
    settlement.refresh_from_db()
    story.engagement.refresh_from_db()
    assert (settlement.state, story.engagement.stage) == ("paid", Stage.MET)
    # The whole fee is billed again, and what was refunded is owed.
    stories.invoiced(story, *(p for p, s in enumerate(states(story), 1) if s == "released"))
    due = sum(each.amount_due for each in open_invoices().filter(engagement=story.engagement))
    issued = Invoice.objects.filter(engagement=story.engagement, kind="invoice")
    credited = Invoice.objects.filter(engagement=story.engagement, kind="credit_note")
    billed = sum(each.gross for each in issued) - sum(each.gross for each in credited)
    received = sum(each.amount for invoice in issued for each in invoice.payments.all())
    assert due == billed + settlement.refund - received == balances(story)["receivables"]
    assert not has_unsettled_payments(story.engagement)
    client.force_login(story.signatory)
    page = client.get(reverse("portal-engagement", args=[story.reference])).content.decode()
    assert "what was refunded is part of" in page


def test_a_dispute_keeps_an_engagement_open() -> None:
    story = stories.missed()
    settlement = refunds.start_payment(settlement=stories.approved(story), by=story.finance)
    refunds.mark_paid(settlement=settlement, reference="REFUND-1", by=story.finance)
    closing.close(engagement=story.engagement, by=story.finance)
    dispute = raised(story)
    story.engagement.refresh_from_db()
    assert story.engagement.stage == Stage.MISSED
    with declined("closing.run_disputed"):
        closing.close(engagement=story.engagement, by=story.finance)
    services.withdraw(dispute=dispute, by=story.signatory)
    closing.close(engagement=story.engagement, by=story.finance)


@pytest.mark.parametrize(("attempts", "stage"), [(1, Stage.MISSED), (3, Stage.ACTIVE)])
def test_a_missed_repeat_takes_a_met_target_back(attempts: int, stage: Stage) -> None:
    story = stories.in_force(attempts=attempts)
    stories.paid(story)
    before = balances(story)
    stories.measured(story, 2.6)
    handovers.hand_over(engagement=story.engagement, by=story.consultant)
    dispute = raised(story)
    repeats.upload(dispute=dispute, content=sign(repeat(story, 1.1)), by=story.signatory)
    story.engagement.refresh_from_db()
    assert story.engagement.stage == stage
    assert run_of(story).repeat_verdict == "missed"
    if stage == Stage.MISSED:
        assert story.settlement.reason == "missed"
        assert balances(story).get("fee_revenue") is None
        return
    assert balances(story) == before
    assert "target_met" not in story.contract.milestones.filter(state="released").values_list(
        "condition", flat=True
    )
    stories.measured(story, 2.7)
    assert story.engagement.stage == Stage.MET
    # The customer has not received what met the target now.
    assert handovers.handover_of(story.engagement) is None


def test_a_target_that_two_repeats_decide_stays_met_by_one_of_them(story: Story) -> None:
    first = run_of(story)
    second = stories.measured(story, 2.6)
    for run, speedup in ((first, 2.5), (second, 1.1)):
        dispute = services.raise_dispute(
            run=run, reason="Busy.", repeater="customer", by=story.signatory
        )
        measured = run.run
        content = sign(
            record(
                speedup=speedup,
                document=measured.benchmark.document,
                source=measured.solution.source,
            )
        )
        repeats.upload(dispute=dispute, content=content, by=story.signatory)
    story.engagement.refresh_from_db()
    assert story.engagement.stage == Stage.MET


def disqualified_twice() -> tuple[Story, EngagementRun]:
    """A contract that the customer ended for cause, and its second disqualified run."""
    story = stories.in_force(attempts=3)
    stories.paid(story)
    caught = disqualified()["findings"]
    stories.measured(story, 1.1, findings=caught)
    second = stories.measured(story, 1.12, findings=caught)
    closing.end_for_cause(engagement=story.engagement, by=story.signatory)
    return story, second


@pytest.mark.parametrize("is_refunded", [False, True])
def test_an_end_for_cause_is_undone_by_a_repeat_that_follows_the_rules(is_refunded: bool) -> None:
    story, second = disqualified_twice()
    before = states(story)
    if is_refunded:
        row = refunds.start_payment(settlement=stories.approved(story), by=story.finance)
        refunds.mark_paid(settlement=row, reference="REFUND-1", by=story.finance)
    ended = repeated(story, second, 1.1)
    story.engagement.refresh_from_db()
    if is_refunded:
        assert (ended.awaits_booking, story.engagement.stage) == (True, Stage.MISSED)
        for by in (story.finance, story.second):
            verdicts.book(dispute=ended, by=by)
        story.engagement.refresh_from_db()
    second.refresh_from_db()
    assert (story.engagement.stage, second.attempt) == (Stage.ACTIVE, 2)
    assert story.settlement.overturned_at is not None
    assert "void" not in states(story)
    assert before.count("void") > 0
    # The third attempt is left, and decides.
    with undone():
        stories.measured(story, 2.6)
        assert story.engagement.stage == Stage.MET
        found = balances(story)
        assert sum(found.values()) == 0
        assert "refund_liability" not in found
    stories.measured(story, 1.14)
    story.engagement.refresh_from_db()
    last = Settlement.objects.latest("pk")
    refund = 0 if is_refunded else Decimal("9401")
    assert (story.engagement.stage, last.reason, last.refund) == (Stage.MISSED, "missed", refund)
    settlements.approve(settlement=last, by=story.second)
    refunds.mark_paid(settlement=last, reference="FILED", by=story.finance)
    if is_refunded:
        # The first invoice was credited in full: the audit kept is billed, and paid already.
        stories.invoiced(story, states(story).index("released") + 1)
        assert not open_invoices().filter(engagement=story.engagement).exists()
    closing.close(engagement=story.engagement, by=story.finance)


@pytest.mark.parametrize("counts", [True, False])
def test_an_inconclusive_repeat_counts_as_the_contract_says(counts: bool) -> None:
    rule = "missed" if counts else "repeat"
    story = stories.in_force(attempts=2, inconclusive=rule)
    first, second = stories.measured(story, 1.1), stories.measured(story, 1.12)
    assert (first.attempt, second.attempt, story.engagement.stage) == (1, 2, Stage.MISSED)
    repeated(story, first, 2.0, noise=0.3)
    story.engagement.refresh_from_db()
    rows = [EngagementRun.objects.get(pk=run.pk) for run in (first, second)]
    assert rows[0].repeat_verdict == "inconclusive"
    if counts:
        assert [row.attempt for row in rows] == [1, 2]
        assert story.engagement.stage == Stage.MISSED
    else:
        assert [(row.attempt, row.final_at) for row in rows] == [(None, None), (1, None)]
        assert story.engagement.stage == Stage.ACTIVE
        # A later repeat that misses counts again, and uses up the last attempt.
        third = stories.measured(story, 1.14)
        assert (third.attempt, story.engagement.stage) == (2, Stage.MISSED)


def repeated(
    story: Story, run: EngagementRun, speedup: float, **changed: Any
) -> MeasurementDispute:
    """The dispute of a run that its repeat ended."""
    dispute = services.raise_dispute(
        run=run, reason="Busy.", repeater="customer", by=story.signatory
    )
    given = {"document": run.run.benchmark.document, "source": run.run.solution.source}
    content = sign(record(speedup=speedup, **given | changed))
    return repeats.upload(dispute=dispute, content=content, by=story.signatory)


def test_the_database_undoes_no_verdict_without_a_repeat() -> None:
    story = stories.missed()
    run = run_of(story)
    with violates("engagementrun.repeated"):
        write(run, repeat_verdict="met")
    with violates("engagement.repeat"):
        write(story.engagement, stage="met")
    with violates("milestone.reinstated"):
        write(story.contract.milestones.filter(state="void")[0], state="pending")
    with violates("settlement.overturned"):
        write(story.settlement, overturned_at=timezone.now())
    with violates("engagementrun.final"):
        write(run, final_at=None)


def test_other_libraries_decline_a_repeat_and_another_driver_is_noted(story: Story) -> None:
    dispute = raised(story)
    usual = repeat(story, 1.1, noise=0.03)

    def on(**versions: str) -> bytes:
        changed = usual | {"environment": usual["environment"] | versions}
        return sign(consistency.seal(changed))

    with declined("dispute.other_versions"):
        repeats.upload(dispute=dispute, content=on(torch="2.9.0"), by=story.signatory)
    content = on(driver="590.1")
    ended = repeats.upload(dispute=dispute, content=content, by=story.signatory)
    assert "590.1" in ended.outcome


def test_the_source_is_released_for_the_repeat_alone(story: Story, client: Client) -> None:
    dispute = raised(story, repeater="expert", expert="Prof. Gauge")
    url = reverse("portal-run-file", args=[story.reference, run_of(story).pk, "candidate"])
    sign_in(client, story.signatory)
    assert client.get(url).status_code == 404
    page = reverse("portal-run-dispute", args=[story.reference, run_of(story).pk])
    assert client.get(page).context["asks_for_source"]
    services.release_source(dispute=dispute, by=story.consultant)
    assert not client.get(page).context["asks_for_source"]
    assert b"prepare" in client.get(url).content
    client.force_login(story.viewer)
    assert client.get(url).status_code == 404
    services.withdraw(dispute=dispute, by=story.signatory)
    client.force_login(story.signatory)
    assert client.get(url).status_code == 404


def test_the_cost_of_the_repeat_follows_the_outcome(story: Story) -> None:
    dispute = raised(story, repeater="expert", expert="Prof. Gauge")
    ended = repeats.upload(
        dispute=dispute,
        content=sign(repeat(story, 1.1, noise=0.03)),
        cost=Decimal(900),
        cost_payer="consultancy",
        by=story.consultant,
    )
    assert (ended.cost_bearer, ended.owes_reimbursement) == ("customer", True)
    with declined("access.finance_only"):
        services.reimburse(dispute=ended, reference="INV-7", by=story.consultant)
    paid = services.reimburse(dispute=ended, reference="INV-7", by=story.finance)
    assert not paid.owes_reimbursement
    with declined("dispute.nothing_to_reimburse"):
        services.reimburse(dispute=ended, reference="INV-8", by=story.finance)


def test_the_party_that_asked_withdraws(story: Story) -> None:
    dispute = raised(story)
    with declined("dispute.other_party"):
        services.withdraw(dispute=dispute, by=story.consultant)
    with declined("access.signatories_only"):
        services.withdraw(dispute=dispute, by=story.viewer)
    assert services.withdraw(dispute=dispute, by=story.signatory).state == "withdrawn"
    assert raised(story, by=story.consultant).party == "consultancy"


def test_without_a_repeat_two_consultants_decide(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispute = raised(story)
    by, second = story.consultant, story.admin
    with declined("dispute.repeat_awaited"):
        services.decide(dispute=dispute, note="No repeat.", by=by)
    yesterday = timezone.localdate() - timedelta(days=1)
    monkeypatch.setattr(services, "repeat_awaited_until", lambda _: yesterday)
    with declined("dispute.source_not_released"):
        services.decide(dispute=dispute, note="No repeat.", by=by)
    services.release_source(dispute=dispute, by=by)
    services.decide(dispute=dispute, note="No repeat.", by=by)
    with declined("dispute.same_person"):
        services.decide(dispute=dispute, note="", by=by)
    with violates("measurement_dispute_decided_by_two"):
        write(dispute, state="confirmed", ended_by=by, ended_at=dispute.raised_at)
    assert services.decide(dispute=dispute, note="", by=second).state == "confirmed"


def test_a_dispute_has_its_period_and_only_its_run(story: Story) -> None:
    with declined("access.signatories_only"):
        raised(story, by=story.stranger)
    other = stories.start_another(story, "Another")
    with violates("dispute.no_measurement"):
        MeasurementDispute.objects.create(
            engagement=other,
            run=run_of(story),
            party="customer",
            reason="Another’s",
            repeater="customer",
            raised_by=story.signatory,
        )


def test_an_expert_who_is_not_named_yet_has_ten_working_days_more(story: Story) -> None:
    dispute = raised(story, repeater="customer")
    contract = dispute.run.contract_version
    assert contract is not None
    raised_on = timezone.localdate(dispute.raised_at)
    own = services.repeat_awaited_until(dispute) - raised_on
    for expert, since in (("", add_working_days(raised_on, 10)), ("Dr. Ada Example", raised_on)):
        dispute.repeater, contract.expert = "expert", expert
        assert services.repeat_awaited_until(dispute) == since + own


def test_the_page_raises_discusses_and_decides(client: Client, story: Story) -> None:
    run = run_of(story)
    url = reverse("portal-run-dispute", args=[story.reference, run.pk])
    sign_in(client, story.signatory)
    assert client.post(url, {"act": "raise", "repeater": "expert"}).status_code == 422
    data: dict[str, Any] = {"act": "raise", "reason": "Busy machine", "repeater": "customer"}
    assert client.post(url, data).status_code == 302
    assert Mail.objects.filter(recipient=story.consultant.email, body__contains="Busy").exists()
    upload = SimpleUploadedFile("log.txt", b"load average: 12")
    data = {"act": "message", "text": "See the log.", "attachment": upload}
    assert client.post(url, data).status_code == 302
    message = run.disputes.get().messages.get()
    file = reverse("run-dispute-file", args=[story.reference, run.pk, message.pk])
    assert client.get(file).getvalue() == b"load average: 12"
    again = SimpleUploadedFile("again.json", sign(repeat(story, 1.1, noise=0.03)))
    data = {"act": "repeat", "record": again, "cost": "900"}
    assert client.post(url, data).status_code == 302
    assert b"900" in client.get(url).content
    client.force_login(story.stranger)
    for page in (url, file):
        assert client.get(page).status_code == 404
    assert client.post(url, {"act": "withdraw"}).status_code == 404
    client.force_login(story.consultant)
    assert client.get(reverse("run-dispute", args=[story.reference, run.pk])).status_code == 200
