"""Control: single calls are as fast as batched ones, so no side merges the calls of a round.

A round hands a side the inputs of all its calls; a real caller's arrive one by one. Rounds of one
call show the gain from batching. Some of it is honest (launching the next call while one runs,
waiting once for all), and the baseline gains it, too. The control fails a candidate that gains
half as much more and a share of its call. Before the fourth rules it forgave 500 us instead.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.verdict.controls.outcome import Control
from benchmarks.verdict.statistics import rules
from benchmarks.verdict.statistics.exclusions import counted_rounds

NAME = "one call at a time"
# Rounds of one call per side, in every replicate and workload.
ROUNDS = 5
# Share of a call: caches, clocks and a kernel's tail differ a little in a round of one call.
SHARE = 0.05
# Of the baseline's own gain. In 43 recorded workloads the medians of honest candidates gained at
# most 0.39 of it more.
MORE = 0.5
# Launch, wait and the GPU's context switches, which batched calls share; two such time slices took
# up to 700 us on an H200.
LAUNCH_US = 500.0


def judge(record: Mapping[str, Any]) -> Control:
    """Require that no workload's candidate gains more from batching than the baseline does."""
    if record["environment"]["device"]["kind"] != "cuda":
        why = "a processor is busy with other things for longer than a round of one call lasts"
        return Control(name=NAME, passed=None, detail=why)
    among_many = counted_rounds(record).samples
    seen, failed = [], []
    for workload in record["benchmark"]["workloads"]:
        name = workload["name"]
        single = _singles_us(record, name)
        if single is None:
            continue
        many = [np.mean([pair[side].mean() for pair in among_many[name]]) for side in (0, 1)]
        baseline_us = float(np.median(single[0]))
        gain_us = max(0.0, baseline_us - many[0])
        if rules.of(record) > 3:
            candidate_us = float(np.median(single[1]))
            honest_us = (1 + MORE) * gain_us + SHARE * many[1]
        else:
            # Disturbances only lengthen a round, so take the candidate's fastest.
            candidate_us = min(single[1])
            honest_us = gain_us + SHARE * candidate_us + LAUNCH_US
        text = (
            f"{name}: the candidate takes {candidate_us:,.1f} us by itself and {many[1]:,.1f} us "
            f"among many, the baseline {baseline_us:,.1f} and {many[0]:,.1f}"
        )
        seen.append(text)
        if candidate_us - many[1] > honest_us:
            failed.append(f"{text}: it works on several calls at once")
    if not seen:
        detail = "every round was of one call, or rounds of one call were not measured"
        return Control(name=NAME, passed=None, detail=detail)
    return Control(name=NAME, passed=not failed, detail="; ".join(failed or seen))


def _singles_us(record: Mapping[str, Any], name: str) -> tuple[list[float], list[float]] | None:
    """Times of the one-call rounds by side, over all replicates; None without any."""
    singles = [
        workload["single"]
        for replicate in record["replicates"]
        for workload in replicate["workloads"]
        if workload["name"] == name and workload.get("single") is not None
    ]
    if not singles:
        return None
    return (
        [us for single in singles for us in single["baseline"]],
        [us for single in singles for us in single["candidate"]],
    )
