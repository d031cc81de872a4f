"""Withhold a verdict that the machine's noise could explain.

The interval is as wide as the differences between replicates seem to be. On a busy machine a few
short rounds can agree by chance although all of them were slowed. Two signs show that, and a
candidate can cause neither:

- the quietest pairs of rounds, in which both sides were nearest to their fastest, are on the other
  side of the target. A pair's rounds are adjacent, so a slow minute lengthens both. A candidate
  that misses the target in every round cannot reach it in these;
- the A/A pair differs from itself, or so much between processes that it is not informative.

A single replicate is also judged by the baseline alone, as all were before the second rules: its
usual rounds are much slower than its fastest.

Three more signs a candidate could cause, so they can only cost it a `met`: rounds excluded as
interrupted on its side alone, and a baseline slower, or lower clocked, beside the candidate than
beside itself.

A ratio whose distance from the target is within such noise is inconclusive. Noise below
`noise_band`, sealed with the protocol, is left to the interval; a quiet machine is far below it.
Benchmarks from before the band are judged without.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.verdict import clocks
from benchmarks.verdict.controls import account, same_code
from benchmarks.verdict.statistics import estimates, rules
from benchmarks.verdict.statistics.estimates import Floats, Samples
from benchmarks.verdict.statistics.exclusions import CountedRounds

# A single round among many may be fast by chance.
_QUICKEST = 0.1
# Chance may interrupt the candidate in this many, or this share of, more rounds than the baseline;
# the baseline's rounds are longer and are hit more often.
_CHANCE_ROUNDS, _CHANCE_SHARE = 1, 0.1
# What the referee measures of chaining may differ by this share from what a side takes for it.
_CHAINING_KNOWN_TO = 0.1
# A GPU's clocks change in steps of 15 MHz, 0.8% of an H200's.
_CLOCK_STEPS = 0.016


def of_rounds(samples: Samples, weights: Mapping[str, float]) -> float:
    """How much slower the baseline's rounds were than their fastest tenth, as a share."""
    usual = quickest = 0.0
    for name, weight in weights.items():
        times = np.sort(np.concatenate([baseline for baseline, _ in samples[name]]))
        usual += weight * float(times.mean())
        quickest += weight * _quickest([times])
    return usual / quickest - 1


def quiet_ratio(samples: Samples, weights: Mapping[str, float]) -> float:
    """The ratio of the quietest tenth of the pairs, over all replicates."""
    totals = np.zeros(2)
    for name, weight in weights.items():
        sides = [np.concatenate(side) for side in zip(*samples[name], strict=True)]
        slowness: Floats = sides[0] / sides[0].min() + sides[1] / sides[1].min()
        quietest = np.argsort(slowness, kind="stable")[: _tenth(len(slowness))]
        totals += weight * np.array([side[quietest].mean() for side in sides])
    return float(totals[0] / totals[1])


def _tenth(rounds: int) -> int:
    return -(-rounds // round(1 / _QUICKEST))


def noisy_rounds(
    record: Mapping[str, Any], samples: Samples, weights: Mapping[str, float], ratio: float
) -> str | None:
    """Why noisy rounds allow no verdict on `ratio`; None where they do."""
    if rules.of(record) > 1:
        found = _noisy_pairs(record, quiet_ratio(samples, weights), ratio)
        if found is not None or min(map(len, samples.values())) > 1:
            return found
    share = of_rounds(samples, weights)
    if not _hides(record, share, ratio):
        return None
    return (
        f"the baseline's rounds took {share:.0%} longer than its quickest, and the target of "
        f"{record['benchmark']['target']:g}x is no further away: the machine was too noisy"
    )


def _noisy_pairs(record: Mapping[str, Any], quiet: float, ratio: float) -> str | None:
    target, band = record["benchmark"]["target"], _band(record)
    apart = max(quiet / ratio, ratio / quiet) - 1
    if band is None or apart <= band or (quiet >= target) == (ratio >= target):
        return None
    return (
        f"the quietest pairs of rounds are {quiet:.3f}x, on the other side of the target of "
        f"{target:g}x: the machine was too noisy"
    )


def noisy_same_code(record: Mapping[str, Any], ratio: float) -> str | None:
    """Why the A/A pair allows no verdict on `ratio`; None where it does, or without a pair."""
    pair = record["observations"]["same_code"]
    if pair is None:
        return None
    wider = same_code.uninformative(record)
    if wider is not None:
        return f"the baseline's A/A interval is not informative: it is {wider}"
    apart, _ = same_code.within(record, pair)
    share = max(apart, 1 / apart) - 1 if apart > 0 else math.inf
    if not _hides(record, share, ratio):
        return None
    return (
        f"the baseline against itself came out as {apart:.3f}x, and the target of "
        f"{record['benchmark']['target']:g}x is no further away: the machine was too noisy"
    )


def one_sided_exclusions(
    record: Mapping[str, Any], found: CountedRounds, weights: Mapping[str, float], ratio: float
) -> str | None:
    """Why excluded rounds allow no `met` at this ratio; None where they do, or below the target.

    A candidate that reaches the target only because slow rounds of its side alone were excluded may
    do the work of many rounds in one of them.
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


def slowed_baseline(record: Mapping[str, Any], samples: Samples, ratio: float) -> str | None:
    """Why the baseline's pace allows no `met` at this ratio; None where it does.

    The A/A pair runs after the candidate has ended. A baseline that was slower beside the candidate
    was slowed by the candidate's memory use or leftover work, as by thousands of the kernel's
    timers that expire in its rounds. A processor's speed drifts from minute to minute, so there the
    quickest tenth of its rounds are compared; who slows fewer leaves quiet pairs (`_noisy_pairs`).
    """
    pair, band = record["observations"]["same_code"], _band(record)
    target = record["benchmark"]["target"]
    if pair is None or band is None or ratio < target:
        return None
    on_gpu = record["environment"]["device"]["kind"] == "cuda"
    pace = _mean if on_gpu else _quickest
    beside = [baseline for baseline, _ in samples[pair["name"]]]
    slower = pace(beside) / pace(same_code.counting(record, pair)) - 1
    if slower <= band or ratio / (1 + slower) >= target:
        return None
    return (
        f"the baseline took {slower:.0%} longer beside the candidate than beside itself on "
        f"{pair['name']}: at its own pace it is {ratio / (1 + slower):.3f}x, below the target of "
        f"{target:g}x"
    )


def _mean(processes: Sequence[Floats]) -> float:
    return float(np.mean([rounds.mean() for rounds in processes]))


def _quickest(processes: Sequence[Floats]) -> float:
    rounds = np.sort(np.concatenate(processes))
    return float(rounds[: _tenth(len(rounds))].mean())


def slowed_clocks(record: Mapping[str, Any], ratio: float) -> str | None:
    """Why the GPU's clocks allow no `met` at this ratio; None where they do.

    A lower clock in the baseline's rounds lengthens them by its share at most.
    """
    paces, target = clocks.of_baseline(record), record["benchmark"]["target"]
    if rules.of(record) < 3 or paces is None or ratio < target:
        return None
    slower = paces.slower
    if slower <= _CLOCK_STEPS or ratio / (1 + slower) >= target:
        return None
    return (
        f"the GPU's clocks in the baseline's rounds were {slower:.1%} lower beside the candidate "
        f"({paces.beside_candidate}) than beside itself ({paces.beside_itself}): at its own it is "
        f"{ratio / (1 + slower):.3f}x, below the target of {target:g}x"
    )


def chaining_taken_off(record: Mapping[str, Any], samples: Samples, low: float) -> str | None:
    """Why the time of chaining allows no `met` at this lower bound; None where it does.

    Where the step is as short as the signing of its inputs, an error of the time that was taken off
    both sides moves their ratio; so does a candidate that signs faster than the referee, or in its
    own kernel. The account shows the latter. Where it was not kept, nothing is taken off.
    """
    target = record["benchmark"]["target"]
    weights = {each["name"]: each["weight"] for each in record["benchmark"]["workloads"]}
    accounted = "account_margin" in record["benchmark"]["protocol"] and account.judge(record).passed
    share = _CHAINING_KNOWN_TO if accounted else 1.0
    chain_us = {
        workload["name"]: workload.get("chain_us", 0.0)
        for replicate in record["replicates"]
        for workload in replicate["workloads"]
    }
    totals, left_us = np.zeros(2), 0.0
    for name, weight in weights.items():
        means = [[side.mean() for side in replicate] for replicate in samples[name]]
        totals += weight * np.mean(means, axis=0)
        left_us += weight * share * chain_us[name]
    lower = low * float((totals[0] + left_us) / (totals[1] + left_us) * totals[1] / totals[0])
    if low < target or lower >= target:
        return None
    why = f"is known to {share:.0%}" if accounted else "is not checked by an account"
    return (
        f"the time of chaining, taken off both sides, {why}: with {share:.0%} of it left in, the "
        f"lower bound is {lower:.3f}x, below the target of {target:g}x"
    )


def caveats(record: Mapping[str, Any], replicates: int) -> list[str]:
    """Uncertainty that the interval of a single replicate does not contain."""
    if replicates > 1 or _band(record) is None:
        return []
    return ["one pair of processes was measured: how much pairs differ is not in the interval"]


def _band(record: Mapping[str, Any]) -> float | None:
    band: float | None = record["benchmark"]["protocol"].get("noise_band")
    return band


def _hides(record: Mapping[str, Any], share: float, ratio: float) -> bool:
    """Whether noise of this share exceeds the band and the distance of `ratio` to the target."""
    benchmark, band = record["benchmark"], _band(record)
    if band is None or share <= band:
        return False
    away = max(ratio / benchmark["target"], benchmark["target"] / ratio)
    return bool(away <= 1 + share)
