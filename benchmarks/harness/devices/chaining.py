"""Chain a round's calls: each call's inputs depend on all results of the call before.

As decoding does, so that no call can begin before the one before has ended. An input keeps its
random magnitudes; each of its signs comes from one element of the previous output, compared with a
threshold and shifted, both secret until the round begins. Signs have three properties:

- every element of the output decides one of the input's, so no part of it and no low-rank summary
  of it is enough, for a linear operator either;
- a result that is a little wrong turns signs, each a change as large as the input itself, so
  repeating all calls at once from guessed results does not converge;
- the magnitudes, and so the rounding errors that tolerances are made for, stay as they are.

A side computes this inside the clock and the referee repeats it exactly from the side's outputs:
comparing, and taking a sign, round nothing.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import torch

Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True, kw_only=True)
class Link:
    """How one output of a call signs one input of the next; `shift` counts elements."""

    input: str
    output: str
    threshold: float
    shift: int

    def mixed(
        self, fresh: torch.Tensor, previous: torch.Tensor, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        """`fresh` with the signs that `previous`, of as many elements, gives it; into `out`."""
        out = torch.empty_like(fresh) if out is None else out
        signs = torch.sub(previous.flatten(), self.threshold)
        magnitudes, result = fresh.view(-1), out.view(-1)
        first = len(signs) - self.shift
        torch.copysign(magnitudes[:first], signs[self.shift :], out=result[:first])
        torch.copysign(magnitudes[first:], signs[: self.shift], out=result[first:])
        return out


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
