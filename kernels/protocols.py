"""Protocols of ready-made benchmarks by machine. No torch here.

An operator uses one unchanged, or replaces the values that its sizes require.
"""

from __future__ import annotations

from dataclasses import replace

from kernels.definition import Protocol

# Seconds on a processor: for tests of the application.
TINY = Protocol(
    replicates=1,
    max_replicates=1,
    rounds=6,
    warmup_rounds=1,
    round_ms=20.0,
    max_calls=16,
    checked_calls=2,
    setup_limit_s=60.0,
    round_limit_s=30.0,
    held_back_shapes=2,
)

# Under a minute on two cores that others use as well. One core is left to them: a team of threads
# waits for whichever thread lost its core. Short rounds in pairs share what load there is.
CPU = Protocol(
    replicates=3,
    max_replicates=5,
    rounds=12,
    warmup_rounds=1,
    round_ms=15.0,
    max_calls=16,
    checked_calls=1,
    setup_limit_s=120.0,
    round_limit_s=60.0,
    held_back_shapes=3,
    # Ten came out wider than twofold in one of fourteen runs.
    aa_rounds=20,
    operator_rounds=4,
    # Caches serve the operator otherwise alone than in its step: an honest candidate of 0.8x alone
    # was 1.15x in it.
    account_margin=0.3,
    estimator="adjacent_pairs",
    spare_cores=1,
)

# Any GPU: its clock varies more than a data centre's, so more rounds and looks.
CUDA = Protocol(
    replicates=4,
    max_replicates=8,
    rounds=10,
    warmup_rounds=2,
    round_ms=40.0,
    max_calls=64,
    checked_calls=2,
    setup_limit_s=240.0,
    round_limit_s=60.0,
    held_back_shapes=4,
    warmup_ms=300.0,
    aa_rounds=8,
    operator_rounds=6,
    aa_width=0.2,
)

# About a minute of an H200 for two workloads. Differences between processes decide the interval, so
# there are five pairs of processes with few, short rounds: a fifth pair narrows the interval by a
# fifth, a fourth round by a tenth. Of four rounds one may be interrupted, of three none. Starting
# processes takes a quarter of the time, checking results another quarter if the reference is large.
# Rounds scatter by 0.3%: one 1% longer was interrupted.
H200 = Protocol(
    replicates=5,
    max_replicates=7,
    rounds=4,
    warmup_rounds=2,
    round_ms=25.0,
    max_calls=64,
    checked_calls=1,
    setup_limit_s=240.0,
    round_limit_s=60.0,
    held_back_shapes=3,
    warmup_ms=120.0,
    aa_rounds=3,
    operator_rounds=2,
    interrupted_band=0.01,
    # Its A/A intervals reached 1.2% to 6.3% in eighteen runs.
    aa_width=0.1,
)

# For calls of tens of microseconds: 64 of them are too few beside a round's overhead, so rounds of
# the operator alone are limited by time.
H200_BY_TIME = replace(H200, max_calls=1024, operator_rounds=8)

# For more than three workloads.
H200_MANY = replace(H200, warmup_rounds=1, warmup_ms=60.0)
