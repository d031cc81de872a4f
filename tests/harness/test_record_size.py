"""A record stays small enough to be kept and sent, whatever a run measured."""

from __future__ import annotations

from random import Random
from typing import Any

from benchmarks.records import records
from tests.harness.samples import replicate_entry, twice_as_fast, workload_entry

_WORKLOADS, _REPLICATES, _ROUNDS = ("wide", "odd", "long", "short"), 20, 100
# As large as a candidate may be, of letters that nothing compresses.
_SOURCE_BYTES = 1_000_000


def _telemetry(drawn: Random) -> dict[str, Any]:
    """A GPU that is never the same twice."""
    return {
        side: {
            "sm_mhz": [drawn.randrange(1500, 1980) for _ in range(_ROUNDS)],
            "memory_mhz": [3201] * _ROUNDS,
            "power_w": [round(drawn.uniform(300, 700), 1) for _ in range(_ROUNDS)],
            "temperature_c": [drawn.randrange(40, 80) for _ in range(_ROUNDS)],
            "throttle": [drawn.choice((0, 4, 32)) for _ in range(_ROUNDS)],
        }
        for side in ("baseline", "candidate")
    }


def _replicate(drawn: Random) -> dict[str, Any]:
    entries = []
    for name in _WORKLOADS:
        rounds = [(drawn.gauss(2e3, 9), drawn.gauss(1e3, 9)) for _ in range(_ROUNDS)]
        entries.append({**workload_entry(name, rounds), "telemetry": _telemetry(drawn)})
    return replicate_entry(*entries)


def test_the_longest_run_of_the_largest_candidate_stays_under_two_megabytes() -> None:
    drawn = Random(1)
    record = twice_as_fast()
    record["candidate"]["source"] = "".join(chr(drawn.randrange(35, 91)) for _ in range(1000)) * (
        _SOURCE_BYTES // 1000
    )
    record["replicates"] = [_replicate(drawn) for _ in range(_REPLICATES)]
    content = records.serialize(record, None)
    assert len(content) > _SOURCE_BYTES
    assert len(content) < 2_000_000
    assert records.load(content)["replicates"] == record["replicates"]
