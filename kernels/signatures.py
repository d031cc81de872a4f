"""Summarise Nsight Compute's counters of a kernel: time, shares of peak, longest stall."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

# All counters, at the kernel's own clocks, from the program's profiler start.
NCU: Final = ("ncu", "--clock-control", "none", "--set", "full", "--profile-from-start", "off")

_STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
# States of a warp that was issued or could have been.
_NO_STALLS = ("selected", "not_selected")
# To microseconds and bytes.
_SCALES = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "byte/block": 1.0, "Kbyte/block": 1e3}


@dataclass(frozen=True, kw_only=True)
class Signature:
    """A kernel's main counters. Shares of peak are fractions of 1; None if not counted.

    `wasted_sectors` is the share of sectors requested from the L2 cache that coalesced access would
    not request. `stall` is the longest stall's reason in ncu's terms, `stall_share` its share.
    """

    duration_us: float | None
    dram_share: float | None
    l1_share: float | None
    sm_share: float | None
    tensor_share: float | None
    occupancy: float | None
    wasted_sectors: float | None
    shared_bytes: int | None
    stall: str | None
    stall_share: float | None


def export_command(report: str) -> tuple[str, ...]:
    """The command that prints a report's raw counters for `read`."""
    return ("ncu", "--import", report, "--csv", "--page", "raw")


def read(page: str) -> Iterator[tuple[str, Signature]]:
    """Names and signatures of a page's kernels in the order of their launches."""
    names, units, *rows = csv.reader(
        line for line in page.splitlines() if not line.startswith("==")
    )
    for row in rows:
        metrics = dict(zip(names, zip(row, units, strict=True), strict=True))
        yield metrics["Kernel Name"][0], signature(metrics)


def signature(metrics: Mapping[str, tuple[str, str]]) -> Signature:
    """One kernel's signature; `metrics` maps counters to pairs of value and unit, as text."""
    stalls = {
        found[1]: _number(metrics[name][0]) or 0.0
        for name in metrics
        if (found := _STALL.fullmatch(name)) and found[1] not in _NO_STALLS
    }
    longest = max(stalls, key=lambda reason: stalls[reason], default=None)
    requested = _read(metrics, "memory_l2_theoretical_sectors_global")
    wasted = _read(metrics, "derived__memory_l2_theoretical_sectors_global_excessive")
    shared = _read(metrics, "launch__shared_mem_per_block")
    peak = "avg.pct_of_peak_sustained"
    return Signature(
        duration_us=_rounded(_read(metrics, "gpu__time_duration.sum")),
        dram_share=_share(metrics, f"gpu__dram_throughput.{peak}_elapsed"),
        l1_share=_share(metrics, f"l1tex__throughput.{peak}_active"),
        sm_share=_share(metrics, f"sm__throughput.{peak}_elapsed"),
        tensor_share=_share(metrics, f"sm__pipe_tensor_cycles_active.{peak}_elapsed"),
        occupancy=_share(metrics, f"sm__warps_active.{peak}_active"),
        # The copy engine requests sectors without any thread doing so.
        wasted_sectors=None
        if wasted is None
        else _rounded(wasted / requested)
        if requested
        else 0.0,
        shared_bytes=None if shared is None else round(shared),
        stall=longest,
        stall_share=_rounded(stalls[longest] / sum(stalls.values())) if longest else None,
    )


def table(found: Sequence[tuple[str, Signature]]) -> str:
    """One line a kernel: time, shares of peak and longest stall."""
    lines = [f"{'us':>9}  dram   SM  tensor  warps  shared  {'longest stall':24} kernel"]
    for name, one in found:
        shares = (one.dram_share, one.sm_share, one.tensor_share, one.occupancy)
        dram, sm, tensor, warps = ("-" if share is None else f"{share:.0%}" for share in shares)
        time = "-" if one.duration_us is None else f"{one.duration_us:.1f}"
        held = "-" if one.shared_bytes is None else f"{one.shared_bytes / 1024:.0f}K"
        why = "-" if one.stall_share is None else f"{one.stall} {one.stall_share:.0%}"
        lines.append(
            f"{time:>9} {dram:>5} {sm:>4} {tensor:>7} {warps:>6} {held:>7}  {why:24} {name[:48]}"
        )
    return "\n".join(lines)


def _read(metrics: Mapping[str, tuple[str, str]], name: str) -> float | None:
    text, unit = metrics.get(name, ("", ""))
    value = _number(text)
    return None if value is None else value * _SCALES.get(unit, 1.0)


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _share(metrics: Mapping[str, tuple[str, str]], name: str) -> float | None:
    percent = _read(metrics, name)
    return None if percent is None else _rounded(percent / 100)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
