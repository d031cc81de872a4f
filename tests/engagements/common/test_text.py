"""What people type and paste is kept without what nobody sees in it."""

from __future__ import annotations

import pytest

from engagements.common.text import strip_invisible


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (" two\x0blines\x1f", "two lines"),
        ("Acme\u200b Ltd\ufeff", "Acme Ltd"),
        ("report\u202efdp.exe", "reportfdp.exe"),
        ("\u200b \u2060\x85", ""),
        ("one\r\n\ttwo", "one\r\n\ttwo"),
        (
            "Jörg \U0001f469\u200d\U0001f4bb, \u05d0\u200e 1",
            "Jörg \U0001f469\u200d\U0001f4bb, \u05d0\u200e 1",
        ),
    ],
)
def test_what_nobody_sees_is_left_out(typed: str, kept: str) -> None:
    assert strip_invisible(typed) == kept
