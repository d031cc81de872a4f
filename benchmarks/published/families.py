"""Say where custom work can pay: `python -m kernels families`.

For each model family, the operators of a layer in decoding with bytes, operations and floor
(kernels.families), the library that covers them (kernels.coverage) and the committed record.
Prints kernels/FAMILIES.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import cache

from benchmarks.published import reports
from benchmarks.published.reports import Report
from kernels import coverage, families
from kernels.coverage import Needs
from kernels.families import BANDWIDTH, PRODUCTS, Use

HEAD = f"""# Model families

The operators of one layer in decoding, by family: what a call must move and compute, its floor on
one H200 ({BANDWIDTH / 1e12:.1f} TB/s, {PRODUCTS / 1e12:.0f} TFLOP/s), the library that covers it,
the catalogue's record, and if custom work can pay. Printed by `python -m kernels families`.

- *Bound*: by bytes or by operations, whichever takes longer.
- Attention is of layers without a window, `paged_decode` over an FP8 cache. Linear layers are all
  of a layer together, without experts.
- *Library*: the first that fits bfloat16 on Hopper with what the operator needs, by its
  documentation (`coverage/libraries.toml`); "perhaps" if that leaves a need open.
- *Record*: of the operator's signed records the one with the smallest gain, so against the
  strongest baseline, at the record's own sizes.
- *Pays*: "no, a launch" below {families.LAUNCH_US:g} us; "measured" if the record met its target;
  "little" if it is within 10% of its baseline; "install the library" if one fits; else "measure".

"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the page."""
    argparse.ArgumentParser(prog="python -m kernels families").parse_args(arguments)
    print(page(), end="")
    return 0


def page() -> str:
    """All families as Markdown."""
    parts = [f"## {one.name}\n\n{_table(families.uses(one.name))}\n" for one in families.FAMILIES]
    return HEAD + "\n".join(parts)


def _table(found: Sequence[Use]) -> str:
    head = ["operator", "batch", "context", "bytes", "operations", "floor", "bound"]
    lines = [_row([*head, "library", "record", "pays"]), "|---" * (len(head) + 3) + "|"]
    return "\n".join([*lines, *(_row(list(_cells(use))) for use in found)])


def _cells(use: Use) -> Iterator[str]:
    yield f"`{use.operator}`: {use.part}" if use.operator else use.part
    yield str(use.batch)
    yield "-" if use.context is None else f"{use.context // 1024}K"
    yield _amount(use.bytes_moved, "B")
    yield _amount(use.flops, "FLOP")
    yield f"{use.floor_us:.3g} us" if use.floor_us < 1000 else f"{use.floor_us / 1000:.3g} ms"
    yield "bytes" if use.is_bound_by_bytes else "operations"
    yield library(use) or _nearest(use)
    record = best_record(use.operator) if use.operator else None
    yield "-" if record is None else f"{record.ratio:.2f}x over `{record.baseline}`"
    yield pays(use)


def library(use: Use) -> str | None:
    """A library that covers the operator in bfloat16 on Hopper; cuBLAS for plain products."""
    if not use.operator:
        return "cuBLAS"
    needs = Needs(dtype=families.DTYPE, architecture="sm90", features=use.features)
    found = coverage.fits(use.operator, needs)
    return next((fit.library.name for fit in found if fit.verdict == "fits"), None)


def _nearest(use: Use) -> str:
    """A library of the operator whose documentation leaves something open or out."""
    found = coverage.fits(use.operator, Needs(dtype=families.DTYPE, architecture="sm90"))
    return f"{found[0].library.name}, perhaps" if found else "none known"


@cache
def best_record(operator: str) -> Report | None:
    """The operator's record with the smallest gain: the one against its strongest baseline."""
    found = [one for one in reports.of(operator) if one.ratio is not None]
    return min(found, key=lambda one: one.ratio or 0.0, default=None)


def pays(use: Use) -> str:
    """Whether custom work can pay, in a word or two."""
    record = best_record(use.operator) if use.operator else None
    if use.is_a_launch:
        return "no, a launch"
    if record is not None and record.verdict == "met":
        return "measured"
    if record is not None and record.ratio is not None and record.ratio < 1.1:
        return "little"
    return "install the library" if library(use) else "measure"


def _amount(number: int, unit: str) -> str:
    scale, prefix = next(
        (scale, prefix)
        for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
        if number >= scale or scale == 1
    )
    return f"{number / scale:.3g} {prefix}{unit}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
