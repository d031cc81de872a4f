"""How figures are written and drawn: what was not measured is never a number."""

from __future__ import annotations

from decimal import Decimal

import pytest

from engagements.templatetags import bars, show


@pytest.mark.parametrize(
    "written",
    [
        show.ratio(None),
        show.money(None, "EUR"),
        show.microseconds(None),
        show.seconds(None),
        show.share(None),
        show.kibibytes(None),
        show.moment(None),
        show.day(None),
    ],
)
def test_what_was_not_measured_is_a_dash(written: str) -> None:
    assert written == show.NOT_MEASURED


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.834, "83%"),
        (0.0099, "1.0%"),
        (0.0053, "0.5%"),
        (0.0007, "under 0.1%"),
        (0.0, "0%"),
        (None, show.NOT_MEASURED),
    ],
)
def test_a_share_that_is_there_is_never_written_as_nothing(
    value: float | None, written: str
) -> None:
    assert show.percent(value) == written


def test_figures_are_written_in_units_that_keep_them_short() -> None:
    assert show.ratio(Decimal("2.405")) == "2.41×" or show.ratio(Decimal("2.405")) == "2.40×"
    assert show.microseconds(15.25) == "15.2 µs"
    assert show.microseconds(41_060.0) == "41.06 ms"
    assert show.microseconds(2_500_000.0) == "2.50 s"
    assert show.seconds(58.24) == "58.2 s"
    assert show.seconds(192.0) == "3 min 12 s"
    assert show.share(0.7) == "70%"
    assert show.kibibytes(94_500) == "92.3 KiB"
    assert show.kibibytes(150_754_820_096) == "140.4 GiB"


def test_a_digest_is_shortened_to_its_ends() -> None:
    assert show.short_digest("sha256:" + "ab" * 32) == "abababab…abab"
    assert show.short_digest("short") == "short"


def test_an_unknown_state_has_the_plain_tone() -> None:
    assert show.tone_of("pending") == "plain"
    assert show.tone_of("anything else") == "plain"
    assert show.tone_of("met") == "good"


def bar(
    ratio: float | None, low: float | None = None, high: float | None = None, target: str = "2.00"
) -> bars.RatioBar:
    return bars.ratio_bar(ratio, low, high, Decimal(target), "met")["bar"]


def test_the_target_is_at_one_place_of_every_ratio_bar() -> None:
    drawn = [bar(None), bar(0.1, 0.05, 0.2), bar(40.0, 30.0, 55.0), bar(1.1, target="1.20")]
    assert {each.target_x for each in drawn} == {"50.00"}
    for each in drawn:
        assert float(each.low_x) + float(each.interval_width) <= 100
        assert float(each.ratio_x) <= 100
    assert [each.is_beyond for each in drawn] == [False, False, True, False]


def test_a_ratio_bar_has_a_text_alternative() -> None:
    assert bar(2.4, 2.3, 2.5).words == "Ratio 2.40×, interval 2.30× to 2.50×, target 2.00×"
    assert bar(2.4).words == "Ratio 2.40×, target 2.00×"
    assert bar(None).words == "No estimate yet, target 2.00×"


def test_the_label_of_the_baseline_never_meets_the_label_of_the_target() -> None:
    assert [bar(1.0, target=target).even_anchor for target in ("1.05", "2.00", "3", "60")] == [
        *("end", "end"),
        *("start", "start"),
    ]


def test_a_quotation_within_a_quotation_has_single_marks() -> None:
    said = '"Could you?", the answer is “no”, or "not yet'
    assert (
        show.within_quotes(said)
        == '\u2018Could you?\u2019, the answer is \u2018no\u2019, or "not yet'
    )
