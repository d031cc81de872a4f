"""The picture that goes with a finding, whichever check it is of, with its words."""

from __future__ import annotations

from dataclasses import dataclass

from engagements.audit import charts as audit_charts
from engagements.audit.rules import Finding, Thresholds
from engagements.audit.rules.figures import (
    CeilingFigures,
    HotFigures,
    LifeFigures,
    ShapeFigures,
    UpkeepFigures,
)
from engagements.charts.palette import Theme
from engagements.evidence import charts as evidence_charts


@dataclass(frozen=True)
class Told:
    """What stands beside a picture: its title, its caption, and the same in words alone."""

    title: str
    caption: str
    words: str


def told(finding: Finding) -> Told | None:
    """The words of a finding's picture; None where it has none."""
    match finding.figures:
        case HotFigures(parts=parts) as figures if parts:
            return Told(
                "Where the wall-clock time goes",
                "Shares of the wall-clock time, idle time counted; kernels that overlap are each "
                "counted in full.",
                audit_charts.texts.wall_parts(figures),
            )
        case ShapeFigures(curve_of_calls=calls, curve_of_time=time) if calls.shapes:
            return Told(
                "What the most frequent shapes cover",
                "Cumulative, the most frequent shape first.",
                evidence_charts.texts.shape_curves(calls, time),
            )
        case LifeFigures() as figures:
            return Told(
                "Weeks of life against weeks of work",
                "From today; the payback is drawn from its soonest to its latest.",
                audit_charts.texts.life(figures),
            )
        case UpkeepFigures(tasks=tasks) as figures if tasks:
            return Told(
                "Hours a month, wanted and there",
                "What keeping the kernel alive takes, against the hours that people have for it.",
                audit_charts.texts.upkeep(figures),
            )
        case CeilingFigures(curve=curve) as figures if len(curve) > 1:
            return Told(
                "The ceiling",
                "What a faster kernel makes of the whole, up to an infinitely fast one.",
                audit_charts.texts.ceiling(figures),
            )
    return None


def draw(finding: Finding, thresholds: Thresholds, *, theme: Theme) -> str:
    """The picture as SVG; "" where the finding has none."""
    match finding.figures:
        case HotFigures() as figures:
            return audit_charts.wall_parts(figures, least_share=thresholds.least_share, theme=theme)
        case ShapeFigures(curve_of_calls=calls, curve_of_time=time):
            wanted = (thresholds.counted_shapes, thresholds.covered_share)
            return evidence_charts.shape_curves(calls, time, wanted=wanted, theme=theme)
        case LifeFigures() as figures:
            return audit_charts.life(figures, theme=theme)
        case UpkeepFigures() as figures:
            return audit_charts.upkeep(figures, theme=theme)
        case CeilingFigures() as figures:
            return audit_charts.ceiling(figures, theme=theme)
    return ""
