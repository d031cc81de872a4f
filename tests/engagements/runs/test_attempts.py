"""Attempts: several acceptance runs in a time-box, of which the final one decides."""

from collections.abc import Callable
from datetime import date
from html import unescape
from unittest.mock import patch

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst

from engagements import closing
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import TimeBox
from engagements.disputes import services as disputes
from engagements.engagement.models import Stage
from engagements.notifications.models import Mail
from engagements.runs import attempts, notices
from engagements.runs.explanations import explain
from engagements.runs.models import EngagementRun
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from engagements.templatetags.show import with_sign
from tests.database_constraints import violates
from tests.engagements.sessions import sign_in
from tests.engagements.world import World, days, fresh
from tests.errors import declined

OnDay = Callable[[date], None]
Sweep = Callable[[], None]


def attempt(world: World, contract: ContractVersion, verdict: str) -> EngagementRun:
    return world.conclude(world.request(contract), verdict)


def stage(contract: ContractVersion) -> str:
    return fresh(contract.engagement).stage


@pytest.mark.parametrize("verdict", ["missed", "inconclusive", "disqualified"])
def test_the_last_attempt_and_no_earlier_one_proposes_the_settlement(
    world: World, verdict: str
) -> None:
    contract = world.active(acceptance_runs=3)
    for number in (1, 2):
        run = attempt(world, contract, verdict)
        assert (run.attempt, run.final_at, stage(contract)) == (number, None, Stage.ACTIVE)
        assert not Settlement.objects.exists()
    last = attempt(world, contract, verdict)
    assert (last.attempt, last.final_at) == (3, last.concluded_at)
    assert stage(contract) == Stage.MISSED
    assert Settlement.objects.get().reason == "missed"


def test_met_after_a_missed_attempt_ends_the_work(world: World) -> None:
    contract = world.active(acceptance_runs=2)
    attempt(world, contract, "missed")
    met = attempt(world, contract, "met")
    assert (met.attempt, stage(contract)) == (2, Stage.MET)
    assert not Settlement.objects.exists()


def test_invalid_and_failed_runs_use_up_no_attempt(world: World) -> None:
    contract = world.active(acceptance_runs=1)
    for verdict in ("invalid", "failed"):
        assert attempt(world, contract, verdict).attempt is None
    assert stage(contract) == Stage.ACTIVE
    assert attempt(world, contract, "missed").attempt == 1


def test_noise_is_repeated_up_to_the_sealed_number(world: World) -> None:
    contract = world.active(acceptance_runs=2, noise_repeats=1)
    first, second = (attempt(world, contract, "noisy") for _ in range(2))
    assert (first.attempt, first.is_noise_repeat) == (None, True)
    assert (second.attempt, second.is_noise_repeat) == (1, False)


def test_a_missed_attempt_lets_the_time_box_decide(
    world: World, on_day: OnDay, sweep: Sweep
) -> None:
    contract = world.active(acceptance_runs=3)
    attempt(world, contract, "missed")
    last = TimeBox.objects.get(engagement=contract.engagement).ends_on
    on_day(last)
    sweep()
    assert not Settlement.objects.exists()
    on_day(last + days(1))
    sweep()
    sweep()
    assert Settlement.objects.get().reason == "time_box"


def test_the_consultancy_declares_its_last_attempt_final_once(world: World) -> None:
    contract = world.active(acceptance_runs=3)
    first, second = (attempt(world, contract, "missed") for _ in range(2))
    with declined("run.not_last_attempt"):
        attempts.declare_final(run=first, by=world.consultant)
    with declined("access.consultants_only"):
        attempts.declare_final(run=second, by=world.finance)
    for _ in range(2):
        attempts.declare_final(run=second, by=world.consultant)
    settlement = Settlement.objects.get()
    assert (settlement.reason, settlement.proposed_by) == ("missed", world.consultant)
    assert stage(contract) == Stage.MISSED


def test_an_attempt_is_not_final_while_another_run_is_in_progress(world: World) -> None:
    contract = world.active(acceptance_runs=3)
    run, invalid = (attempt(world, contract, verdict) for verdict in ("missed", "invalid"))
    with declined("run.no_attempt"):
        attempts.declare_final(run=invalid, by=world.consultant)
    world.request(contract)
    with declined("run.not_last_attempt"):
        attempts.declare_final(run=run, by=world.consultant)


def test_the_database_refuses_attempts_beyond_the_sealed_ones(world: World) -> None:
    contract = world.active(acceptance_runs=2, noise_repeats=0)
    run = attempt(world, contract, "missed")
    rows = EngagementRun.objects.filter(pk=run.pk)
    with violates("engagementrun.recounted"):
        rows.update(attempt=2)
    asked = EngagementRun.objects.filter(pk=world.request(contract).pk)
    now = timezone.now()
    with violates("run.beyond_attempts"):
        asked.update(attempt=3, concluded_at=now)
    with violates("run.beyond_repeats"):
        asked.update(is_noise_repeat=True, concluded_at=now)
    with violates("engagement_attempt_once"):
        asked.update(attempt=1, concluded_at=now)
    with violates("engagement_attempt_is_a_concluded_acceptance_run"):
        asked.update(attempt=2)
    asked.update(attempt=2, concluded_at=now)
    with declined("run.attempts_used_up"):
        world.request(contract)
    with violates("run.attempts_used_up"):
        EngagementRun.objects.create(
            engagement=contract.engagement,
            contract_version=contract,
            purpose="acceptance",
            requested_by=world.consultant,
            run=run.run,
        )


def test_no_settlement_of_a_missed_target_without_a_final_attempt(world: World) -> None:
    contract = world.active(acceptance_runs=3)
    attempt(world, contract, "missed")
    engagement = fresh(contract.engagement)
    for reason, code in (("missed", "no_final_attempt"), ("cause", "no_cause")):
        with violates(f"settlement.{code}"):
            settlements.create_proposal(
                engagement=fresh(engagement),
                contract=contract,
                reason=Settlement.Reason(reason),
            )


def test_a_customer_ends_the_contract_after_a_second_disqualification(
    world: World, client: Client
) -> None:
    contract = world.active(acceptance_runs=3)
    world.pay(contract.milestones.get(position=1))
    attempt(world, contract, "disqualified")
    url = reverse("portal-end-for-cause", args=[contract.engagement.reference])
    client.force_login(world.signatory)
    with declined("settlement.no_cause"):
        closing.end_for_cause(engagement=contract.engagement, by=world.signatory)
    assert "settlement.no_cause" in client.get(url).content.decode()
    again = attempt(world, contract, "disqualified")
    dispute = disputes.raise_dispute(
        run=again, reason="It was a driver.", repeater="customer", by=world.consultant
    )
    with declined("closing.run_disputed"):
        closing.end_for_cause(engagement=contract.engagement, by=world.signatory)
    disputes.withdraw(dispute=dispute, by=world.consultant)
    assert Mail.objects.filter(key__startswith="event:", recipient=world.signatory.email).exists()
    # 12,000.00 and 19% tax paid, less the audit of 6,000.00 with tax.
    assert "7,140.00" in client.get(url).content.decode()
    with declined("access.signatories_only"):
        closing.end_for_cause(engagement=contract.engagement, by=world.viewer)
    sign_in(client, world.signatory)
    assert client.post(url).status_code == 422
    for _ in range(2):
        assert client.post(url, {"agreed": "on"}).status_code == 302
    settlement = Settlement.objects.get()
    assert (settlement.reason, settlement.proposed_by) == ("cause", None)
    assert str(settlement.refund) == "7140.000"
    assert stage(contract) == Stage.MISSED


def test_a_run_waits_for_the_notice_that_the_contract_requires(world: World, on_day: OnDay) -> None:
    contract = world.active(run_notice_days=3, acceptance_runs=3)
    first = contract.starts_on
    with declined("run.notice_required"):
        world.request(contract)
    for _ in range(2):
        assert notices.give(engagement=contract.engagement, by=world.consultant) == first + days(3)
    on_day(first + days(2))
    with declined("run.notice_running"):
        world.request(contract)
    with violates("run.notice_running"), patch.object(notices, "require"):
        world.request(contract)
    on_day(first + days(3))
    attempt(world, contract, "missed")
    with declined("run.notice_required"):
        world.request(contract)
    with violates("run.notice"), patch.object(notices, "require"):
        world.request(contract)


@pytest.mark.parametrize(
    "verdict", ["met", "missed", "inconclusive", "noisy", "invalid", "disqualified"]
)
def test_page_and_portal_explain_a_run_alike(world: World, client: Client, verdict: str) -> None:
    contract = world.active(acceptance_runs=3)
    run = attempt(world, contract, verdict)
    explained = explain(run, run.run.record.summary)
    for user, name in ((world.consultant, "run"), (world.signatory, "portal-run")):
        client.force_login(user)
        page = client.get(reverse(name, args=[contract.engagement.reference, run.pk]))
        text = page.content.decode()
        for part in (explained.headline, explained.reason, explained.consequence):
            assert part in text
        for detail in explained.details:
            assert capfirst(with_sign(detail)) in unescape(text)
    name = "portal-engagement"
    listed = client.get(reverse(name, args=[contract.engagement.reference])).content.decode()
    assert explained.headline in listed


def test_a_consultant_declares_an_attempt_final_and_gives_notice_on_the_pages(
    world: World, client: Client
) -> None:
    contract = world.active(acceptance_runs=3, run_notice_days=2)
    reference = contract.engagement.reference
    client.force_login(world.consultant)
    assert 'action="' + reverse("run-notice", args=[reference]) in (
        client.get(reverse("run-request", args=[reference])).content.decode()
    )
    assert client.post(reverse("run-notice", args=[reference])).status_code == 302
    day = notices.first_day(contract.engagement, contract)
    assert day == contract.starts_on + days(2)


def test_the_page_of_the_last_attempt_offers_to_declare_it_final(
    world: World, client: Client
) -> None:
    contract = world.active(acceptance_runs=3)
    run = attempt(world, contract, "missed")
    url = reverse("run-final", args=[contract.engagement.reference, run.pk])
    client.force_login(world.consultant)
    page = reverse("run", args=[contract.engagement.reference, run.pk])
    assert url in client.get(page).content.decode()
    assert client.post(url).status_code == 302
    assert stage(contract) == Stage.MISSED
    assert url not in client.get(page).content.decode()
