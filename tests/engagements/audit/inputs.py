"""Cases put together by hand: small traces, exports and logs, each read by its own reader."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import Any, TypeVar

from engagements.audit.rules import AuditInputs, Interval, Needs, Source, Sourced, Work
from engagements.evidence.readers import ComputeFacts, TraceFacts, TrafficFacts, read
from engagements.evidence.readers.facts import MeasuredKernel
from engagements.evidence.readers.questions import (
    GpuBill,
    Maintainer,
    Maintainers,
    NextModel,
    Roadmap,
)
from tests.engagements.evidence.traces import CAPTURES, facts_of, host, kernel, trace

T = TypeVar("T")

TODAY = dt.date(2026, 3, 2)
PITCH = Source(kind="stated", name="The pitch")
FILE = Source(kind="file", name="steps.json", digest="sha256:" + "ab" * 32)
ANSWER = Source(kind="answer", name="As answered")


def stated(value: T) -> Sourced[T]:
    return Sourced(value=value, source=PITCH)


def seen(value: T) -> Sourced[T]:
    return Sourced(value=value, source=FILE)


def answered(value: T) -> Sourced[T]:
    return Sourced(value=value, source=ANSWER)


def inputs(**known: Any) -> AuditInputs:
    """A case of which only `known` is known."""
    return AuditInputs(**{"today": TODAY} | known)


def step(*kernels: tuple[str, float, float], wall_us: float = 1000.0) -> TraceFacts:
    """A step of `wall_us` on the host with kernels (name, start, length), in microseconds."""
    events = [kernel(name, start, length) for name, start, length in kernels]
    return facts_of(trace(host("step", 0.0, wall_us), *events))


def attention_step(share: float) -> TraceFacts:
    """A millisecond that is `share` attention and, for the rest, a matrix product."""
    length = 1000.0 * share
    return step(("flash_fwd_kernel", 0.0, length), ("sm90_gemm", length, 1000.0 - length))


def traffic(*calls: tuple[int, int, float], times: int = 1) -> TrafficFacts:
    """A log of calls (batch, seq_len, duration in us), the whole of it `times` over."""
    rows = [f"{batch},{length},{duration}" for batch, length, duration in calls] * times
    content = "\n".join(["batch,seq_len,duration_us", *rows])
    facts = read(io.BytesIO(content.encode()), "traffic.csv")
    assert isinstance(facts, TrafficFacts)
    return facts


def measured(name: str = "flash_fwd_kernel", **shares: Any) -> ComputeFacts:
    """One launch under Nsight Compute."""
    usual: dict[str, Any] = {
        "id": "0",
        "name": name,
        "duration_us": 100.0,
        "dram_share": None,
        "memory_share": None,
        "sm_share": None,
        "tensor_share": None,
        "excess_share": None,
        "occupancy": None,
        "theoretical_occupancy": None,
        "dram_bytes": None,
        "waves": None,
        "registers": None,
        "grid": "",
        "block": "",
        "device": "0",
        "compute_capability": "9.0",
        "passes": 1,
        "bound": None,
        "signature": None,
    }
    launch = MeasuredKernel(**usual | shares)
    return ComputeFacts(page="raw", kernels=(launch,), kernels_left_out=0, warnings=())


def captured_compute(name: str) -> ComputeFacts:
    facts = read(CAPTURES / name, name)
    assert isinstance(facts, ComputeFacts)
    return facts


def work(weeks: float = 6.0, fee: int | None = 60_000) -> Sourced[Work]:
    """Six weeks for 60,000 euros."""
    amount = None if fee is None else Decimal(fee)
    return stated(Work(weeks=weeks, fee=amount, currency=None if fee is None else "EUR"))


def bill(amount: int) -> Sourced[GpuBill]:
    return answered(GpuBill(amount_a_month=Decimal(amount), currency="EUR"))


def roadmap(*models: tuple[str, float, dict[str, int]]) -> Sourced[Roadmap]:
    """Models as (name, weeks from today, axes that change)."""
    coming = [
        NextModel(name=name, expected_on=TODAY + dt.timedelta(weeks=weeks), axes=axes)
        for name, weeks, axes in models
    ]
    return answered(Roadmap(models=tuple(coming)))


def team(hours_a_month: float) -> Sourced[Maintainers]:
    people = (Maintainer(name="Kernel team", hours_a_month=hours_a_month),)
    return answered(Maintainers(people=people if hours_a_month else ()))


def ratio(low: float, high: float | None = None) -> Interval:
    return Interval(low=low, high=low if high is None else high)


LLAMA_32K = Needs(
    definition="shared_prefix_attention",
    dtype="bfloat16",
    architecture="sm90",
    features=("paging", "prefix_sharing"),
    axes={
        "batch": 32,
        "prefix_len": 32768,
        "own_len": 256,
        "heads": 32,
        "kv_heads": 8,
        "head_dim": 128,
    },
)
