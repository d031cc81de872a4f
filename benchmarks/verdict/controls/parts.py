"""Control: the candidate's quarter rounds take a quarter of its whole rounds.

Their time is not used, so that a candidate cannot change the fixed cost by them. They are therefore
also time that it could spend on something else: heating the GPU before the baseline's round, or
filling its caches. All of them together may exceed their share by half and by a launch each.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.verdict.controls.one_by_one import LAUNCH_US
from benchmarks.verdict.controls.outcome import Control
from benchmarks.verdict.statistics.exclusions import times_us

NAME = "quarter rounds like whole ones"
# On a bad host a few of fifteen short rounds were interrupted for 12 ms: a third of the sum.
SHARE = 0.5


def judge(record: Mapping[str, Any]) -> Control:
    """Require that no workload's candidate takes longer for a call in them than in whole rounds."""
    seen, failed = [], []
    for workload in record["benchmark"]["workloads"]:
        entries = [
            entry
            for replicate in record["replicates"]
            for entry in replicate["workloads"]
            if entry["name"] == workload["name"] and "parts" in entry
        ]
        if not entries:
            continue
        calls = entries[0]["parts"]["calls"]
        part_us = float(np.mean([us for each in entries for us in each["parts"]["candidate"]]))
        whole = np.concatenate([times_us(each["rounds"])[1] for each in entries])
        text = (
            f"{workload['name']}: the candidate takes {part_us:,.1f} us a call in rounds of "
            f"{calls}, {whole.mean():,.1f} us in whole ones"
        )
        seen.append(text)
        if part_us > (1 + SHARE) * float(whole.mean()) + LAUNCH_US / calls:
            failed.append(text)
    if not seen:
        return Control(name=NAME, passed=None, detail="there were no rounds of a part of the calls")
    return Control(name=NAME, passed=not failed, detail="; ".join(failed or seen))
