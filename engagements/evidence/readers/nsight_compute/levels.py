"""The units of the device that a kernel may be bound by, and its bank conflicts."""

from __future__ import annotations

from engagements.evidence.readers.facts import Unit
from engagements.evidence.readers.nsight_compute import metrics
from engagements.evidence.readers.nsight_compute.measures import Measures
from engagements.evidence.readers.nsight_compute.signature import BOUND_SHARE, Marks, bound

SECTOR_BYTES = 32
DRAM = "DRAM"
COMPUTING = ("Tensor cores", "SMs")


def units(launch: Measures, marks: Marks, dram_bytes: float | None) -> tuple[Unit, ...]:
    """Return the units of which something was measured.

    The memory system is one of them where it is busier than DRAM and both caches: another part of
    it, such as its load units, is the busiest then.
    """
    caches = (
        Unit(name=DRAM, peak_share=marks.dram, moved_bytes=dram_bytes),
        Unit(
            name="L2 cache",
            peak_share=launch.share(*metrics.L2),
            hit_rate=_at_most_1(launch.share(*metrics.L2_HITS)),
            moved_bytes=_sectors(launch, (metrics.L2_SECTORS,)),
        ),
        Unit(
            name="L1 and shared memory",
            peak_share=launch.share(*metrics.L1),
            hit_rate=_at_most_1(launch.share(*metrics.L1_HITS)),
            moved_bytes=_sectors(launch, metrics.L1_SECTORS),
        ),
    )
    rest: tuple[Unit, ...] = (
        Unit(name="Tensor cores", peak_share=marks.tensor),
        Unit(name="SMs", peak_share=marks.sm),
    )
    busiest = max(unit.peak_share or 0.0 for unit in caches)
    if marks.memory is not None and marks.memory > busiest:
        rest = (*rest, Unit(name="Memory system", peak_share=marks.memory))
    return tuple(unit for unit in (*caches, *rest) if unit.is_measured)


def limit(units: tuple[Unit, ...], marks: Marks) -> Unit | None:
    """Return the unit that binds by the rule of `signature.bound`, else the nearest to its peak.

    A kernel that DRAM binds may keep a cache busier: its traffic passes through it.
    """
    known = [unit for unit in units if unit.peak_share is not None]
    match bound(marks):
        case "compute":
            known = [unit for unit in known if unit.name in COMPUTING]
        case "memory" if (marks.dram or 0.0) >= BOUND_SHARE:
            known = [unit for unit in known if unit.name == DRAM]
        case "memory":
            known = [unit for unit in known if unit.name not in COMPUTING]
    return max(known, key=lambda unit: unit.peak_share or 0.0, default=None)


def conflict_share(launch: Measures) -> float | None:
    """Return the share of shared memory's wavefronts that bank conflicts repeat, if counted."""
    conflicts, wavefronts = launch.plain(*metrics.CONFLICTS), launch.plain(*metrics.WAVEFRONTS)
    return None if conflicts is None or not wavefronts else min(1.0, conflicts / wavefronts)


def _at_most_1(share: float | None) -> float | None:
    """Cap a hit rate, which ncu prints above 100% where its passes differ."""
    return None if share is None else min(share, 1.0)


def _sectors(launch: Measures, names: tuple[tuple[str, ...], ...]) -> float | None:
    """Return the bytes of these counts of sectors; None without any of them."""
    counted = [value for each in names if (value := launch.plain(*each)) is not None]
    return sum(counted) * SECTOR_BYTES if counted else None
