"""The judging rules that a benchmark seals, so that an old record keeps its verdict.

2: the interval's upper end is bounded by the candidate's quickest process, noise is judged by
paired rounds, a quarter of a process's rounds at most is excluded, processes are compared by their
median rounds, and an A/A pair wider than `aa_width` is not informative. Without `rules`: 1.

3: the candidate's quarter rounds are as long as its whole ones, call for call, and the baseline's
clocks beside the candidate are compared with those beside itself. The A/A pair of adjacent rounds
allows twice the spread between processes.
"""

from collections.abc import Mapping
from typing import Any


def of(record: Mapping[str, Any]) -> int:
    """The version of the rules that the record's benchmark was sealed with."""
    version: int = record["benchmark"]["protocol"].get("rules", 1)
    return version
