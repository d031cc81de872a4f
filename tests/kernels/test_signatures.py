"""Counters of a real report as a signature; missing counters are None."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels import signatures

CAPTURE = Path(__file__).parents[1] / "engagements/evidence/captures/ladder_raw.ncu.csv"


def test_a_signature_is_read_from_a_real_report() -> None:
    naive = dict(signatures.read(CAPTURE.read_text()))["naive"]
    assert naive.duration_us == pytest.approx(35362.176)
    assert naive.wasted_sectors == pytest.approx(0.9091)
    assert (naive.stall, naive.shared_bytes) == ("lg_throttle", 1024)


def test_missing_counters_are_none() -> None:
    metrics = {
        "gpu__time_duration.sum": ("1,234.5", "us"),
        "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": ("2.0", "inst"),
        "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio": ("9.0", "inst"),
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("n/a", "%"),
    }
    found = signatures.signature(metrics)
    assert (found.duration_us, found.stall, found.stall_share) == (1234.5, "barrier", 1.0)
    assert (found.sm_share, found.dram_share, found.wasted_sectors) == (None, None, None)
    nothing = signatures.signature({})
    assert (nothing.stall, nothing.stall_share) == (None, None)


def test_a_table_has_a_line_a_kernel_and_a_dash_for_missing_counters() -> None:
    found = [*signatures.read(CAPTURE.read_text()), ("uncounted", signatures.signature({}))]
    head, *lines = signatures.table(found).splitlines()
    assert len(lines) == len(found)
    assert "longest stall" in head
    [naive] = [line for line in lines if line.endswith("naive")]
    assert naive.split()[0] == "35362.2"
    assert "lg_throttle" in naive
    assert lines[-1].split() == ["-"] * 7 + ["uncounted"]
