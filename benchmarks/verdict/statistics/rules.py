"""The judging rules that a benchmark seals, so that an old record keeps its verdict.

2: the interval's upper end is bounded by the candidate's quickest process, noise is judged by
paired rounds, a quarter of a process's rounds at most is excluded, processes are compared by their
median rounds, and an A/A pair wider than `aa_width` is not informative. Without `rules`: 1.

3: the candidate's quarter rounds are as long as its whole ones, call for call, and the baseline's
clocks beside the candidate are compared with those beside itself. The A/A pair of adjacent rounds
allows twice the spread between processes.

4: the time of chaining is taken off both sides. On a GPU, Amdahl's account counts the rest of the
step as it was measured around an empty slot, and a candidate may gain half as much more than the
baseline by many calls in a round.
"""

from collections.abc import Mapping
from typing import Any


def of(record: Mapping[str, Any]) -> int:
    """The version of the rules that the record's benchmark was sealed with."""
    version: int = record["benchmark"]["protocol"].get("rules", 1)
    return version


def take_off_chaining(benchmark: Mapping[str, Any]) -> bool:
    """Whether a benchmark's times exclude the time of chaining calls."""
    return bool(benchmark["protocol"].get("rules", 1) > 3)
