"""Format reports as tables: columns for a terminal, Markdown for a README."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.published.reports import Report

_COLUMNS = "{:<26} {:<20} {:<13} {:>7} {:>15} {:>9} {:>8} {:>9}  {:<22} {}"


def text(found: Sequence[Report]) -> str:
    """One line per record, in columns."""
    head = ["operator", "record", "verdict", "ratio", "interval"]
    lines = [_COLUMNS.format(*head, "operator", "roofline", "strongest", "", "signature")]
    for one in found:
        line = _COLUMNS.format(
            one.operator,
            one.name,
            one.verdict,
            _times(one.ratio),
            _interval(one),
            _times(one.operator_ratio),
            _share(one.roofline_share),
            _times(one.against_strongest),
            one.strongest or "",
            one.signature.words + ("" if one.current else "; the code has changed since"),
        )
        lines.append(line.rstrip())
    return "\n".join(lines)


def markdown(found: Sequence[Report], *, named: bool) -> str:
    """One row per record; `named` adds a column with the operator."""
    head = ["record", "candidate", "against", "end to end", "verdict", "alone", "roofline"]
    lines = [_row(["operator", *head] if named else head)]
    lines.append("|---" * (len(head) + named) + "|")
    for one in found:
        cells = [
            f"`{one.name}`",
            f"`{one.candidate}`",
            f"`{one.baseline}`",
            f"{_times(one.ratio)}, {_interval(one)}",
            f"{one.verdict} {one.target:g}x",
            _times(one.operator_ratio),
            _share(one.roofline_share),
        ]
        lines.append(_row([one.operator, *cells] if named else cells))
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


def _interval(one: Report) -> str:
    return "-" if one.low is None or one.high is None else f"{one.low:.2f} to {one.high:.2f}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
