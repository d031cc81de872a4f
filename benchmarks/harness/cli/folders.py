"""Commands for a benchmark of one's own and its candidates: init, check, template."""

import argparse
import json
import os
import re
import sys
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.harness.cli import files, measuring
from benchmarks.harness.failures import SetupError
from benchmarks.harness.sides import printable
from benchmarks.records import (
    benchmark_folders,
    captured_tensors,
    documents,
    traffic_workloads,
)
from benchmarks.records.canonical import canonical
from benchmarks.records.folder_errors import DESCRIPTION
from kernels import candidate_templates, catalogue, languages

_STARTERS = Path(__file__).resolve().parents[1] / "starters"
KINDS = ("attention", "matmul", "elementwise", "module")
_LETTERS = 20_000


def init(arguments: argparse.Namespace) -> int:
    """Write a benchmark folder that runs as it is."""
    folder: Path = arguments.folder
    name = require_new(folder)
    texts = benchmark_folders.read(_STARTERS / arguments.kind)
    own = f'operator = "my_{arguments.kind}"'
    texts[DESCRIPTION] = texts[DESCRIPTION].replace(own, f'operator = "{name}"')
    if arguments.log is not None:
        texts[DESCRIPTION] = _with_workloads(texts[DESCRIPTION], arguments.log, arguments.coverage)
    held = {} if arguments.captured is None else _captured(texts, arguments.captured)
    files.keep_all(folder, {**texts, **held})
    baseline = next((folder / "baselines").glob("*.py"))
    print(f"wrote {folder}; next: twofold check {folder}")
    print(f"a candidate has the form of {baseline}")
    return 0


def require_new(folder: Path) -> str:
    """The operator's name by that of a new or empty folder. Raises SetupError."""
    name = folder.resolve().name
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise SetupError(f"folder {name}: name it with small letters, digits and underscores")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SetupError(f"folder {folder} is not empty: choose a new one")
    return name


def _captured(texts: dict[str, str], file: Path) -> dict[str, bytes]:
    """Add a file of captured tensors to the first workload, whose axes become its tensors'."""
    name = f"{captured_tensors.FOLDER}/{re.sub(r'[^a-z0-9_]+', '_', file.stem.lower())}.safetensors"
    try:
        held = {name: file.read_bytes()}
    except OSError as error:
        raise SetupError(f"cannot read {file}: {error.strerror}") from error
    described = benchmark_folders.described(held)
    given = tomllib.loads(texts[DESCRIPTION])
    first = given["workloads"][0]
    axes = dict(first["axes"])
    specs = {each["name"]: each for each in (*given.get("state", ()), *given["inputs"])}
    for tensor, each in described[name]["tensors"].items():
        for side, size in zip(specs.get(tensor, {}).get("shape", ()), each["shape"], strict=False):
            if isinstance(side, str):
                axes[side] = size
    workload = traffic_workloads.Drafted(workloads=[(first["name"], axes, 1.0)], calls=1, covered=1)
    text = traffic_workloads.filled(texts[DESCRIPTION], workload, source=None)
    texts[DESCRIPTION] = text + f"captured = {json.dumps(name)}\n"
    document = benchmark_folders.document(texts, captured=described)
    captured_tensors.opened(document, held)
    return held


def _with_workloads(description: str, log: Path, coverage: float) -> str:
    """The description with the workloads of a log; axes that the log lacks keep their sizes."""
    fixed = tomllib.loads(description)["workloads"][0]["axes"]
    logged = traffic_workloads.read_log(files.content(log), log.name)
    drafted = traffic_workloads.draft(logged, fixed=fixed, coverage=coverage)
    for each in drafted.left_out:
        print(f"left out: {log.name}, {each}", file=sys.stderr)
    time = "" if drafted.covered_time is None else f" and {drafted.covered_time:.0%} of their time"
    print(f"the named workloads cover {drafted.covered:.0%} of {drafted.calls:,} calls{time}")
    return traffic_workloads.filled(description, drafted, source=log.name)


def check(arguments: argparse.Namespace) -> int:
    """Try a benchmark folder or document as the referee will; exit code 1 if it must be changed."""
    document, held = measuring.benchmark(arguments.folder, arguments.tensors)
    if "files" not in document:
        raise SetupError(f"{arguments.folder} contains no files: check a benchmark folder")
    if arguments.out is not None:
        files.require_room_for(arguments.out)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from benchmarks.harness.runs import folder_checks
    from benchmarks.harness.sides import isolation

    def say(trial: folder_checks.Trying | folder_checks.Result) -> None:
        if arguments.progress:
            data = trial.as_data() if isinstance(trial, folder_checks.Result) else asdict(trial)
            event = "tried" if isinstance(trial, folder_checks.Result) else "trying"
            print(json.dumps({"event": event, **data}), flush=True)
        elif isinstance(trial, folder_checks.Result):
            shown = printable.line(trial.message, _LETTERS)
            print(f"{trial.outcome}: {trial.title}: {shown}", flush=True)

    found = folder_checks.check(
        document,
        say,
        calibrates=arguments.out is not None,
        required_isolation=isolation.required(arguments.require_isolation),
        captured=held,
    )
    if found is None:
        return 1
    if arguments.out is not None:
        files.keep(arguments.out, canonical(found))
    return 0


def template(arguments: argparse.Namespace) -> int:
    """Write a candidate that runs as it is, for a benchmark or an operator of the catalogue."""
    data, reference, dtype, device = _measured_by(arguments.benchmark)
    offered = {each.name: each for each in candidate_templates.languages(data, device)}
    language = offered.get(arguments.language)
    if language is None:
        raise SetupError(
            f"no template in {arguments.language} for this benchmark: "
            f"{', '.join(offered) or 'none'}"
        )
    text = candidate_templates.text(data, reference, language, dtype)
    out: Path = arguments.out or Path(language.filename)
    if out.suffix != language.suffix:
        raise SetupError(f"{out}: a template in {language.title} is a {language.suffix} file")
    try:
        with out.open("x") as opened:
            opened.write(text)
    except OSError as error:
        raise SetupError(f"cannot write {out}: {error.strerror}") from error
    print(f"wrote {out}")
    return 0


def _measured_by(benchmark: str) -> tuple[dict[str, Any], str, str, str | None]:
    """Definition, reference.py, dtype and device of a document, a folder or an operator."""
    path = Path(benchmark)
    if path.is_dir():
        document, _ = benchmark_folders.of_folder(path)
    elif benchmark.endswith(".json"):
        document = documents.load(files.content(path))
    else:
        try:
            what, code = catalogue.definition(benchmark), catalogue.reference_source(benchmark)
        except catalogue.CatalogueError as error:
            raise SetupError(str(error)) from error
        return what.as_data(), code, next(iter(what.tolerances)), None
    code = catalogue.reference_of(document)
    return document["definition"], code, document["dtype"], document["hardware"]["device"]


def add_template_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `template`."""
    command = commands.add_parser("template", help="write a candidate that runs as it is")
    command.add_argument("benchmark", help="a benchmark document or folder, or an operator")
    command.add_argument("--language", default="triton", help=", ".join(languages.known()))
    command.add_argument("--out", type=Path, help="the file, by default LANGUAGE_mine")
    command.set_defaults(do=template)
