"""A seventh check: one module, and one line in `rules.CHECKS`."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from msgspec import Struct

from engagements.audit import findings, models, rules
from engagements.audit.rules import AuditInputs, Check, Finding, Meanings, Outcome, verdict
from engagements.audit.rules.figures import Chart, Figures, Table, facts
from engagements.audit.rules.thresholds import Thresholds
from tests.engagements.world import World

NAME = "licence"


class LicenceFigures(Figures, Struct, frozen=True, kw_only=True, tag=NAME, tag_field="check"):
    """The licence under which the kernel's dependencies are used."""

    licence: str

    def tables(self) -> tuple[Table, ...]:
        return (facts("Licences", ("Licence", self.licence)),)

    def chart(self, thresholds: Thresholds) -> Chart:
        return Chart(title="Licence", caption="One.", alt=self.licence, draw=lambda theme: "<svg/>")


def find(inputs: AuditInputs) -> Finding:
    return Finding(
        check=NAME,
        outcome=Outcome.PASS,
        sentence="The licence allows it.",
        paragraph="MIT.",
        shown="MIT",
        figures=LicenceFigures(licence="MIT"),
    )


MEANINGS = Meanings(passed="Allowed.", failed="Not allowed.", unknown="Unknown.")
CHECK = Check(
    name=NAME,
    question="Does the licence allow it?",
    why="A kernel that may not be used is worth nothing.",
    reason="Licences restrict use.",
    vendor_question="Under which licence is it?",
    value_label="Licence",
    value_hint="its name.",
    consultant=MEANINGS,
    customer=MEANINGS,
    find=find,
)


@pytest.fixture(autouse=True)
def seven(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rules, verdict, models):
        monkeypatch.setattr(module, "CHECKS", (*rules.CHECKS, CHECK))


def test_it_is_found_stored_shown_and_drawn(signed_in: Client, world: World) -> None:
    audit = world.auditing()
    verdict_now = findings.compute(audit=audit, by=world.consultant)
    assert verdict_now.passes == 1
    row = audit.findings.get(check_name=NAME)
    assert (row.outcome, row.get_check_name_display()) == ("pass", CHECK.question)
    assert row.computed_finding == find(AuditInputs(today=verdict_now.examined_on))

    reference = audit.engagement.reference
    page = signed_in.get(reverse("engagement-audit", args=[reference])).content.decode()
    report = signed_in.get(reverse("audit-report", args=[reference])).content.decode()
    chart = signed_in.get(reverse("audit-picture", args=[reference, NAME, "light"]))
    assert f'id="check-{NAME}"' in page
    assert f'id="check-{NAME}"' in report
    assert "MIT" in report
    assert chart.content == b"<svg/>"


def test_a_missing_finding_is_an_error_and_shifts_no_other(signed_in: Client, world: World) -> None:
    audit = world.auditing()
    audit.findings.filter(check_name="hot").delete()
    with pytest.raises(ValueError, match="zip"):
        signed_in.get(reverse("engagement-audit", args=[audit.engagement.reference]))
