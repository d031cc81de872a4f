"""How noisy the machine was, told by the baseline alone, and whether a verdict stands clear of it.

The interval rests on how replicates differ, and is as wide as their differences seem to be. On a
busy machine few short rounds can differ little by chance while the baseline was slowed in all of
them. Two things show that, and neither can be brought about by a candidate:

- whatever disturbs a round lengthens it, so the baseline's usual rounds lie far above its
  quickest ones;
- in the A/A pair, code that is the same comes out as different.

Two more are the candidate's to bring about, and so can only cost it a `met`: rounds that are slow
on its side alone, and left out as interrupted; and a baseline that is slower beside it than beside
itself.

What is no farther from the target than such noise is inconclusive. Up to `noise_band`, which is
sealed with the protocol, noise is the interval's business: a quiet machine's is far below it. A
benchmark sealed before there was a band is judged without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.harness.controls import same_code
from benchmarks.harness.statistics import estimates
from benchmarks.harness.statistics.estimates import Samples
from benchmarks.harness.statistics.exclusions import Counted

# One round may be quick by chance where there are many.
_QUICKEST = 0.1
# By so many more rounds, or by this share of all, may chance interrupt the candidate than the
# baseline, whose rounds last longer and are met by it the more often.
_CHANCE_ROUNDS, _CHANCE_SHARE = 1, 0.1


def of_rounds(samples: Samples, weights: Mapping[str, float]) -> float:
    """How much longer the baseline's rounds took than the quickest tenth of them, as a share."""
    usual = quickest = 0.0
    for name, weight in weights.items():
        times = np.sort(np.concatenate([baseline for baseline, _ in samples[name]]))
        usual += weight * float(times.mean())
        quickest += weight * float(times[: -(-len(times) // round(1 / _QUICKEST))].mean())
    return usual / quickest - 1


def doubt_of_rounds(
    record: Mapping[str, Any], samples: Samples, weights: Mapping[str, float], ratio: float
) -> str | None:
    """Why these samples allow no verdict on `ratio`; None where they do."""
    share = of_rounds(samples, weights)
    if not _hides(record, share, ratio):
        return None
    return (
        f"the baseline's rounds took {share:.0%} longer than its quickest, and the target of "
        f"{record['benchmark']['target']:g}x is no farther away: the machine was too noisy"
    )


def doubt_of_same_code(record: Mapping[str, Any], ratio: float) -> str | None:
    """Why the A/A pair allows no verdict on `ratio`; None where it does, or there is none."""
    pair = record["observations"]["same_code"]
    if pair is None:
        return None
    apart, _ = same_code.within(record, pair)
    share = max(apart, 1 / apart) - 1 if apart > 0 else math.inf
    if not _hides(record, share, ratio):
        return None
    return (
        f"the baseline against itself came out as {apart:.3f}x, and the target of "
        f"{record['benchmark']['target']:g}x is no farther away: the machine was too noisy"
    )


def doubt_of_left_out(
    record: Mapping[str, Any], found: Counted, weights: Mapping[str, float], ratio: float
) -> str | None:
    """Why a ratio at or above the target is no verdict; None where it is, or is below.

    A round far longer than usual is taken for interrupted and left out. Where that befalls the
    candidate alone and the target is reached by it alone, it may be the candidate's own way: its
    work of many rounds, done in one.
    """
    target, alone = record["benchmark"]["target"], found.slow_alone
    more = alone["candidate"] - alone["baseline"]
    by_chance = more <= max(_CHANCE_ROUNDS, _CHANCE_SHARE * found.rounds)
    if _band(record) is None or ratio < target or by_chance:
        return None
    confidence = record["benchmark"]["confidence"]
    whole = estimates.estimate(found.with_interrupted, weights, confidence=confidence).overall
    if whole.ratio >= target:
        return None
    return (
        f"the candidate alone was slow in {alone['candidate']} of {found.rounds} rounds, the "
        f"baseline in {alone['baseline']}: with the rounds left out it is {whole.ratio:.3f}x, "
        f"below the target of {target:g}x"
    )


def doubt_of_slowed_baseline(
    record: Mapping[str, Any], samples: Samples, ratio: float
) -> str | None:
    """Why a ratio at or above the target is no verdict; None where it is, or is below.

    The A/A pair is measured when the candidate is gone. A baseline that took longer beside the
    candidate was slowed: by memory that this took, or by what it left the machine to do. A
    processor's pace changes by itself from minute to minute, and says nothing here.
    """
    pair, band = record["observations"]["same_code"], _band(record)
    target = record["benchmark"]["target"]
    on_gpu = record["environment"]["device"]["kind"] == "cuda"
    if pair is None or band is None or ratio < target or not on_gpu:
        return None
    by_itself = float(np.mean([side.mean() for side in same_code.counting(record, pair)]))
    beside = float(np.mean([baseline.mean() for baseline, _ in samples[pair["name"]]]))
    slower = beside / by_itself - 1
    if slower <= band or ratio / (1 + slower) >= target:
        return None
    return (
        f"the baseline took {slower:.0%} longer beside the candidate than beside itself on "
        f"{pair['name']}: at its own pace it is {ratio / (1 + slower):.3f}x, below the target of "
        f"{target:g}x"
    )


def caveats(record: Mapping[str, Any], replicates: int) -> list[str]:
    """What the interval of so few replicates does not hold; no noise of the run shows it."""
    if replicates > 1 or _band(record) is None:
        return []
    return ["one pair of processes was measured: how much pairs differ is not in the interval"]


def _band(record: Mapping[str, Any]) -> float | None:
    band: float | None = record["benchmark"]["protocol"].get("noise_band")
    return band


def _hides(record: Mapping[str, Any], share: float, ratio: float) -> bool:
    """Whether noise of this share is above the band and may hide on which side `ratio` lies."""
    benchmark, band = record["benchmark"], _band(record)
    if band is None or share <= band:
        return False
    away = max(ratio / benchmark["target"], benchmark["target"] / ratio)
    return bool(away <= 1 + share)
