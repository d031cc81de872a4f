"""Time every rung of the ladder on this GPU and read its counters: writes signatures.json.

    python -m kernels.matmul_ladder.profiling signatures.json

Needs Nsight Compute (`ncu`) with access to the counters. Each rung is checked before it is timed.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernels import catalogue, signatures, solutions
from kernels.matmul_ladder.ladder import MEANINGS, SCHEMA
from kernels.signatures import Signature
from kernels.trials import compare, event_us

OPERATOR = "matmul_ladder"
TIMED_SIZE, PROFILED_SIZE = 8192, 4096
WARM_UPS, REPEATS = 3, 20
SLOW_US = 50_000.0
COMMAND = "python -m kernels.matmul_ladder.profiling signatures.json"
_FILE = re.compile(r"(?P<language>cuda|triton)_(?P<position>\d)_(?P<name>\w+)")


def files() -> list[str]:
    """The rungs' files by stem, the lowest rung first."""
    found = [stem for stem in catalogue.candidates(OPERATOR) if _FILE.fullmatch(stem)]
    return sorted(found, key=lambda stem: stem.split("_")[1])


class Product:
    """One rung over random matrices of one size."""

    def __init__(self, stem: str, a: Tensor, b: Tensor) -> None:
        axes = {"batch": 1, "m": a.shape[1], "n": b.shape[2], "k": b.shape[1]}
        self._solution = solutions.candidate(f"{OPERATOR}/{stem}")
        self._prepared = self._solution.prepare({"b": b}, axes)
        self._a = a
        self.c = torch.full_like(a, float("nan"))

    def __call__(self) -> None:
        self._solution.run(self._prepared, {"a": self._a}, {"c": self.c})


def matrices(size: int) -> tuple[Tensor, Tensor]:
    """Random a and b [1, size, size] in bf16, of a product near 1."""
    a = torch.randn(1, size, size, device="cuda", dtype=torch.bfloat16)
    return a, torch.randn_like(a) * size**-0.5


def tflops(call: Any, size: int) -> float:
    """Median rate of a call after warm-up; of the second call alone if it is slow."""
    event_us(call)
    times_us = [event_us(call)]
    if times_us[0] < SLOW_US:
        times_us = [event_us(call) for _ in range(WARM_UPS + REPEATS)][WARM_UPS:]
    return 2 * size**3 / statistics.median(times_us) / 1e6


def timed() -> dict[str, float]:
    """TFLOP/s by file, and the library's as "cublas". Exits if a rung is wrong."""
    a, b = matrices(TIMED_SIZE)
    c = torch.empty_like(a)
    rates = {"cublas": tflops(lambda: torch.bmm(a, b, out=c), TIMED_SIZE)}
    tolerance = catalogue.definition(OPERATOR).tolerances["bfloat16"]
    expected = a[:, :256].double() @ b.double()
    for stem in files():
        product = Product(stem, a, b)
        rates[stem] = tflops(product, TIMED_SIZE)
        right, words = compare(product.c[:, :256], expected, tolerance)
        if not right:
            sys.exit(f"{stem} is wrong: {words}")
        print(f"{rates[stem]:7.1f} TFLOP/s  {stem}", flush=True)
    return rates


def launches() -> None:
    """Run each rung once, then the library, for ncu."""
    a, b = matrices(PROFILED_SIZE)
    products = [Product(stem, a, b) for stem in files()]
    c = torch.empty_like(a)
    for product in products:
        product()
    torch.bmm(a, b, out=c)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    for product in products:
        product()
    torch.bmm(a, b, out=c)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def profiled() -> list[Signature]:
    """The signatures in the order of the launches."""
    with tempfile.TemporaryDirectory() as folder:
        report = str(Path(folder) / "ladder.ncu-rep")
        work = [sys.executable, "-m", "kernels.matmul_ladder.profiling", "launches"]
        subprocess.run([*signatures.NCU, "--export", report, *work], check=True, stdout=sys.stderr)
        page = subprocess.run(
            signatures.export_command(report), check=True, capture_output=True, text=True
        )
    return [found for _, found in signatures.read(page.stdout)]


def measured() -> dict[str, Any]:
    """The content of signatures.json."""
    rates, counted = timed(), profiled()
    rungs = []
    for stem, signature in zip(files(), counted, strict=False):
        found = _FILE.fullmatch(stem)
        assert found is not None
        name = found["name"].replace("_", " ")
        assert name in MEANINGS
        rungs.append(
            {
                "name": name,
                "language": found["language"],
                "file": catalogue.candidates(OPERATOR)[stem].name,
                "tflops": round(rates[stem], 2),
                "signature": asdict(signature),
            }
        )
    return {
        "schema": SCHEMA,
        "device": torch.cuda.get_device_name(),
        "command": COMMAND,
        "timed_size": TIMED_SIZE,
        "profiled_size": PROFILED_SIZE,
        "peak_tflops": round(rates["cublas"], 2),
        "library": asdict(counted[-1]),
        "rungs": rungs,
    }


def main() -> None:
    """Measure and write, or run the calls under ncu."""
    if sys.argv[1] == "launches":
        launches()
        return
    Path(sys.argv[1]).write_text(json.dumps(measured(), indent=1) + "\n")


if __name__ == "__main__":
    main()
