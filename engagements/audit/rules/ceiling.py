"""The ceiling: the end-to-end ratio of a faster kernel (Amdahl 1967).

With `share` the operator's share of wall-clock time and its kernel `kernel_speedup` times as
fast, the whole is 1 / ((1 - share) + share / kernel_speedup) times as fast.
"""

from __future__ import annotations

import math

from msgspec import Struct

from engagements.audit.rules.figures import NOT_KNOWN, Chart, Figures, Interval, Table, facts, table
from engagements.audit.rules.phrases import percent, percent_or_not_known, times, times_each, volume
from engagements.audit.rules.roofline import FewerBytes, KernelHeadroom
from engagements.audit.rules.thresholds import Thresholds
from engagements.charts import drawing
from engagements.charts.describe import interval_text
from engagements.common.ratios import measured

CURVE_POINTS = 60


def ratio(share: float, kernel_speedup: float) -> float:
    """Return the end-to-end ratio. `share` is 0 to 1, `kernel_speedup` above 0.

    The speedup may be infinite. ValueError outside these ranges.
    """
    if not 0 <= share <= 1 or not kernel_speedup > 0:
        raise ValueError(f"No ceiling for share {share} and kernel speedup {kernel_speedup}.")
    left = (1 - share) + share / kernel_speedup
    return 1 / left if left > 0 else math.inf


def infinite(share: float) -> float | None:
    """Return the ratio of an infinitely fast kernel; None when `share` is 1."""
    return 1 / (1 - share) if share < 1 else None


def needed(share: float, target: float) -> float | None:
    """Return the kernel speedup required for `target` end to end; None when none suffices."""
    left = 1 / target - (1 - share)
    return share / left if left > 0 else None


def curve(share: float, up_to: float) -> tuple[tuple[float, float], ...]:
    """Return points (kernel speedup, ratio) from 1 to `up_to`, evenly spaced by factors."""
    top = max(up_to, 2.0)
    steps = [top ** (step / (CURVE_POINTS - 1)) for step in range(CURVE_POINTS)]
    return tuple((speedup, ratio(share, speedup)) for speedup in steps)


class CeilingFigures(Figures, Struct, frozen=True, kw_only=True, tag="worth", tag_field="check"):
    """The ceiling 1 / ((1 - share) + share / kernel speedup), and the ratios below it.

    `infinite` is 1 / (1 - share), None where the share is 1. `most` is the largest possible
    kernel speedup and `ceiling` the end-to-end ratio it gives; `reachable` are the kernel
    speedups at 60% and 80% of the roofline. `needed` is the kernel speedup for the target, None
    where even an infinite one does not reach it. `curve` has (kernel speedup, end-to-end ratio).
    """

    share: float
    target: float
    infinite: float | None
    needed: float | None
    most: float | None
    ceiling: float | None
    reachable: Interval | None
    claimed: Interval | None
    end_to_end: Interval | None
    roofline_share: float | None
    kernels: tuple[KernelHeadroom, ...]
    fewer_bytes: FewerBytes | None
    curve: tuple[tuple[float, float], ...]

    def ratio(self, kernel_speedup: float) -> float:
        """The end-to-end ratio of a kernel speedup."""
        return ratio(self.share, kernel_speedup)

    def tables(self) -> tuple[Table, ...]:
        """The ceiling, and a row per measured kernel."""
        rows = [
            (
                each.name,
                percent(each.share_of_operator),
                percent(each.roofline_share),
                each.bound or NOT_KNOWN,
                each.signature or NOT_KNOWN,
            )
            for each in self.kernels
        ]
        columns = ("Kernel", "Of the operator", "Of the roofline", "Bound by", "Rung")
        caption = "The operator's kernels, measured with Nsight Compute"
        return self._facts(), table(caption, columns, rows, numbers=(1, 2))

    def _facts(self) -> Table:
        fewer, least = self.fewer_bytes, ""
        if fewer is not None:
            moved = f", {volume(fewer.moved_bytes)} measured" if fewer.moved_bytes else ""
            least = f"{volume(fewer.least_bytes)}{moved}"
        needed = times(self.needed) if self.needed else "impossible"
        return facts(
            "Ceiling",
            ("Share of the wall-clock time", percent(self.share)),
            ("Infinitely fast kernel, end to end", times(self.infinite) if self.infinite else ""),
            (f"Kernel speedup for {times(self.target)} end to end", needed),
            ("Largest kernel speedup", times(self.most) if self.most else NOT_KNOWN),
            ("Largest end-to-end speedup", times(self.ceiling) if self.ceiling else NOT_KNOWN),
            (
                "Reachable kernel speedup",
                times_each(self.reachable) if self.reachable else NOT_KNOWN,
            ),
            ("Claimed kernel speedup", times_each(self.claimed) if self.claimed else ""),
            ("Share of the roofline", percent_or_not_known(self.roofline_share)),
            ("Least bytes per call", least),
        )

    def chart(self, thresholds: Thresholds) -> Chart | None:
        """End-to-end ratio over kernel speedup; None without a curve."""
        if len(self.curve) < 2:
            return None
        return Chart(
            title="The ceiling",
            caption="End-to-end ratio by kernel speedup, up to an infinitely fast kernel.",
            alt=self.alt(),
            draw=drawing("engagements.audit.charts.amdahl", self),
        )

    def alt(self) -> str:
        """Describe the chart as alt text."""
        lines = [f"The operator is {self.share:.1%} of the wall-clock time."]
        if self.infinite is not None:
            lines.append(
                f"An infinitely fast kernel gives at most {measured(self.infinite)} end to end."
            )
        if self.needed is None:
            lines.append(f"No kernel reaches the target of {measured(self.target)}.")
        else:
            lines.append(
                f"The target of {measured(self.target)} requires a kernel speedup of "
                f"{measured(self.needed)}."
            )
        if self.reachable is not None:
            low, high = measured(self.reachable.low), measured(self.reachable.high)
            lines.append(f"The roofline allows a kernel speedup of {low} to {high}.")
        if self.claimed is not None:
            ends = (self.claimed.low, self.claimed.high)
            lines.append(
                f"The claim is {interval_text(*ends)} in the kernel, which gives "
                f"{interval_text(*map(self.ratio, ends))} end to end."
            )
        return " ".join(lines)
