"""Control: the step gains no more than its operator explains.

The Program runs in the candidate's process, which may replace it: the outputs and the time are then
real, but not the operator's. So the measured gain, at the lower end of its interval, must not
exceed what Amdahl's law makes of the operator's own gain by more than the sealed margin. The
operator counts by its slowest baseline and its fastest candidate round, since noise only lengthens
rounds and a candidate cannot widen that range by scattering. Under the fourth rules, the rest of
the step is measured, around an empty slot in processes that no candidate shares: the operator
alone finds other caches and neighbours than in its step, so its times are no measure of the rest.
On a processor, where other work
changes the speed between both measurements, the operator's ratio itself is the bound: a step
gains no more than its operator, whatever its share.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.verdict.controls import roofline
from benchmarks.verdict.controls.outcome import Control
from benchmarks.verdict.operator_alone import OperatorCalls, measured_calls
from benchmarks.verdict.statistics import rules
from benchmarks.verdict.statistics.estimates import estimate
from benchmarks.verdict.statistics.exclusions import counted_rounds, counting, times_us

NAME = "gain explained by the operator"


def judge(record: Mapping[str, Any]) -> Control:
    """Require every workload's gain within what its operator explains, and the sealed margin."""
    benchmark = record["benchmark"]
    margin = benchmark["protocol"]["account_margin"]
    alone = measured_calls(record)
    if set(alone) != {workload["name"] for workload in benchmark["workloads"]}:
        why = "the operator was not measured alone"
        return Control(name=NAME, passed=None, detail=why)
    rounds = counted_rounds(record)
    weights = {workload["name"]: workload["weight"] for workload in benchmark["workloads"]}
    counted = counting(record, rounds)
    found = estimate(counted, weights, confidence=benchmark["confidence"]).workloads
    on_gpu = record["environment"]["device"]["kind"] == "cuda"
    rest_us = _rest_us(record) if counts_rest(record) else None
    if rest_us is not None and set(rest_us) != set(alone):
        why = "the rest of the step was not measured"
        return Control(name=NAME, passed=None, detail=why)
    floors_us = _floors_us(record)
    seen, beyond = [], []
    for name, calls in alone.items():
        if calls is None:
            why = f"{name}: not every shape in which the step calls the operator was measured"
            return Control(name=NAME, passed=None, detail=why)
        step_us = float(np.mean([baseline.mean() for baseline, _ in rounds.samples[name]]))
        most = (
            _explained(calls, step_us if on_gpu else None)
            if rest_us is None
            else step_us / (rest_us[name] + max(_fastest_us(calls), floors_us.get(name, 0.0)))
        )
        text = (
            f"{name}: measured {found[name].ratio:.3f}x (at least {found[name].low:.3f}x), "
            f"the operator explains at most {most:.3f}x"
        )
        seen.append(text)
        if found[name].low > most * (1 + margin):
            beyond.append(text)
    return Control(
        name=NAME, passed=not beyond, detail=f"{'; '.join(beyond or seen)}; margin {margin:.0%}"
    )


def counts_rest(record: Mapping[str, Any]) -> bool:
    """Whether the account counts the rest of the step as it was measured by itself."""
    protocol = record["benchmark"]["protocol"]
    on_gpu = record["environment"]["device"]["kind"] == "cuda"
    return on_gpu and rules.of(record) > 3 and protocol["operator_rounds"] > 0


def _rest_us(record: Mapping[str, Any]) -> dict[str, float]:
    """By workload, the fastest round of the step around an empty slot, in us per call."""
    return {
        pair["name"]: max(0.0, min(min(times) for times in times_us(pair["rounds"])))
        for pair in record["observations"].get("rest") or []
    }


def _floors_us(record: Mapping[str, Any]) -> dict[str, float]:
    """By workload, the operator's least time in one step at the machine's ceilings, where known.

    The operator alone is not chained, so a candidate could merge its calls there.
    """
    ceilings, device = record["environment"]["ceilings"], record["environment"]["device"]
    costs = record["observations"]["costs"] or []
    known = ceilings is not None and all(cost["flops"] is not None for cost in costs)
    return {
        cost["name"]: roofline.floor_us(cost, ceilings, device["cache_bytes"]) if known else 0.0
        for cost in costs
    }


def _fastest_us(calls: list[OperatorCalls]) -> float:
    """The candidate's operator in one step, at its fastest."""
    return sum(each.calls * float(each.candidate.min()) for each in calls)


def _explained(calls: list[OperatorCalls], step_us: float | None) -> float:
    """The largest ratio that the operator's times explain, in a step of `step_us` if given."""
    baseline_us = sum(each.calls * float(each.baseline.max()) for each in calls)
    candidate_us = _fastest_us(calls)
    if step_us is None:
        return max(1.0, baseline_us / candidate_us)
    return step_us / (max(0.0, step_us - baseline_us) + candidate_us)
