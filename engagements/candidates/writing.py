"""The interface of a benchmark's candidates, with templates and commands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse

from kernels import candidate_templates, catalogue
from kernels.definition import STORED_BYTES, TensorSpec
from kernels.languages import Language


@dataclass(frozen=True, kw_only=True)
class TensorRow:
    """A tensor of the operator; `sizes` are its shapes by call of the workload."""

    name: str
    kind: str
    dtype: str
    shape: str
    layout: str
    sizes: str
    size_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class WorkloadTensors:
    """The operator's tensors at one workload; `calls` of it make a step, in different shapes."""

    name: str
    calls: str
    rows: Sequence[TensorRow]


@dataclass(frozen=True, kw_only=True)
class Template:
    """A template to download, and the commands that try it."""

    title: str
    filename: str
    url: str
    commands: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Everything that the author of a candidate needs."""

    signature: Sequence[str]
    free: Sequence[str]
    workloads: Sequence[WorkloadTensors]
    templates: Sequence[Template]
    trains: bool


def writing_of(
    document: Mapping[str, Any],
    *,
    url_of: Callable[[str], str],
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> Writing:
    """The interface of the candidates of this benchmark document.

    `url_of` is the address of a template by language. `before` are commands that make
    benchmark.json, `after` those that submit the candidate FILE.
    """
    what, device = document["definition"], document["hardware"]["device"]
    trains = candidate_templates.trains(what)
    signature = ["prepare(state, axes)  # once a layer, untimed", "run(prepared, inputs, out)"]
    if trains:
        signature.append("gradients(state, inputs, out, grads, axes)  # returns them by name")
    return Writing(
        signature=signature,
        free=what["held_back"]["free"],
        workloads=[_workload(document, load) for load in document["workloads"]],
        templates=[
            Template(
                title=each.title,
                filename=each.filename,
                url=url_of(each.name),
                commands=[
                    *before,
                    *_commands(each, device),
                    *(line.replace("FILE", each.filename) for line in after),
                ],
            )
            for each in candidate_templates.languages(what, device)
        ],
        trains=trains,
    )


def template_response(
    document: Mapping[str, Any], language: str, *, public: bool = False
) -> HttpResponse:
    """The template of a language as a download. Http404 without one."""
    what = document["definition"]
    offered = candidate_templates.languages(what, document["hardware"]["device"])
    chosen = next((each for each in offered if each.name == language), None)
    if chosen is None:
        raise Http404("No such template.")
    reference = catalogue.reference_of(document)
    text = candidate_templates.text(what, reference, chosen, document["dtype"])
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{chosen.filename}"'
    response["X-Content-Type-Options"] = "nosniff"
    if not public:
        response["Cache-Control"] = "private, no-store"
    return response


def _commands(language: Language, device: str) -> list[str]:
    variables = f"{language.variables} " if language.variables and device == "cpu" else ""
    run = f"{variables}twofold run benchmark.json {language.filename} --out record.json"
    return [run, "twofold verify record.json"]


def _workload(document: Mapping[str, Any], load: Mapping[str, Any]) -> WorkloadTensors:
    what = document["definition"]
    slots = catalogue.slots(document["operator"], load["axes"]) if "files" not in document else ()
    points = [slot.axes for slot in slots] or [load["axes"]]
    rows = [
        _row(spec, kind, points, what, document["dtype"])
        for kind, spec in candidate_templates.tensor_rows(what)
    ]
    calls = ", ".join(str(slot.calls) for slot in slots) if len(slots) > 1 else ""
    return WorkloadTensors(name=load["name"], calls=calls, rows=rows)


def _row(
    data: Mapping[str, Any],
    kind: str,
    points: Sequence[Mapping[str, int]],
    what: Mapping[str, Any],
    dtype: str,
) -> TensorRow:
    spec = TensorSpec(**data)
    shapes = list(dict.fromkeys(spec.sizes(axes) for axes in points))
    width = STORED_BYTES.get(spec.dtype or dtype)
    return TensorRow(
        name=spec.name,
        kind=kind,
        dtype=spec.dtype or dtype,
        shape=" × ".join(map(str, spec.shape)) or "scalar",
        layout=candidate_templates.layout(data, kind, what),
        sizes="; ".join(" × ".join(f"{side:,}" for side in shape) or "1" for shape in shapes),
        size_bytes=width and max(math.prod(shape) for shape in shapes) * width,
    )
