"""Ceilings of a run's ratio: by its own breakdown, and by the audit.

Both come from shares of time that were measured apart from the ratio, so a noisy processor's ratio
may exceed them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engagements.audit.models import Finding
from engagements.audit.rules.ceiling import CeilingFigures
from engagements.common.ratios import measured
from engagements.engagement.models import Engagement
from engagements.runs import operator_account

NOISE = (
    "It was computed from shares of time measured apart from the ratio, and a noisy machine moves "
    "both; the interval and the controls decide, not the ceiling."
)


def own_ceiling(record: Mapping[str, Any], workload: str = "") -> float | None:
    """The ratio if the operator took no time, by the record; None if not measured."""
    shares = {each.name: each.step_share for each in operator_account.alone(record)}
    before = after = 0.0
    for load in record["summary"]["workloads"]:
        share, baseline_us = shares.get(load["name"]), load["baseline_us"]
        if workload and load["name"] != workload:
            continue
        if share is None or baseline_us is None or share >= 1:
            return None
        before += load["weight"] * baseline_us
        after += load["weight"] * baseline_us * (1 - share)
    return before / after if after else None


def audit_ceiling(engagement: Engagement) -> float | None:
    """The largest end-to-end ratio by the audit; None where it is not known."""
    found = Finding.objects.filter(audit__engagement=engagement, check_name="worth").first()
    computed = found.computed_finding if found else None
    figures = computed.figures if computed else None
    return figures.ceiling if isinstance(figures, CeilingFigures) else None


def exceeded(engagement: Engagement, record: Mapping[str, Any]) -> str:
    """Say that the ratio of a record is above its ceilings; "" where it is not."""
    ratio = record["summary"]["ratio"]
    if ratio is None:
        return ""
    own, audit = own_ceiling(record), audit_ceiling(engagement)
    above = [
        f"{measured(ceiling)}, {words}"
        for ceiling, words in (
            (own, "the ratio of a step whose operator takes no time"),
            (audit, "the ceiling of the audit"),
        )
        if ceiling is not None and ratio > ceiling
    ]
    if not above:
        return ""
    return f"The measured {measured(ratio)} is above {', and above '.join(above)}. {NOISE}"
