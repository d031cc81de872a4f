"""Pages of contracts, amendments and time-boxes in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from uuid import uuid4

import pytest
from django.urls import reverse
from playwright.sync_api import FilePayload, expect

from engagements.contracts import amendments, offers
from engagements.contracts.clauses import services as clauses
from engagements.contracts.drafting import PauseDraft
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.time_box import hours
from tests.browser.conftest import Window
from tests.browser.test_appearance import Viewer
from tests.engagements import cached_world
from tests.engagements.world import World, days, today

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def world(
    transactional_db: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    with cached_world.new_world(request.fixturenames, monkeypatch) as world:
        yield world


def amended(world: World, contract: ContractVersion) -> ContractVersion:
    """A pause and hours under version 1, and version 2 with a pause on offer."""
    pause = PauseDraft(today() + days(3), today() + days(9), "The customer", "No weights yet.")
    drafted = amendments.draft(
        engagement=contract.engagement,
        change="pause",
        reason="The weights of the new model come a week late.",
        by=world.consultant,
        pause=pause,
    )
    hours.add(
        engagement=contract.engagement,
        worked_on=today(),
        hours=Decimal("7.5"),
        note="Tiles and the first form of the loop.",
        request_key=uuid4(),
        by=world.consultant,
    )
    return offers.offer(contract=drafted, by=world.consultant)


def test_pages_of_contracts_fit_and_read(window: Window, world: World) -> None:
    viewer = Viewer(window)
    contract = world.active()
    reference = contract.engagement.reference
    viewer.glance(world.consultant, reverse("contract-amend", args=[reference]))
    new = amended(world, contract)
    viewer.glance(world.consultant, reverse("engagement-contract", args=[reference]))
    viewer.glance(world.signatory, reverse("portal-contract", args=[reference]))
    clauses.publish(slug="law", title="Law", text="Another law.\n\n" * 9, by=world.admin)
    viewer.glance(world.admin, f"{reverse('clauses')}?from=law")
    viewer.glance(None, f"{reverse('verify-document')}?digest={new.digest}")
    for party in Party:
        world.accept(new, party)
    viewer.glance(world.consultant, reverse("engagement-time", args=[reference]))
    assert not viewer.wrong, viewer.report()


def test_the_preview_follows_the_form(window: Window, world: World) -> None:
    drafted = world.drafted()
    page = window(world.consultant)
    page.goto(reverse("engagement-contract", args=[drafted.engagement.reference]))
    preview = page.get_by_role("article", name="Preview of the contract")
    expect(preview).to_contain_text("6 weeks")
    page.get_by_label("Weeks").fill("9")
    expect(preview).to_contain_text("9 weeks")
    page.get_by_label("Weeks").fill("99")
    expect(preview).to_have_count(0)


def test_an_amendment_has_only_fields_of_its_change(window: Window, world: World) -> None:
    contract = world.active()
    page = window(world.consultant)
    page.goto(reverse("contract-amend", args=[contract.engagement.reference]))
    expect(page.get_by_label("Weeks in all")).to_be_visible()
    expect(page.get_by_label("Waiting for")).to_be_hidden()
    page.get_by_label("A pause").check()
    expect(page.get_by_label("Waiting for")).to_be_visible()
    page.get_by_label("More time").check()
    page.get_by_label("Weeks in all").fill("8")
    page.get_by_label("Why").fill("The weights came late.")
    expect(page.get_by_role("deletion")).to_have_text("6")
    expect(page.get_by_role("insertion")).to_have_text("8")


def test_a_dropped_file_is_hashed_in_the_browser(
    window: Window, world: World, settings: object
) -> None:
    sent: list[str] = []
    page = window()
    page.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    page.goto(reverse("verify-document"))
    file = FilePayload(name="a.pdf", mimeType="application/pdf", buffer=b"not ours")
    page.get_by_label("The document").set_input_files(file)
    page.get_by_role("button", name="Verify file").click()
    expect(page.get_by_role("heading", name="Unknown document")).to_be_visible()
    assert not [each for each in sent if each.startswith("POST")]


def test_a_date_beside_a_right_to_left_name_stays_in_one_piece(
    world: World, window: Window
) -> None:
    world.signatory.name = "شركة الاختبار"
    world.signatory.save()
    contract = world.active()
    page = window(world.consultant)
    page.goto(reverse("engagement", args=[contract.engagement.reference]))
    accepted = page.locator(".facts dd", has_text="شركة الاختبار").first.locator("time")
    expect(accepted).to_be_visible()
    # A date that is split around the name has two boxes.
    assert accepted.evaluate("time => time.getClientRects().length") == 1
