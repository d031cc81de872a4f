"""How long the kernel stays of use: until a model comes whose axes it does not take."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from engagements.audit.rules.case import Case, Needs
from engagements.audit.rules.figures import ModelChange
from engagements.audit.rules.finding import Source
from engagements.audit.rules.phrases import weeks
from engagements.evidence.readers.questions import NextModel
from kernels import catalogue


@dataclass(frozen=True, kw_only=True)
class Life:
    """Weeks from today until the kernel is of no more use.

    `is_open_ended` when nothing planned ends it: then it is as far as plans are believed.
    `ended_by` names the model that does.
    """

    weeks: float
    is_open_ended: bool
    ended_by: str | None
    reason: str
    changes: tuple[ModelChange, ...]
    sources: tuple[Source, ...]


def life(case: Case) -> Life | None:
    """The kernel's life by the roadmap, else as it was stated; None when nobody said."""
    horizon = case.thresholds.horizon_weeks
    if case.roadmap is not None:
        needs = case.needs.value if case.needs else None
        models = sorted(case.roadmap.value.models, key=lambda model: model.expected_on)
        changes = tuple(_change(model, needs, case.today) for model in models)
        ending = next((change for change in changes if change.ends_the_kernel), None)
        if ending is not None and ending.weeks_away < horizon:
            reason = (
                f"{ending.name} takes the kernel's place in {weeks(max(0.0, ending.weeks_away))}."
            )
        else:
            ending, reason = None, _outlasted(changes, horizon)
        return Life(
            weeks=max(0.0, ending.weeks_away) if ending else horizon,
            is_open_ended=ending is None,
            ended_by=ending.name if ending else None,
            reason=reason,
            changes=changes,
            sources=(case.roadmap.source,),
        )
    if case.life_weeks is None:
        return None
    stated = case.life_weeks.value
    return Life(
        weeks=min(stated, horizon),
        is_open_ended=stated >= horizon,
        ended_by=None,
        reason=f"The model is said to stay for {weeks(stated)}.",
        changes=(),
        sources=(case.life_weeks.source,),
    )


def _outlasted(changes: tuple[ModelChange, ...], horizon: float) -> str:
    if not changes:
        return f"No other model is planned; plans are believed for {weeks(horizon)}."
    return f"No planned model ends the kernel's life within {weeks(horizon)}."


def _change(model: NextModel, needs: Needs | None, today: dt.date) -> ModelChange:
    """Sort the axes that change by what the Definition says of them.

    Where the Definition is not in the catalogue nobody can say which sizes are free, so a
    changed axis counts as one that the kernel is made for.
    """
    free: list[str] = []
    tuned: list[str] = []
    foreign: list[str] = []
    known = needs is not None and needs.definition in catalogue.operators()
    what = catalogue.definition(needs.definition) if needs and known else None
    present = needs.axes if needs else {}
    for axis, size in sorted(model.axes.items()):
        if present.get(axis) == size:
            continue
        if what is None:
            tuned.append(axis)
        elif axis not in what.axes:
            foreign.append(axis)
        elif axis in what.held_back.free:
            free.append(axis)
        else:
            tuned.append(axis)
    return ModelChange(
        name=model.name,
        expected_on=model.expected_on,
        weeks_away=(model.expected_on - today).days / 7,
        free=tuple(free),
        tuned=tuple(tuned),
        foreign=tuple(foreign),
    )
