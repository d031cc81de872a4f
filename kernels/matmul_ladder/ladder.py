"""The measured rungs of the ladder, and how to read the profile of each. No torch here.

`signatures.json` has the measurements, the machine and the command;
`python -m kernels.matmul_ladder.profiling` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from kernels.signatures import Signature

SCHEMA: Final = "twofold.ladder/1"
FILE: Final = Path(__file__).with_name("signatures.json")

# From the lowest rung up: the profile of a kernel there, and what to change.
MEANINGS: Final[Mapping[str, str]] = {
    "naive": (
        "The load units are at their limit, most of the sectors they move are discarded, and "
        "arithmetic is idle: let neighbouring threads read neighbouring addresses."
    ),
    "coalesced": (
        "No sector is wasted, but warps still queue at the load units because every product "
        "fetches both factors: keep blocks of the inputs in shared memory and registers."
    ),
    "tiled": (
        "Shared memory holds blocks of the inputs, no sector is wasted, few warps are enough, and "
        "the tensor pipe is at zero: use the tensor cores for the same tiles."
    ),
    "tensor core": (
        "The tensor pipe is busy for a small part of the time, because loading a tile and "
        "multiplying it alternate: load the next tiles during the products."
    ),
    "pipelined": (
        "Few warps, most of shared memory in use, and a tensor pipe that is busy far more than it "
        "waits for loads: tune the order and size of tiles and the stores of results."
    ),
    "autotuned": (
        "The tensor pipe is as busy as in the library's kernel: only fewer operations or fewer "
        "bits make it faster."
    ),
}


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One kernel on its rung; `share_of_peak` is its share of cuBLAS's rate at the same size.

    `signature` is None if the kernel was timed but not profiled.
    """

    name: str
    language: str
    file: str
    tflops: float
    share_of_peak: float
    signature: Signature | None
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """The measurement of all rungs. Sizes are sides of a square product in bf16."""

    device: str
    command: str
    timed_size: int
    profiled_size: int
    peak_tflops: float
    library: Signature
    rungs: tuple[Rung, ...]


@cache
def ladder() -> Ladder:
    """The committed measurement. ValueError if the file has another schema."""
    data = json.loads(FILE.read_text())
    if data["schema"] != SCHEMA:
        raise ValueError(f"{FILE.name} has the schema {data['schema']}, not {SCHEMA}")
    peak: float = data["peak_tflops"]
    return Ladder(
        device=data["device"],
        command=data["command"],
        timed_size=data["timed_size"],
        profiled_size=data["profiled_size"],
        peak_tflops=peak,
        library=Signature(**data["library"]),
        rungs=tuple(_rung(one, peak) for one in data["rungs"]),
    )


def rungs(language: str | None = None) -> list[Rung]:
    """The rungs from the lowest up, of one language ("cuda", "triton") or of both."""
    found = [one for one in ladder().rungs if language in (None, one.language)]
    return sorted(found, key=lambda one: (list(MEANINGS).index(one.name), one.language))


def _rung(data: Mapping[str, Any], peak: float) -> Rung:
    return Rung(
        name=data["name"],
        language=data["language"],
        file=data["file"],
        tflops=data["tflops"],
        share_of_peak=data["tflops"] / peak,
        signature=Signature(**data["signature"]) if data["signature"] else None,
        meaning=MEANINGS[data["name"]],
    )
