"""List the catalogue and which Solutions run here: `python -m kernels [list] [--quick]`.

`--quick` loads no Solution and needs no torch.
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
    """A Solution; `unavailable` is why it does not run here, None if it loads or was not tried."""

    operator: str
    name: str
    role: Literal["baseline", "candidate"]
    title: str
    unavailable: str | None


def listed(operator: str, *, quick: bool) -> Iterator[Listed]:
    """The Solutions of an operator, baselines first."""
    for name, baseline in catalogue.baselines(operator).items():
        yield Listed(
            operator=operator,
            name=name,
            role="baseline",
            title=f"{baseline.title} ({baseline.package})",
            unavailable=None if quick else _unavailable(operator, name),
        )
    for name, file in catalogue.candidates(operator).items():
        yield Listed(
            operator=operator,
            name=name,
            role="candidate",
            title=file.name,
            unavailable=None if quick else _unavailable(operator, name),
        )


def _unavailable(operator: str, name: str) -> str | None:
    """Load the Solution; what is missing, or None. Candidates require their GPU only when run."""
    try:
        import torch

        from kernels import solutions
    except ModuleNotFoundError as error:
        return f"needs {error.name}: pip install {error.name}"
    try:
        solutions.named(operator, name)
    except NotAvailable as reason:
        return str(reason)
    except Exception as error:
        # An installed library that does not load raises errors of its own.
        return f"{type(error).__name__}: {error}"
    is_gpu_candidate = name in catalogue.candidates(operator) and not name.startswith("torch_")
    return "needs a CUDA GPU" if is_gpu_candidate and not torch.cuda.is_available() else None


def main() -> None:
    """Print the list."""
    parser = argparse.ArgumentParser(prog="python -m kernels list")
    parser.add_argument("--quick", action="store_true", help="load no Solution")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = {name: list(listed(name, quick=arguments.quick)) for name in catalogue.operators()}
    if arguments.json:
        print(json.dumps([asdict(one) for each in found.values() for one in each], indent=1))
        return
    for operator, solutions in found.items():
        print(f"{operator}: {catalogue.definition(operator).title}")
        print(f"  presets {', '.join(catalogue.presets(operator))}")
        for one in solutions:
            here = (
                ""
                if arguments.quick
                else "runs here"
                if one.unavailable is None
                else one.unavailable
            )
            print(f"  {one.role:<9} {one.name:<28} {here}".rstrip())


if __name__ == "__main__":
    main()
