"""Draw the correctness trials of a run: held-back sizes and special values."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kernels.definition import Contents

_RANDOM = random.SystemRandom()


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A trial; `contents` is by tensor name, `strided` names axes along which inputs have gaps."""

    name: str
    kind: Literal["held_back", "special"]
    level: Literal["operator", "program"]
    axes: Mapping[str, int]
    strided: tuple[str, ...] = ()
    contents: Mapping[str, Contents]
    gain: float = 1.0


def drawn(document: Mapping[str, Any]) -> list[Trial]:
    """Draw the trials of a run, each with new sizes."""
    held_back = document["definition"]["held_back"]
    count = document["protocol"]["held_back_shapes"]
    if count == 0:
        return []
    trials = [_of_size(document, index, count) for index in range(count)]
    for special in held_back["special"]:
        trials.append(_special(special, *_drawn_axes(document)))
        if held_back["free"]:
            own = _RANDOM.choice(document["workloads"])
            trials.append(_special(special, f"workload {own['name']}", own["axes"]))
    return trials


def _special(special: Mapping[str, Any], where: str, axes: Mapping[str, int]) -> Trial:
    return Trial(
        name=f"{special['name']} at {where}",
        kind="special",
        level="operator",
        axes=dict(axes),
        contents={name: Contents(**how) for name, how in special["contents"].items()},
        gain=special["gain"],
    )


def _of_size(document: Mapping[str, Any], index: int, count: int) -> Trial:
    """First all free axes at 1, then drawn sizes, the last of them in the whole Program."""
    free, axes = _drawn_axes(document, ones=index == 0)
    in_program = index == count - 1 and index > 0
    strided = tuple(document["definition"]["held_back"]["strided"])
    gaps = strided if index > 0 and not in_program else ()
    what = ", in the whole step" if in_program else ", inputs with gaps" if gaps else ""
    return Trial(
        name=f"{free}{what}",
        kind="held_back",
        level="program" if in_program else "operator",
        axes=axes,
        strided=gaps,
        contents={},
    )


def _drawn_axes(document: Mapping[str, Any], *, ones: bool = False) -> tuple[str, dict[str, int]]:
    """A name and the axes: random odd sizes along free axes, a workload's along the others."""
    axes = dict(_RANDOM.choice(document["workloads"])["axes"])
    free = document["definition"]["held_back"]["free"]
    for axis in free:
        most = -(-axes[axis] // 2)
        # Not 1 again: gaps along an axis of size 1 have no effect.
        axes[axis] = 1 if ones else _RANDOM.randrange(min(3, most), most + 1, 2)
    return ", ".join(f"{axis} {axes[axis]}" for axis in free) or "the contract's sizes", axes
