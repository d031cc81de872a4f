"""Templates of candidates: files that run as they are, for any operator and benchmark.

A template computes the operator by its reference, in higher precision, and copies the results with
a kernel of the chosen language. So it is right before anything is changed, and slow. No torch here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernels.languages import Language, known

# Differentiates `reference`, for candidates made of it.
GRADIENTS = '''\
def gradients(state, inputs, out, grads, axes):
    """The backward pass, by torch's differentiation of the reference."""
    with torch.enable_grad():
        leaves = {
            name: tensor.detach().clone().requires_grad_(tensor.is_floating_point())
            for name, tensor in {**state, **inputs}.items()
        }
        wide = reference(
            state={name: leaves[name] for name in state},
            inputs={name: leaves[name] for name in inputs},
            axes=axes,
        )
        total = sum((wide[name] * grad.to(wide[name].dtype)).sum() for name, grad in grads.items())
        wanted = [name for name, leaf in leaves.items() if leaf.requires_grad]
        found = torch.autograd.grad(total, [leaves[name] for name in wanted], allow_unused=True)
    return {name: grad for name, grad in zip(wanted, found) if grad is not None}
'''
_BODY = '''\
def prepare(state, axes):
    """Once a layer and untimed: pack weights, compile, allocate scratch. State is read-only."""
    return state, axes


def run(prepared, inputs, out):
    """Timed: queue one call, and write every element of every output."""
    state, axes = prepared
    for name, result in reference(state=state, inputs=inputs, axes=axes).items():
        target = out[name] if out[name].is_contiguous() else torch.empty_like(out[name])
        copy_bits(bits(result.to(target.dtype).contiguous()), bits(target.contiguous()))
        if target is not out[name]:
            out[name].copy_(target)


def bits(tensor):
    """A dense tensor as integers of its elements' width, in one dimension."""
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.view(-1).view(integers[tensor.element_size()])
'''


def trains(definition: Mapping[str, Any]) -> bool:
    """Whether the Program computes gradients, so that a candidate defines `gradients`."""
    return any(spec["name"].startswith("grad_") for spec in definition["program_outputs"])


def languages(definition: Mapping[str, Any], device: str | None = None) -> list[Language]:
    """The languages with a template for an operator, on `device` or any.

    None for an operator of several ranks: its reference sees the tensors of all, a candidate those
    of one.
    """
    if "ranks" in definition["axes"]:
        return []
    found = [each for each in known().values() if each.kernel]
    return [each for each in found if device is None or device in each.devices]


def text(definition: Mapping[str, Any], reference: str, language: Language, dtype: str) -> str:
    """The template's file. `reference` is the operator's reference.py; `dtype` the benchmark's."""
    about = "\n".join(_about(definition, language, dtype)).replace("\\", "/").replace('"""', "'''")
    source = _reference_alone(reference)
    own = "" if "\nimport torch\n" in f"\n{source}" else "import torch\n"
    head = f'"""{about}\n"""\n\nfrom __future__ import annotations\n\n{own}{language.imports}'
    parts = [f"{head}\n{source}", language.kernel, _BODY]
    if trains(definition):
        parts.append(GRADIENTS)
    python = "\n\n\n".join(part.strip() for part in parts) + "\n"
    if not language.cuda:
        return python
    # A comment of C ends at the first of these.
    return f"/* python\n{python.replace('*/', '* /')}*/\n{language.cuda}"


def tensor_rows(definition: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The operator's tensors with their kind: state, input, output."""
    for part, kind in (("state", "state"), ("inputs", "input"), ("outputs", "output")):
        for spec in definition[part]:
            yield kind, spec


def layout(spec: Mapping[str, Any], kind: str, definition: Mapping[str, Any]) -> str:
    """How a tensor lies in memory."""
    strided = definition["held_back"]["strided"]
    gaps = [str(side) for side in spec["shape"][:-1] if kind == "input" and side in strided]
    return f"rows dense, gaps possible along {', '.join(gaps)}" if gaps else "dense"


def _about(definition: Mapping[str, Any], language: Language, dtype: str) -> Iterator[str]:
    yield f"{definition['title']}, a candidate to begin with: {language.title}."
    yield ""
    for kind, spec in tensor_rows(definition):
        shape = ", ".join(map(str, spec["shape"]))
        how = layout(spec, kind, definition)
        yield f"{kind:7}{spec['name']} [{shape}] {spec['dtype'] or dtype}, {how}"
    yield ""
    free = ", ".join(definition["held_back"]["free"]) or "none"
    yield f"A kernel may be specialised for every axis but these: {free}."
    yield "`reference` computes the operator in higher precision, and `copy_bits` copies its"
    yield "results: replace both. The rules are in kernels/CANDIDATES.md."


def _reference_alone(source: str) -> str:
    """`reference` and what it uses, without the step's own parts, docstring and future imports."""
    tree = ast.parse(source)
    defined = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    used: set[str] = set()
    pending = ["reference"]
    while pending:
        name = pending.pop()
        if name in defined and name not in used:
            used.add(name)
            names = (node for node in ast.walk(defined[name]) if isinstance(node, ast.Name))
            pending += [node.id for node in names]
    dropped: list[ast.stmt] = [node for name, node in defined.items() if name not in used]
    dropped += [node for node in tree.body if _is_preamble(node, tree.body)]
    lines = source.split("\n")
    for node in dropped:
        assert node.end_lineno is not None
        for line in range(_first_line(node) - 1, node.end_lineno):
            lines[line] = "\0"
    return _spaced([line for line in lines if line != "\0"])


def _is_preamble(node: ast.stmt, body: Sequence[ast.stmt]) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    return node is body[0] and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])


def _spaced(lines: Sequence[str]) -> str:
    """The lines with at most two empty ones in a row."""
    kept: list[str] = []
    for line in lines:
        if line.strip() or kept[-2:] != ["", ""]:
            kept.append(line.rstrip())
    return "\n".join(kept).strip()
