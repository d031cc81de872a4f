"""The ladder as measured: every rung higher than the last, each with a profile of its own."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.matmul_ladder import ladder, profiling

CAPTURE = Path(__file__).parents[1] / "engagements/evidence/captures/ladder_raw.ncu.csv"


def _captured() -> dict[str, ladder.Signature]:
    lines = csv.reader(line for line in CAPTURE.read_text().splitlines() if line[:2] != "==")
    names, units, *rows = lines
    told = [dict(zip(names, zip(row, units, strict=True), strict=True)) for row in rows]
    return {one["Kernel Name"][0]: profiling._signature(one) for one in told}


def test_the_ladder_is_read_without_torch() -> None:
    program = (
        "import sys\n"
        "from kernels.matmul_ladder import ladder\n"
        "ladder.rungs()\n"
        "print(sorted({'torch', 'triton', 'numpy'} & set(sys.modules)))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_each_rung_is_higher_than_the_last_and_below_the_library() -> None:
    shares = [rung.share_of_peak for rung in ladder.rungs("cuda")]
    assert len(shares) >= 5
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < 0.01
    assert shares[-1] < 1.1


def test_a_rungs_file_is_there_and_its_meaning_said() -> None:
    folder = Path(ladder.__file__).parent
    for rung in ladder.rungs():
        assert (folder / rung.file).is_file()
        assert rung.meaning == ladder.MEANINGS[rung.name]


def test_rungs_can_be_told_apart_by_what_the_profiler_counts() -> None:
    found = {rung.name: rung.signature for rung in ladder.rungs("cuda")}
    naive, coalesced, tiled = found["naive"], found["coalesced"], found["tiled"]
    assert naive is not None
    assert coalesced is not None
    assert tiled is not None
    assert (naive.wasted_sectors or 0.0) > 0.5
    assert coalesced.wasted_sectors == tiled.wasted_sectors == 0.0
    assert (tiled.shared_bytes or 0) > (coalesced.shared_bytes or 0)
    assert (tiled.tensor_share or 0.0) < 0.01
    assert (ladder.ladder().library.tensor_share or 0.0) > 0.5


def test_a_signature_is_read_from_a_real_report() -> None:
    naive = _captured()["naive"]
    assert naive.duration_us == pytest.approx(35362.176)
    assert naive.wasted_sectors == pytest.approx(0.9091)
    assert (naive.stall, naive.shared_bytes) == ("lg_throttle", 1024)


def test_what_the_profiler_did_not_count_is_none() -> None:
    metrics = {
        "gpu__time_duration.sum": ("1,234.5", "us"),
        "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": ("2.0", "inst"),
        "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio": ("9.0", "inst"),
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("n/a", "%"),
    }
    read = profiling._signature(metrics)
    assert (read.duration_us, read.stall, read.stall_share) == (1234.5, "barrier", 1.0)
    assert (read.sm_share, read.dram_share, read.wasted_sectors) == (None, None, None)
