"""A block as an nn.Module; the operator replaces its `mlp`."""

import torch
from torch import nn


class Slot(nn.Module):
    """The operator as a submodule."""

    def __init__(self, solution, state, axes):
        super().__init__()
        self._run = solution.run
        self._prepared = solution.prepare(state, axes)

    def forward(self, x):
        """The MLP of x."""
        y = torch.empty_like(x)
        self._run(self._prepared, {"x": x}, {"y": y})
        return y


class Block(nn.Module):
    """Replace this by your own module, and its submodule by the slot."""

    def __init__(self, hidden, mlp):
        super().__init__()
        self.norm = nn.LayerNorm(hidden, elementwise_affine=False)
        self.mlp = mlp

    def forward(self, x):
        """One block."""
        return x + self.mlp(self.norm(x))


class Step:
    """One forward pass of the module."""

    def __init__(self, *, solution, state, axes):
        self._module = Block(axes["hidden"], Slot(solution, state, axes)).eval()

    def __call__(self, inputs, out):
        """Write every element of every output."""
        out["y"].copy_(self._module(inputs["x"]))
