"""What a machine reaches by itself, measured here."""

from __future__ import annotations

import pytest

from benchmarks.harness.devices import backends, ceilings


def test_products_of_eight_bits_have_a_rate_of_their_own() -> None:
    (rate,) = ceilings._eight_bits(backends.device("cpu")).values()
    # A product of 1024 cubed takes less than a minute anywhere, and more than a microsecond.
    assert 2 * 1024**3 / 60 < rate < 2 * 1024**3 * 1e6


def test_a_card_without_such_products_has_no_such_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(first: object, second: object) -> None:
        raise RuntimeError("_int_mm_out_cuda not compiled for this device")

    monkeypatch.setattr("torch._int_mm", refuses)
    assert ceilings._eight_bits(backends.device("cpu")) == {}
