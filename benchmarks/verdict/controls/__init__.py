"""Controls: checks on a run beside its samples, computed from the record.

The referee records its observations (telemetry, ceilings, A/A pair); these functions judge them, so
that anyone can repeat it. A failed control makes the run invalid; one that was not measured gives
the reason and fails nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.verdict.controls import (
    account,
    baseline_band,
    ecc,
    exclusive,
    one_by_one,
    parts,
    reach,
    roofline,
    same_code,
    steadiness,
    working_set,
)
from benchmarks.verdict.controls.outcome import Control
from benchmarks.verdict.statistics import rules

__all__ = ["Control", "judge"]

_ALL: tuple[Callable[[Mapping[str, Any]], Control], ...] = (
    same_code.judge,
    baseline_band.judge,
    one_by_one.judge,
    roofline.judge,
    working_set.judge,
    exclusive.judge,
    steadiness.judge,
    ecc.judge,
)


def judge(record: Mapping[str, Any]) -> list[Control]:
    """Judge every control of a complete record that its benchmark's protocol knows."""
    # Chained calls cannot be merged.
    left_out = one_by_one.judge if record["benchmark"]["definition"].get("chain") else None
    judged = [each(record) for each in _ALL if each is not left_out]
    if "account_margin" in record["benchmark"]["protocol"]:
        judged.append(account.judge(record))
    if "allowed_reach" in record["benchmark"]["protocol"]:
        judged.append(reach.judge(record))
    if rules.of(record) > 2:
        judged.append(parts.judge(record))
    return judged
