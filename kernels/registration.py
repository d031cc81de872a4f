"""The catalogue's kernels as torch custom operators, as a customer calls them.

    from kernels import registration

    lookup = registration.register("embedding_lookup", "triton_lookup")
    rows = lookup(table, ids)  # also torch.ops.twofold.embedding_lookup_triton_lookup

Arguments are the tensors of the operator's Definition, `state` first, then `inputs`, each in the
Definition's order, then integers for the axes that no tensor's shape gives (`scalars`). The result
is the output, or the outputs in order. The operator has a schema, a fake implementation and, if the
solution's file has `gradients`, a backward pass, so it works under torch.compile, torch.export and
autograd without a graph break. The file needs only `prepare` and `run` for this.

The result of `prepare` is cached while the same tensors have the same contents, so weights are
packed once. A tensor that is written in place or given other memory (`weight.data =`) is prepared
again. After writes that torch does not count (raw pointers, `weight.data.copy_()`), call
`torch.autograd.graph.increment_version`. Use one stream at a time: calls share `prepare`'s scratch.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from kernels import catalogue, solutions
from kernels.definition import Axes, Definition, TensorSpec
from kernels.solutions import Solution

NAMESPACE = "twofold"
# Prepared states cached for one operator: more than the layers of a deep model.
_CACHED = 256

CustomOperator = Callable[..., Any]


def register(operator: str, name: str) -> CustomOperator:
    """Register the candidate `operator/name` as torch.ops.twofold.<operator>_<name>.

    Registering again replaces it. CatalogueError or SolutionError for an unknown name; the first
    call raises NotAvailable.
    """
    what = catalogue.definition(operator)
    return _Registered(what, solutions.candidate(f"{operator}/{name}")).define()


def scalars(what: Definition) -> tuple[str, ...]:
    """Axes that a caller passes: in no tensor of the operator, and not the Program's own."""
    given = _axes_in(what.state + what.inputs)
    wanted = _axes_in(what.outputs)
    programs = _axes_in(what.program_state + what.program_inputs + what.program_outputs)
    return tuple(
        axis for axis in what.axes if axis not in given and (axis in wanted or axis not in programs)
    )


def axes_of(what: Definition, tensors: Sequence[Tensor], numbers: Sequence[int]) -> dict[str, int]:
    """Every axis that these arguments fix. ValueError if two tensors disagree about one."""
    axes = dict(zip(scalars(what), numbers, strict=True))
    for spec, tensor in zip(what.state + what.inputs, tensors, strict=True):
        if tensor.dim() != len(spec.shape):
            raise ValueError(f"{spec.name} must have the shape {_shape(spec)}")
        for side, length in zip(spec.shape, tensor.shape, strict=True):
            if axes.setdefault(side, length) != length if isinstance(side, str) else side != length:
                raise ValueError(f"{spec.name} must have the shape {_shape(spec)}: {side}")
    return axes


class _Registered:
    """One solution behind its torch operator."""

    def __init__(self, what: Definition, solution: Solution) -> None:
        self.what = what
        self.solution = solution
        self.states = len(what.state)
        self.tensors = len(what.state) + len(what.inputs)
        self._prepared: OrderedDict[tuple[Any, ...], _Prepared] = OrderedDict()

    def define(self) -> CustomOperator:
        """Register schema, implementation, fake implementation and backward pass with torch."""
        made = torch.library.custom_op(
            f"{NAMESPACE}::{self.what.operator}_{self.solution.name}",
            self._call,
            mutates_args=(),
            schema=self._schema(),
            # Prepared state outlives the call, and memory of a recorded graph does not: with this
            # tag torch.compile excludes the operator from the graphs that it records itself.
            tags=(torch.Tag.cudagraph_unsafe,),
        )
        made.register_fake(self._fake)
        if self.solution.gradients is not None:
            made.register_autograd(self._backward, setup_context=self._keep)
        return made

    def _schema(self) -> str:
        tensors = [f"Tensor {spec.name}" for spec in self.what.state + self.what.inputs]
        numbers = [f"SymInt {axis}" for axis in scalars(self.what)]
        results = ", ".join("Tensor" for _ in self.what.outputs)
        given = f"({results})" if len(self.what.outputs) > 1 else results
        return f"({', '.join(tensors + numbers)}) -> {given}"

    def _call(self, *arguments: Any) -> Any:
        tensors, numbers = arguments[: self.tensors], arguments[self.tensors :]
        axes = axes_of(self.what, tensors, numbers)
        out = self._outputs(tensors, axes)
        inputs = dict(zip(_names(self.what.inputs), tensors[self.states :], strict=True))
        self.solution.run(self._prepare(tensors[: self.states], axes), inputs, out)
        return _one_or_all(out)

    def _fake(self, *arguments: Any) -> Any:
        tensors, numbers = arguments[: self.tensors], arguments[self.tensors :]
        return _one_or_all(self._outputs(tensors, axes_of(self.what, tensors, numbers)))

    def _outputs(self, tensors: Sequence[Tensor], axes: Axes) -> dict[str, Tensor]:
        """Empty outputs; `_dtype` chooses a dtype that the Definition leaves open."""
        return {
            spec.name: tensors[0].new_empty(spec.sizes(axes), dtype=self._dtype(spec, tensors))
            for spec in self.what.outputs
        }

    def _dtype(self, spec: TensorSpec, tensors: Sequence[Tensor]) -> torch.dtype:
        if spec.dtype:
            found: torch.dtype = getattr(torch, spec.dtype)
            return found
        open_dtypes = [
            tensor.dtype
            for known, tensor in zip(self.what.state + self.what.inputs, tensors, strict=True)
            if not known.dtype
        ]
        return open_dtypes[0] if open_dtypes else tensors[0].dtype

    def _prepare(self, state: Sequence[Tensor], axes: Axes) -> Any:
        """The prepared form of exactly these tensors and contents, from the cache if it has it."""
        key = (*(id(tensor) for tensor in state), *sorted(axes.items()))
        prepared = self._prepared.get(key)
        if prepared is None or not prepared.is_current(state):
            prepared = _Prepared(
                state,
                self.solution.prepare(dict(zip(_names(self.what.state), state, strict=True)), axes),
                forget=partial(self._prepared.pop, key, None),
            )
            self._prepared[key] = prepared
        self._prepared.move_to_end(key)
        while len(self._prepared) > _CACHED:
            self._prepared.popitem(last=False)
        return prepared.value

    def _keep(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        outputs = output if isinstance(output, tuple) else (output,)
        ctx.numbers = inputs[self.tensors :]
        ctx.save_for_backward(*inputs[: self.tensors], *outputs)

    def _backward(self, ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        assert self.solution.gradients is not None
        tensors, outputs = ctx.saved_tensors[: self.tensors], ctx.saved_tensors[self.tensors :]
        names = _names(self.what.state + self.what.inputs)
        given = dict(zip(names, tensors, strict=True))
        made = self.solution.gradients(
            {name: given[name] for name in _names(self.what.state)},
            {name: given[name] for name in _names(self.what.inputs)},
            dict(zip(_names(self.what.outputs), outputs, strict=True)),
            dict(zip(_names(self.what.outputs), grads, strict=True)),
            axes_of(self.what, tensors, ctx.numbers),
        )
        return (*(made.get(name) for name in names), *(None for _ in ctx.numbers))


class _Prepared:
    """A prepared state with the tensors and the version of their contents that it is of.

    `forget` is called when one of them is deleted: packed weights are as large as the weights.
    """

    def __init__(
        self, state: Sequence[Tensor], value: Any, *, forget: Callable[[], object]
    ) -> None:
        self.value = value
        self._tensors = [weakref.ref(tensor, lambda _: forget()) for tensor in state]
        self._versions = [_version(tensor) for tensor in state]

    def is_current(self, state: Sequence[Tensor]) -> bool:
        """Whether these are the same tensors, unwritten since."""
        same = all(ref() is tensor for ref, tensor in zip(self._tensors, state, strict=True))
        versions = [_version(tensor) for tensor in state]
        return same and None not in versions and versions == self._versions


def _version(tensor: Tensor) -> tuple[int, int] | None:
    """Its address and its count of writes; None if torch does not count them."""
    return None if tensor.is_inference() else (tensor.data_ptr(), tensor._version)


def _axes_in(specs: tuple[TensorSpec, ...]) -> set[str]:
    return {side for spec in specs for side in spec.shape if isinstance(side, str)}


def _names(specs: tuple[TensorSpec, ...]) -> list[str]:
    return [spec.name for spec in specs]


def _shape(spec: TensorSpec) -> str:
    return f"[{', '.join(str(side) for side in spec.shape)}]"


def _one_or_all(out: Mapping[str, Tensor]) -> Any:
    """The only output, or all of them in order, as a torch operator returns them."""
    results = tuple(out.values())
    return results[0] if len(results) == 1 else results
