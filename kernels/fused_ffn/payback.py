"""Calculate the GPUs on which a kernel earns back its fee. No torch here.

python -m kernels.fused_ffn.payback --ratio 1.5 --weeks 8 --fee 60000 --gpu-hour 3
"""

from __future__ import annotations

import argparse
from decimal import ROUND_CEILING, Decimal

HOURS_A_WEEK = Decimal(24 * 7)


def break_even_gpus(
    *, ratio: Decimal, weeks: Decimal, fee: Decimal, gpu_hour: Decimal
) -> int | None:
    """The fewest GPUs, busy all day, on which the kernel pays for itself; None if none do.

    `ratio` is end to end, `weeks` is the model's service after delivery, and `fee` and `gpu_hour`
    are in one currency. A step in 1 / ratio of its time saves 1 - 1 / ratio of every GPU hour.
    """
    if ratio <= 1 or weeks <= 0:
        return None
    saved = weeks * HOURS_A_WEEK * gpu_hour * (1 - 1 / ratio)
    return int((fee / saved).to_integral_value(rounding=ROUND_CEILING))


def end_to_end(*, ratio: Decimal, share: Decimal) -> Decimal:
    """The step's ratio from an operator's `ratio` and its `share` of the step (Amdahl)."""
    return 1 / (1 - share + share / ratio)


def main() -> None:
    """Read the command line, print the number of GPUs."""
    parser = argparse.ArgumentParser(prog="python -m kernels.fused_ffn.payback")
    for name in ("ratio", "weeks", "fee", "gpu-hour"):
        parser.add_argument(f"--{name}", type=Decimal, required=True)
    print(break_even_gpus(**vars(parser.parse_args())) or "never")


if __name__ == "__main__":
    main()
