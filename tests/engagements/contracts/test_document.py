"""The contract as a document."""

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from django.utils.html import escape
from pypdf import PdfReader

from benchmarks.records.canonical import digest_of_bytes
from engagements import documents
from engagements.common.dates import in_words
from engagements.contracts.clauses.example import worked_example
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.terms import terms_of
from engagements.contracts.time_box.models import TimeBox
from engagements.documents import formatting, registry, render
from engagements.documents.registry import Subject
from tests.engagements.charts import measured
from tests.engagements.document_story import Story
from tests.engagements.pdf_text import attached, words
from tests.errors import declined

Issue = Callable[[str, str], PdfReader]


def test_the_offer_sets_out_the_sealed_terms_and_attaches_them(story: Story, issued: Issue) -> None:
    story.audited()
    contract = story.offered(dispute_days=10)
    paper = issued("contract", f"contract:{contract.pk}")
    text = words(paper)
    assert "EUR 48,000.00" in text
    for amount in ("12,000.00", "24,000.00", "2,280.00", "57,120.00", "49,980.00", "7,140.00"):
        assert amount in text
    assert in_words(timezone.localdate() + timedelta(weeks=6, days=-1)) in text
    terms = terms_of(contract)
    html = render.markup(registry.kind_of("contract").compose(Subject("contract", contract.pk)))
    assert [each for each in sealed_texts(terms["text"]) if escape(each) not in html] == []
    assert all(contract.digest in page.extract_text() for page in paper.pages)
    enclosed = attached(paper)
    assert digest_of_bytes(enclosed["terms.json"]) == contract.digest
    assert digest_of_bytes(enclosed["benchmark.json"]) == contract.benchmark.digest


def sealed_texts(text: dict[str, Any]) -> list[str]:
    """Every paragraph and cell of the sealed text."""
    found = list(text["summary"]["paragraphs"])
    found += [paragraph for each in text["clauses"] for paragraph in each["paragraphs"]]
    return found + [cell for each in text["schedules"] for row in each["rows"] for cell in row]


def test_the_accepted_contract_names_signatories_digest_and_time(
    story: Story, issued: Issue
) -> None:
    story.audited()
    contract = story.accepted(story.offered())
    text = words(issued("contract", f"contract:{contract.pk}:accepted"))
    for acceptance in contract.acceptances.all():
        assert acceptance.typed_name in text
        assert acceptance.user.email in text
        assert formatting.moment(acceptance.accepted_at) in text
        assert f"from the address {acceptance.address}" in text


def test_the_accepted_contract_names_the_days_that_the_acceptance_gave_the_time_box(
    story: Story, on_day: Callable[[date], None]
) -> None:
    story.audited()
    contract, later = story.offered(), timezone.localdate() + timedelta(days=5)
    on_day(later)
    story.accepted(contract)
    html = render.markup(
        registry.kind_of("contract").compose(Subject("contract", contract.pk, "accepted"))
    )
    box = TimeBox.objects.get(engagement=contract.engagement)
    assert f"from {in_words(later)} to {in_words(box.ends_on)}" in html


def test_shares_and_confidence_are_not_rounded_to_what_they_are_not(story: Story) -> None:
    story.audited()
    document = measured.benchmark() | {"confidence": 0.975}
    contract = story.offered(document)
    html = render.markup(registry.kind_of("contract").compose(Subject("contract", contract.pk)))
    assert "97.5%" in html


def test_live_rows_that_change_later_do_not_change_the_contract(story: Story) -> None:
    story.audited()
    contract = story.offered()
    story.customer.name = "Somebody Else Ltd"
    story.customer.save()
    paper = registry.kind_of("contract").compose(Subject("contract", contract.pk))
    html = render.markup(paper)
    assert "Nordwestdeutsche" in html
    assert "Somebody Else" not in html


def test_a_contract_is_not_issued_before_it_is_due(story: Story) -> None:
    story.audited()
    contract = story.offered()
    with declined("contract.not_accepted"):
        documents.issue(kind="contract", subject=f"contract:{contract.pk}:accepted")
    with pytest.raises(ValueError, match="signed"):
        documents.issue(kind="contract", subject=f"contract:{contract.pk}:signed")


def test_terms_that_were_tampered_with_are_not_printed(story: Story) -> None:
    story.audited()
    contract = story.offered()
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(
            "UPDATE engagements_contractversion SET canonical = %s WHERE id = %s",
            [bytes(contract.canonical or b"").replace(b"48000", b"49000"), contract.pk],
        )
        cursor.execute("SET session_replication_role = DEFAULT")
    with declined("contract.terms_altered"):
        documents.issue(kind="contract", subject=f"contract:{contract.pk}")


def test_without_tax_there_is_no_tax_column(db: None) -> None:
    story = Story(currency="JPY", tax="0.00")
    story.audited()
    contract = story.offered()
    paper = registry.kind_of("contract").compose(Subject("contract", contract.pk))
    html = render.markup(paper)
    assert "Gross" not in html
    assert "48,000<" in html


@pytest.mark.parametrize(
    ("milestones", "refunds", "balances"),
    [
        ([("12000.00", "signed"), ("36000.00", "target_met")], ["7,140.00", "49,980.00"], "0.00"),
        ([("3000.00", "signed"), ("45000.00", "target_met")], ["0.00", "49,980.00"], "3,570.00"),
        ([("48000.00", "target_met")], ["0.00", "49,980.00"], "7,140.00"),
    ],
)
def test_the_example_follows_the_arithmetic_of_a_settlement(
    milestones: list[tuple[str, str]], refunds: list[str], balances: str
) -> None:
    terms: dict[str, Any] = {
        "currency": "EUR",
        "tax_rate_percent": "19.00",
        "audit_cost": "6000.00",
        "released_before": [],
        "milestones": [
            {"position": position, "amount": amount, "condition": condition}
            for position, (amount, condition) in enumerate(milestones, start=1)
        ],
    }
    example = worked_example(terms)
    assert example["refunds"] == refunds
    assert example["balances"][0] == balances
    assert example["has_balance"] is (balances != "0.00")


def test_the_tax_of_the_table_is_that_of_its_bills(story: Story) -> None:
    story.audited()
    parts = [
        MilestoneDraft(f"Part {number}", amount, what)
        for number, (amount, what) in enumerate(
            [(Decimal("5999.99"), "signed")] * 7 + [(Decimal("6000.07"), "target_met")], start=1
        )
    ]
    contract = story.offered(milestones=parts)
    schedule = terms_of(contract)["text"]["schedules"][0]
    assert schedule["rows"][-1][-3:] == ["48,000.00", "9,120.00", "57,120.00"]
