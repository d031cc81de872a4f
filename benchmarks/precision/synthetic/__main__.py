"""Write a benchmark of work of known cost at the default protocol.

    python -m benchmarks.precision.synthetic 1000 --out b.json

`1000` is the approximate time of a baseline call in us. Run it with TWOFOLD_OPERATORS set to this
folder; the candidate `unit_products/candidate.py` is truly 2.2x.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from benchmarks.harness.sides import operators
from benchmarks.precision.synthetic.programs import benchmark


def main() -> None:
    """Write the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.precision.synthetic")
    parser.add_argument("call_us", type=int, help="about what a call of the baseline takes")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    os.environ[operators.SEARCH_PATH_VARIABLE] = str(Path(__file__).parent)
    asked.out.write_text(json.dumps(benchmark(asked.device, asked.call_us), indent=1) + "\n")


if __name__ == "__main__":
    main()
