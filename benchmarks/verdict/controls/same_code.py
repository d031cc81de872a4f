"""Control (A/A): the interval of the baseline against itself must contain 1.

One pair does not show how much processes differ, so the interval includes how much the baseline's
time differed between replicates. An unsteady candidate cannot widen it. An interval wider than the
sealed `aa_width` holds 1 whatever the machine does: it is not informative, and `verdicts` then
gives no verdict.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.verdict.controls.outcome import Control
from benchmarks.verdict.statistics import interruptions, rules, student_t
from benchmarks.verdict.statistics.estimates import Floats, process_us
from benchmarks.verdict.statistics.exclusions import counted_rounds, is_paired, times_us
from benchmarks.verdict.statistics.interruptions import uninterrupted

NAME = "same code on both sides"
# One sound run in a hundred fails here.
CONFIDENCE = 0.99
# Standard deviation between two processes of the same code on a processor that others use.
# Under the third rules: fourteen A/A pairs at a load of 2 to 5.6 on two cores had 0.135.
_PROCESSES_APART_2, _PROCESSES_APART = 0.05, 0.1
# The standard deviation of normal noise, in median absolute deviations; and the standard error of
# a median, in those of a mean.
_NORMAL, _OF_A_MEDIAN = 1.4826, 1.2533


def judge(record: Mapping[str, Any]) -> Control:
    """Require that the baseline does not differ from itself."""
    pair = record["observations"]["same_code"]
    asked = record["benchmark"]["protocol"]["aa_rounds"]
    if pair is None and asked == 0:
        return Control(name=NAME, passed=None, detail="the benchmark asks for no such pair")
    if pair is None or not _as_asked(record, pair):
        detail = f"the benchmark asks for {asked} rounds of one workload, and they are not there"
        return Control(name=NAME, passed=False, detail=detail)
    found = _interval(record, pair)
    if found is None:
        detail = "one replicate cannot show the difference between processes of the same code"
        return Control(name=NAME, passed=None, detail=detail)
    ratio, reach = found
    low, high = ratio / reach, ratio * reach
    detail = (
        f"baseline against baseline on {pair['name']}: {ratio:.4f}x, "
        f"{CONFIDENCE:.0%} interval {low:.4f} to {high:.4f}"
    )
    wider = uninformative(record)
    if wider is not None:
        return Control(name=NAME, passed=None, detail=f"not informative: {detail}, {wider}")
    return Control(name=NAME, passed=low <= 1 <= high, detail=detail)


def uninformative(record: Mapping[str, Any]) -> str | None:
    """Why an interval that holds 1 says nothing; None where it does, or without a sealed width."""
    pair = record["observations"]["same_code"]
    width = record["benchmark"]["protocol"].get("aa_width")
    found = None if pair is None or width is None else _interval(record, pair)
    if found is None:
        return None
    ratio, reach = found
    if reach <= 1 + width or not ratio / reach <= 1 <= ratio * reach:
        return None
    return f"wider than the sealed {1 + width:g}-fold either way"


def _interval(record: Mapping[str, Any], pair: Mapping[str, Any]) -> tuple[float, float] | None:
    """The A/A ratio and the factor of its interval either way; None for a single replicate."""
    if is_paired(record):
        apart = _PROCESSES_APART if rules.of(record) > 2 else _PROCESSES_APART_2
        return _paired_interval(*counting(record, pair), apart)
    between = _between_processes(record, pair["name"])
    if between is None:
        return None
    spread, degrees = between
    ratio, error = within(record, pair)
    error = math.hypot(error, spread)
    return ratio, math.exp(min(50.0, student_t.critical(CONFIDENCE, degrees) * error))


def _paired_interval(first: Floats, second: Floats, apart: float) -> tuple[float, float]:
    """The same by the median of adjacent rounds, which the machine's load slows alike.

    The times of processes then differ by the load, so their ratio's spread is taken as known.
    """
    logarithms = np.log(first / second)
    middle = float(np.median(logarithms))
    deviation = _NORMAL * float(np.median(np.abs(logarithms - middle)))
    error = math.hypot(_OF_A_MEDIAN * deviation / math.sqrt(len(logarithms)), apart)
    reach = student_t.critical(CONFIDENCE, len(logarithms) - 1) * error
    return math.exp(middle), math.exp(min(50.0, reach))


def _as_asked(record: Mapping[str, Any], pair: Mapping[str, Any]) -> bool:
    """Whether the pair measured a workload of the benchmark with all its rounds."""
    names = {workload["name"] for workload in record["benchmark"]["workloads"]}
    asked = record["benchmark"]["protocol"]["aa_rounds"]
    return pair["name"] in names and asked in (0, len(pair["rounds"]))


def within(record: Mapping[str, Any], pair: Mapping[str, Any]) -> tuple[float, float]:
    """The ratio of an A/A pair and the standard error of its logarithm, from its rounds."""
    first, second = counting(record, pair)
    pulls = first / first.mean() - second / second.mean()
    error = float(pulls.std(ddof=1)) / math.sqrt(len(pulls))
    return float(first.mean() / second.mean()), error


def counting(record: Mapping[str, Any], pair: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """Times of both sides in us per call, without interrupted rounds."""
    first, second = times_us(pair["rounds"])
    kept = uninterrupted(first, second, interruptions.sealed(record))
    return (first[kept], second[kept]) if kept.sum() > 1 else (first, second)


def _between_processes(record: Mapping[str, Any], workload: str) -> tuple[float, int] | None:
    """The spread of the ratio between two baseline processes; None for a single replicate."""
    usual = process_us if rules.of(record) > 1 else np.mean
    means = [float(usual(baseline)) for baseline, _ in counted_rounds(record).samples[workload]]
    if len(means) < 2:
        return None
    mean = sum(means) / len(means)
    variance = sum((each / mean - 1) ** 2 for each in means) / (len(means) - 1)
    return math.sqrt(2 * variance), len(means) - 1
