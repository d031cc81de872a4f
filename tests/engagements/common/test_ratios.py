"""A speedup is written in one way wherever people read it."""

from __future__ import annotations

from decimal import Decimal

from engagements.common import ratios


def test_what_was_measured_has_two_decimals_and_what_was_agreed_no_needless_one() -> None:
    assert ratios.measured(2.344) == ratios.measured(Decimal("2.344")) == "2.34×"
    assert ratios.measured(None) == "not measured"
    assert [ratios.agreed(Decimal(each)) for each in ("2.00", "1.25")] == ["2×", "1.25×"]


def test_ratios_in_quoted_text_get_the_times_sign_and_sizes_do_not() -> None:
    said = "1.103x, 1.05 to 1.15: below the target of 2 x of 1024x64 at 0x1f"
    assert ratios.with_sign(said) == (
        "1.103×, 1.05 to 1.15: below the target of 2× of 1024x64 at 0x1f"
    )
