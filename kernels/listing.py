"""What the catalogue holds, and what of it runs here: `python -m kernels [list] [--quick]`.

`--quick` tries nothing out and needs no torch.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from kernels import catalogue
from kernels.definition import NotAvailable


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A Solution; `why_not` says why it does not run here, None: it loads, or was not tried."""

    operator: str
    name: str
    role: Literal["baseline", "candidate"]
    title: str
    why_not: str | None


def listed(operator: str, *, quick: bool) -> Iterator[Listed]:
    """The Solutions of an operator, baselines first."""
    for name, baseline in catalogue.baselines(operator).items():
        yield Listed(
            operator=operator,
            name=name,
            role="baseline",
            title=f"{baseline.title} ({baseline.package})",
            why_not=None if quick else _why_not(operator, name),
        )
    for name, file in catalogue.candidates(operator).items():
        yield Listed(
            operator=operator,
            name=name,
            role="candidate",
            title=file.name,
            why_not=None if quick else _why_not(operator, name),
        )


def _why_not(operator: str, name: str) -> str | None:
    """Load it, and say what is missing. A candidate is loaded, and asks for its GPU when run."""
    try:
        import torch

        from kernels import solutions
    except ModuleNotFoundError as error:
        return f"needs {error.name}: pip install {error.name}"
    try:
        if name in catalogue.baselines(operator):
            solutions.baseline(operator, name)
            return None
        solutions.candidate(f"{operator}/{name}")
    except NotAvailable as reason:
        return str(reason)
    except Exception as error:
        # A library that is there and does not load says so in words of its own.
        return f"{type(error).__name__}: {error}"
    wants_gpu = name.startswith(("cuda_", "triton_"))
    return "needs a CUDA GPU" if wants_gpu and not torch.cuda.is_available() else None


def main() -> None:
    """Print the list."""
    parser = argparse.ArgumentParser(prog="python -m kernels list")
    parser.add_argument("--quick", action="store_true", help="do not try what runs here")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = {name: list(listed(name, quick=asked.quick)) for name in catalogue.operators()}
    if asked.json:
        print(json.dumps([asdict(one) for each in found.values() for one in each], indent=1))
        return
    for operator, solutions in found.items():
        print(f"{operator}: {catalogue.definition(operator).title}")
        print(f"  presets {', '.join(catalogue.presets(operator))}")
        for one in solutions:
            here = "" if asked.quick else "runs here" if one.why_not is None else one.why_not
            print(f"  {one.role:<9} {one.name:<28} {here}".rstrip())


if __name__ == "__main__":
    main()
