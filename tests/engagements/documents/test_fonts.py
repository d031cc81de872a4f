"""Characters without a font are found before an invoice is issued."""

from __future__ import annotations

import pytest

from engagements.billing import invoices
from engagements.billing.models import Counter, Invoice
from engagements.common.errors import ApplicationError
from engagements.documents import fonts
from tests.engagements.world import World

CUNEIFORM = "\U00012000"


def test_letters_without_a_font_are_missing() -> None:
    assert fonts.missing(f"Übergabe № 7, Łódź, 10 €, {CUNEIFORM}{CUNEIFORM}") == [CUNEIFORM]


def test_emoji_and_invisible_characters_are_never_missing() -> None:
    assert fonts.missing("\U0001fadf\ufe0f \u200d\u00ad\u2603 \x07") == []


def test_an_invoice_to_a_name_without_a_font_is_not_issued(world: World) -> None:
    part = world.active().milestones.get(position=1)
    draft = invoices.draft(milestones=[part], by=world.finance)
    world.customer.name = f"{CUNEIFORM} Ltd"
    world.customer.save()
    with pytest.raises(ApplicationError, match=r"U\+12000, cuneiform sign a.*fonts-noto"):
        invoices.issue(invoice=draft, by=world.finance)
    assert Invoice.objects.get().state == Invoice.State.DRAFT
    assert not Counter.objects.filter(last__gt=0).exists()
