"""Alternatives to a kernel, each with its gain as estimated from the evidence.

A gain is an end-to-end ratio from least to most; most gains are upper bounds. Where the evidence
is missing, the alternative names what to collect.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from engagements.audit.rules import (
    ceiling,
    collecting,
    gain,
    off_the_shelf,
    roofline,
    selection,
    waiting,
)
from engagements.audit.rules.advice import Alternative
from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Missing
from engagements.audit.rules.inputs import AuditInputs
from engagements.audit.rules.off_the_shelf import Candidate
from engagements.audit.rules.phrases import listed, percent
from engagements.evidence.readers.facts import TraceFacts, TrafficFacts

CANNOT = "There is not enough evidence for an estimate."
# Published speedups of FP16 to FP8 or INT8 with off-the-shelf tools.
QUANTISED = Interval(low=1.4, high=1.8)
EIGHT_BITS = ("float8", "int8", "float4", "int4")
BATCH_AXIS = re.compile(r"batch|(^|_)bs($|_)|seqs|sequences|requests", re.IGNORECASE)
PRODUCTS = ("matrix product", "mixture of experts")
# Families that torch.compile fuses.
FUSABLE = (
    "elementwise",
    "normalisation",
    "copy kernel",
    "rotary embedding",
    "softmax",
    "reduction",
)
NOTICEABLE = 0.01
GRAPHED = 0.5


def alternatives(inputs: AuditInputs) -> tuple[Alternative, ...]:
    """Return every alternative, the most promising first; those without an estimate last."""
    found: list[Callable[[AuditInputs], Alternative]] = [
        batching,
        scheduling,
        quantisation,
        topology,
        compiling,
    ]
    every = [look(inputs) for look in found]
    if fits := off_the_shelf.fitting(inputs):
        every.append(library(inputs, fits))
    return tuple(sorted(every, key=lambda each: -(each.gain.high if each.gain else 0.0)))


def library(inputs: AuditInputs, fits: tuple[Candidate, ...]) -> Alternative:
    """Libraries that fit: one may reach as much as any kernel."""
    named = [off_the_shelf.named(fit) for fit in fits]
    name, title = "library", f"Use {named[0] if len(named) == 1 else 'a library that fits'}"
    share, room = selection.share(inputs), roofline.headroom(inputs)
    within = gain.reachable(room, inputs.thresholds)
    if share is None or within is None:
        missing = Missing(what=f"{listed(named, 'or')}, tried on the operator's shapes.")
        return _unknown(name, title, missing)
    basis = (
        f"{listed(named, 'or')} fits. At {percent(inputs.thresholds.tuned_share)} of the roofline, "
        "like a tuned kernel, it would gain at most this. Measure it in a trial."
    )
    most = ceiling.ratio(share.value.high, within.high)
    return Alternative(name=name, title=title, gain=Interval(low=1.0, high=most), basis=basis)


def batching(inputs: AuditInputs) -> Alternative:
    """Estimate from the traffic's time by batch, else from the time in which the GPU waits."""
    name, title = "batching", "Better batching"
    log = inputs.traffic.value if inputs.traffic else None
    filled = _filled(log) if log and log.calls >= inputs.thresholds.least_calls else None
    if filled is not None:
        basis = (
            "If every call had the batch with the lowest time per sequence in the log, at the same "
            "other sizes."
        )
        return Alternative(name=name, title=title, gain=Interval(low=1.0, high=filled), basis=basis)
    trace = _trace(inputs)
    idle = trace.gpu_idle_share if trace else None
    if idle is not None:
        basis = f"The GPU waits {percent(idle)} of the time; larger batches recover at most that."
        return Alternative(name=name, title=title, gain=_without(idle), basis=basis)
    return _unknown(name, title, collecting.TRAFFIC)


def scheduling(inputs: AuditInputs) -> Alternative:
    """Estimate from the imbalance of several GPUs, else from GPU waits for the host.

    A profile contains nothing about the routing of requests.
    """
    name, title = "scheduling", "Better scheduling"
    trace = _trace(inputs)
    busy = [device.busy_share for device in trace.devices] if trace else []
    if len(busy) > 1 and max(busy) > 0:
        even = sum(busy) / len(busy)
        basis = (
            f"The busiest of {len(busy)} GPUs is busy {percent(max(busy))} of the time, the "
            f"average is {percent(even)}: balancing them gains at most the difference."
        )
        gain = Interval(low=1.0, high=max(busy) / even)
        return Alternative(name=name, title=title, gain=gain, basis=basis)
    waited = waiting.share_of(trace, waiting.LOADING) if trace else 0.0
    if waited >= NOTICEABLE:
        basis = (
            f"{percent(waited)} of the time the GPU waits for the host's own work; loading data "
            "and preparing requests in parallel recovers at most that."
        )
        return Alternative(name=name, title=title, gain=_without(waited), basis=basis)
    missing = Missing(what="A log of requests: arrival, prefix digest, prompt and answer lengths.")
    return _unknown(name, title, missing)


def quantisation(inputs: AuditInputs) -> Alternative:
    """Estimate from the dtype and the share of matrix products, at 1.4 to 1.8× for these."""
    name, title = "quantisation", "Quantisation to 8 bits"
    trace, dtype = _trace(inputs), _dtype(inputs)
    if dtype in EIGHT_BITS:
        basis = f"The operator already computes in {dtype}."
        return Alternative(name=name, title=title, gain=Interval(low=1.0, high=1.0), basis=basis)
    if trace is None or dtype is None:
        missing = collecting.TRACE if trace is None else Missing(what="The dtype of the operator.")
        return _unknown(name, title, missing)
    products = _share(trace, *PRODUCTS)
    attention = _share(trace, "attention")
    gain = Interval(
        low=ceiling.ratio(products, QUANTISED.low),
        high=ceiling.ratio(min(1.0, products + attention), QUANTISED.high),
    )
    basis = (
        f"{dtype} to FP8 or INT8 makes quantised operators 1.4 to 1.8× as fast: matrix products "
        f"take {percent(products)} of the time, attention (with a quantised cache) "
        f"{percent(attention)}."
    )
    return Alternative(name=name, title=title, gain=gain, basis=basis)


def topology(inputs: AuditInputs) -> Alternative:
    """Estimate from the share of the time in collectives."""
    name, title = "topology", "Better topology"
    trace = _trace(inputs)
    share = trace.communication_share if trace else None
    if trace is None or share is None:
        return _unknown(name, title, collecting.TRACE)
    if share < NOTICEABLE:
        where = "one GPU" if len(trace.devices) < 2 else f"{len(trace.devices)} GPUs"
        basis = f"The profile shows {where} and {percent(share)} of the time in communication."
        return Alternative(name=name, title=title, gain=_without(share), basis=basis)
    basis = (
        f"{percent(share)} of the time is communication between GPUs; a faster link saves at most "
        "that."
    )
    return Alternative(name=name, title=title, gain=_without(share), basis=basis)


def compiling(inputs: AuditInputs) -> Alternative:
    """Estimate from the waits for launches and the kernels that torch.compile would fuse.

    Longer waits for the host's own work are excluded: CUDA graphs do not shorten them.
    """
    name, title = "compiling", "torch.compile or CUDA graphs"
    trace = _trace(inputs)
    if trace is None or trace.gaps is None or trace.gaps.launch_bound_share is None:
        return _unknown(name, title, collecting.TRACE)
    bound = waiting.share_of(trace, waiting.LAUNCHES, waiting.HOST)
    graphed = trace.launches.graph_kernel_share or 0.0
    fused = _fusable(trace)
    if graphed >= GRAPHED:
        basis = (
            f"{percent(graphed)} of the kernels already run in CUDA graphs; fusing the small ones "
            f"saves at most their {percent(fused)}."
        )
        return Alternative(name=name, title=title, gain=_without(fused), basis=basis)
    basis = (
        f"{percent(bound)} of the time the GPU waits for launches (gaps up to 1 ms), and "
        f"{percent(fused)} is small kernels that torch.compile fuses: at most both are saved."
    )
    return Alternative(
        name=name, title=title, gain=_without(min(bound + fused, 0.999)), basis=basis
    )


def _unknown(name: str, title: str, missing: Missing) -> Alternative:
    return Alternative(name=name, title=title, gain=None, basis=CANNOT, to_collect=missing)


def _trace(inputs: AuditInputs) -> TraceFacts | None:
    """Return the trace if it has GPU activity."""
    known = inputs.trace.value if inputs.trace else None
    return known if known is not None and known.gpu_busy_share is not None else None


def _without(share: float) -> Interval:
    """Return the gain when up to `share` of the time is saved."""
    return Interval(low=1.0, high=1 / (1 - min(max(share, 0.0), 0.999)))


def _share(trace: TraceFacts, *names: str) -> float:
    return min(1.0, sum(each.share_of_wall for each in trace.families if each.name in names))


def _fusable(trace: TraceFacts) -> float:
    """Return the share of small kernels not generated by torch.compile."""
    ours = sum(
        kernel.share_of_wall for kernel in trace.kernels if kernel.name.startswith("triton_")
    )
    return max(0.0, _share(trace, *FUSABLE) - ours)


def _dtype(inputs: AuditInputs) -> str | None:
    """Return the dtype of the needs, else the one in the longest kernel's name."""
    if inputs.needs is not None and inputs.needs.value.dtype is not None:
        return inputs.needs.value.dtype
    trace = _trace(inputs)
    for kernel in trace.kernels if trace else ():
        for dtype, pattern in _SPOKEN.items():
            if re.search(pattern, kernel.name):
                return dtype
    return None


# cuDNN uses f16 for both 16-bit types.
_SPOKEN = {
    "float8": r"(?i)fp8|e4m3|e5m2",
    "int8": r"(?i)int8|_i8|s8s8|imma",
    "bfloat16": r"(?i)bf16|bfloat16",
    "16-bit float": r"(?i)fp16|_f16|__half|hgemm|h16816",
    "float32": r"(?i)sgemm|fp32|f32f32",
}


def _filled(traffic: TrafficFacts) -> float | None:
    """Return the gain if all calls had the cheapest batch; None when the log allows no comparison.

    That is without a batch axis, without durations, or with one batch per size.
    """
    axis = next((name for name in traffic.axes if BATCH_AXIS.search(name)), None)
    if axis is None:
        return None
    costs: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
    for shape in traffic.shapes:
        size = shape.axes.get(axis, "")
        if shape.share_of_time is None or not size.isdigit() or int(size) == 0:
            return None
        others = tuple(sorted((key, value) for key, value in shape.axes.items() if key != axis))
        costs.setdefault(others, []).append((shape.share_of_time, shape.calls * float(size)))
    if all(len(group) < 2 for group in costs.values()):
        return None
    now = sum(time for group in costs.values() for time, _ in group)
    best = sum(
        sum(items for _, items in group) * min(time / items for time, items in group)
        for group in costs.values()
    )
    return now / best if best > 0 else None
