"""The arithmetic that says no, and the README's table that is computed by it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from kernels.fused_ffn import payback

README = Path(payback.__file__).with_name("README.md")


def _gpus(ratio: str, weeks: str) -> int | None:
    return payback.break_even_gpus(
        ratio=Decimal(ratio), weeks=Decimal(weeks), fee=Decimal(60_000), gpu_hour=Decimal(3)
    )


def test_the_readmes_table_matches_the_function() -> None:
    page = README.read_text().splitlines()
    lines = [line.split("|")[1:-1] for line in page if line.startswith("| 1.")]
    assert len(lines) == 3
    for ratio, *gpus in lines:
        for weeks, printed in zip(("8", "26", "104"), gpus, strict=True):
            assert _gpus(ratio.strip().rstrip("x"), weeks) == int(printed)


@pytest.mark.parametrize(("ratio", "weeks"), [("1.0", "8"), ("0.97", "8"), ("1.5", "0")])
def test_a_kernel_that_saves_nothing_never_pays(ratio: str, weeks: str) -> None:
    assert _gpus(ratio, weeks) is None


def test_the_break_even_is_the_fewest_gpus() -> None:
    gpus = _gpus("1.5", "8")
    assert gpus is not None
    saved_by_one = Decimal(8) * payback.HOURS_A_WEEK * 3 * (1 - 1 / Decimal("1.5"))
    assert (gpus - 1) * saved_by_one < 60_000 <= gpus * saved_by_one


def test_an_operator_gives_the_step_less_than_itself() -> None:
    assert payback.end_to_end(ratio=Decimal("1.5"), share=Decimal("0.6")) == Decimal("1.25")
    assert payback.end_to_end(ratio=Decimal("1.5"), share=Decimal(1)) == Decimal("1.5")
