"""Stall reasons: why warps did not issue their next instruction.

The raw page counts every reason; the details page names the largest ones in a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from engagements.evidence.readers.facts import Stall
from engagements.evidence.readers.nsight_compute import metrics
from engagements.evidence.readers.nsight_compute.measures import Measures

MOST = 6
# An issued instruction is not a stall, but its cycle is part of the total.
SELECTED = "selected"
_RULE = re.compile(
    r"spends (\d[\d,]*(?:\.\d+)?) cycles being stalled (.{1,160}?)\. .*?"
    r"about (\d+(?:\.\d+)?)% of the total"
)
# The rule's words for a reason, first match.
_WORDS = (
    ("(LG) memory operations to be not full", "lg_throttle"),
    ("scoreboard dependency on a L1TEX", "long_scoreboard"),
    ("scoreboard dependency on a MIO", "short_scoreboard"),
    ("MIO (memory input/output) instruction queue", "mio_throttle"),
    ("micro scheduler to select", "not_selected"),
    ("WARPGROUP", "gmma"),
    ("barrier", "barrier"),
    ("fixed latency", "wait"),
    ("execution pipe", "math_pipe_throttle"),
)


def stalls(launch: Measures) -> tuple[Stall, ...]:
    """Return the largest stall reasons; empty when they are not in the export."""
    for prefix, in_cycles in metrics.STALLS:
        counted = {
            reason: launch.plain(*(prefix.format(name) for name in names)) or 0.0
            for reason, names in metrics.STALL_REASONS.items()
        }
        total = sum(counted.values())
        if total > 0:
            found = (
                Stall(
                    reason=reason,
                    share=value / total,
                    cycles=value if in_cycles else None,
                )
                for reason, value in counted.items()
                if value > 0 and reason != SELECTED
            )
            return _largest(found)
    return _largest(_by_rule(launch))


def _by_rule(launch: Measures) -> Iterable[Stall]:
    for said in launch.rules.get("CPIStall", ()):
        if found := _RULE.search(said):
            words = found[2]
            reason = next((name for part, name in _WORDS if part in words), "other")
            cycles = float(found[1].replace(",", ""))
            yield Stall(reason=reason, share=min(float(found[3]) / 100.0, 1.0), cycles=cycles)


def _largest(found: Iterable[Stall]) -> tuple[Stall, ...]:
    return tuple(sorted(found, key=lambda stall: -stall.share)[:MOST])
