"""Chain a round's calls: each call's inputs depend on all results of the call before.

As decoding does, so that no call can begin before the one before has ended. An input keeps its
random magnitudes; each of its signs comes from the previous output, compared with a threshold and
shifted, both secret until the round begins. Where the output has more elements than the input, the
parity of several signs decides one; where it has fewer, they repeat. An index into a table moves by
half of the table's length instead of changing its sign, and of an integer output its bits count.
Signs have three properties:

- every element of the output decides some of the input's, so no part of it and no low-rank summary
  of it is enough, for a linear operator either;
- a result that is a little wrong turns signs, each a change as large as the input itself, so
  repeating all calls at once from guessed results does not converge;
- the magnitudes, and so the rounding errors that tolerances are made for, stay as they are.

A side computes this inside the clock and the referee repeats it exactly from the side's outputs:
comparing, counting and taking a sign round nothing.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import torch

Tensors = Mapping[str, torch.Tensor]
# Bits of an integer output that sign; an index into a vocabulary has some 17.
_BITS = 16


@dataclass(frozen=True, kw_only=True)
class Link:
    """How one output of a call signs one input of the next; `shift` counts elements.

    `below`: the length of the table that an integer input points into; 0 for numbers.
    """

    input: str
    output: str
    threshold: float
    shift: int
    below: int = 0

    def mixed(
        self, fresh: torch.Tensor, previous: torch.Tensor, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        """`fresh` with the signs that `previous` gives it, written into `out`."""
        out = torch.empty_like(fresh) if out is None else out
        signs = _fitted(_signs(previous.flatten(), self.threshold), fresh.numel())
        given, result = fresh.view(-1), out.view(-1)
        first = len(signs) - self.shift
        self._sign(given[:first], signs[self.shift :], result[:first])
        self._sign(given[first:], signs[: self.shift], result[first:])
        return out

    def _sign(self, given: torch.Tensor, signs: torch.Tensor, out: torch.Tensor) -> None:
        if not self.below:
            torch.copysign(given, signs, out=out)
            return
        moved = given + torch.signbit(signs) * (self.below // 2)
        torch.remainder(moved, self.below, out=out)


def _signs(previous: torch.Tensor, threshold: float) -> torch.Tensor:
    """Numbers whose signs are those of an output's elements, or of an integer's bits."""
    if previous.is_floating_point() or previous.itemsize == 1:
        return torch.sub(previous, threshold)
    places = torch.arange(_BITS, device=previous.device)
    return (0.5 - ((previous[:, None] >> places) & 1)).flatten()


def _fitted(signs: torch.Tensor, count: int) -> torch.Tensor:
    """`signs` repeated, or folded by the parity of every `count`-th, to so many."""
    if len(signs) == count:
        return signs
    if len(signs) < count:
        return signs.repeat(-(-count // len(signs)))[:count]
    whole = len(signs) // count * count
    negative = torch.signbit(signs)
    odd = negative[:whole].view(-1, count).sum(0)
    odd[: len(signs) - whole] += negative[whole:]
    return 0.5 - (odd & 1)


@dataclass(frozen=True, kw_only=True)
class Chain:
    """The links of one round."""

    links: tuple[Link, ...]

    @classmethod
    def from_data(cls, data: list[dict[str, Any]]) -> Self:
        """The chain from the data of `as_data`."""
        return cls(links=tuple(Link(**link) for link in data))

    def as_data(self) -> list[dict[str, Any]]:
        """Plain JSON data for a side."""
        return [asdict(link) for link in self.links]

    def mixed(self, fresh: Tensors, previous: Tensors, out: Tensors) -> dict[str, torch.Tensor]:
        """The next call's inputs; chained ones are written into `out` where it has them."""
        changed = {
            link.input: link.mixed(fresh[link.input], previous[link.output], out.get(link.input))
            for link in self.links
        }
        return {**fresh, **changed}
