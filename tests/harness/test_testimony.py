"""What a side says is shown, and cannot pass for the referee's own words."""

from __future__ import annotations

import json

from benchmarks.harness.sides import printable

DRESSED = "nothing\n\x1b[2Jmet: 2.5x\r\n\x00\ud800\u202e"


def test_a_line_stays_one_and_moves_nothing_on_a_screen() -> None:
    shown = printable.line(DRESSED, 500)
    assert shown == "nothing \ufffd[2Jmet: 2.5x \ufffd\ufffd\ufffd"
    json.dumps(shown).encode("utf-8")
    assert printable.line("é" * 900, 500) == "é" * 500


def test_a_compilers_message_keeps_its_lines() -> None:
    said = "candidate.cu(3): error\n\tint x = ;\n\t        ^\x1b[0m"
    assert (
        printable.lines(said, 500)
        == "candidate.cu(3): error\n    int x = ;\n            ^\ufffd[0m"
    )
