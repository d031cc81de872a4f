"""Benchmark document for a contract: the shapes of the traffic and the closest baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from engagements.audit.rules.finding import Finding
from engagements.audit.rules.inputs import AuditInputs, Needs, names
from engagements.audit.rules.off_the_shelf import CoverageFigures
from engagements.common.errors import ApplicationError
from engagements.evidence.readers.facts import TrafficFacts
from kernels import catalogue
from kernels.definition import Preset
from kernels.tolerances import arithmetic

# Every replicate measures every workload.
MOST_WORKLOADS = 4


def document(inputs: AuditInputs, off_the_shelf: Finding, *, reference: str) -> dict[str, Any]:
    """Build the benchmark document. ApplicationError when an input is missing.

    Axes that neither the traffic nor the needs define have the values of the catalogue's preset.
    """
    needs = inputs.needs.value if inputs.needs else None
    if needs is None or needs.definition not in catalogue.operators():
        raise ApplicationError(
            "Choose an operator of the catalogue on the workbench.", code="audit.operator_missing"
        )
    name = _preset(inputs, needs)
    preset = catalogue.presets(needs.definition)[name]
    baseline = baseline_of(needs, off_the_shelf)
    found = catalogue.benchmark_document(needs.definition, name, baseline=baseline)
    workloads = _workloads(inputs, needs, preset)
    if workloads:
        found["workloads"] = workloads
    dtype = needs.dtype or preset.dtype
    tolerances = found["definition"]["tolerances"]
    if dtype not in tolerances:
        known = ", ".join(tolerances)
        raise ApplicationError(
            f"{needs.definition} has no benchmark in {dtype}. Choose one of: {known}.",
            code="audit.dtype_unsupported",
        )
    found["dtype"], found["tolerance"] = dtype, tolerances[dtype]
    found["operator_tolerance"] = {**tolerances, **found["definition"]["operator_tolerances"]}[
        dtype
    ]
    found["arithmetic"] = arithmetic(dtype)
    found["name"] = f"{needs.definition} as in {reference}"
    found["target"] = inputs.thresholds.target
    return found


def baseline_of(needs: Needs, off_the_shelf: Finding) -> str | None:
    """Return the catalogue's baseline for the closest library that has one, or None."""
    figures = off_the_shelf.figures
    candidates = figures.candidates if isinstance(figures, CoverageFigures) else ()
    for candidate in candidates:
        for baseline in catalogue.baselines(needs.definition).values():
            if names(f"{baseline.package} {baseline.title}", candidate.name):
                return baseline.name
    return None


def _preset(inputs: AuditInputs, needs: Needs) -> str:
    """Choose the preset for the profiled GPU, else for any GPU, else the first."""
    known = catalogue.presets(needs.definition)
    devices = [device.name or "" for device in inputs.trace.value.devices] if inputs.trace else []
    devices.append(needs.device or "")

    def nearness(preset: Preset) -> tuple[bool, bool, bool]:
        on_it = preset.hardware is not None and any(preset.hardware in name for name in devices)
        return on_it, preset.device == "cuda" and preset.hardware is None, preset.device == "cuda"

    return max(known, key=lambda name: nearness(known[name]))


def _workloads(inputs: AuditInputs, needs: Needs, preset: Preset) -> list[dict[str, Any]]:
    """Return the most frequent shapes with their weights, or the shape of the needs."""
    usual = {**preset.workloads[0].axes, **needs.axes}
    axes = set(catalogue.definition(needs.definition).axes)
    weights: dict[tuple[tuple[str, int], ...], float] = {}
    if inputs.traffic is not None:
        weights = _weights(inputs.traffic.value, axes)
    if not weights and needs.axes:
        weights = {tuple(sorted(needs.axes.items())): 1.0}
    most = sorted(weights.items(), key=lambda item: -item[1])[:MOST_WORKLOADS]
    total = math.fsum(weight for _, weight in most)
    return [
        {
            "name": "x".join(str(size) for _, size in shape),
            "axes": usual | dict(shape),
            "weight": weight / total,
        }
        for shape, weight in most
    ]


def _weights(traffic: TrafficFacts, axes: set[str]) -> dict[tuple[tuple[str, int], ...], float]:
    """Sum shares of calls by the Definition's axes; empty when the log has none of them."""
    weights: dict[tuple[tuple[str, int], ...], float] = {}
    for shape in traffic.shapes:
        sizes = _sizes(shape.axes, axes)
        if sizes:
            weights[sizes] = weights.get(sizes, 0.0) + shape.share_of_calls
    return weights


def _sizes(shape: Mapping[str, str], axes: set[str]) -> tuple[tuple[str, int], ...]:
    return tuple(
        (axis, int(size))
        for axis, size in sorted(shape.items())
        if axis in axes and size.isdigit() and int(size) > 0
    )
