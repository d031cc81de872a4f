"""Measure a survey: `python -m benchmarks.surveying.survey_runs OPERATOR --preset h200 --out FILE`.

Solutions are measured in a separate process (kernels.surveys). One that crashes, hangs or breaks
the GPU loses only its own lines; another process continues with the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.harness.devices import backends, ceilings
from benchmarks.harness.runs import environment
from benchmarks.harness.sides import operators
from benchmarks.published import surveys
from benchmarks.records import signatures
from benchmarks.records.canonical import digest_of_bytes
from kernels import catalogue
from kernels.definition import OUT_OF_TIME, Preset
from kernels.surveys import Place, as_line, jobs
from kernels.trials import Timed

# A Solution without output for this long, compiling included, is given up.
_SILENCE_S = 120.0
# A job that started within the budget gets this long to finish.
_OVERTIME_S = 20.0
STOPPED = "stopped: out of time"
_STDERR_WORDS = 200


def survey(operator: str, preset_name: str, *, budget_s: float, command: str) -> dict[str, Any]:
    """Measure the survey of a preset, unsealed. Raises RuntimeError without its device."""
    preset = catalogue.presets(operator)[preset_name]
    started_at, started = datetime.now(UTC), time.monotonic()
    device = backends.device(preset.device)
    surroundings = environment.machine(device, ceilings.measure(device, preset.dtype))
    answers = _answers(operator, preset_name, jobs(operator, preset), budget_s)
    return {
        "schema": surveys.SCHEMA_NAME,
        "operator": operator,
        "preset": preset_name,
        "dtype": preset.dtype,
        "launch": preset.launch,
        "sources": catalogue.source_digests(operator),
        "workloads": _workloads(operator, preset_name, preset),
        "solutions": _solutions(operator, answers),
        "environment": surroundings,
        "command": command,
        "started_at": started_at.isoformat(timespec="seconds"),
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "elapsed_s": round(time.monotonic() - started, 3),
    }


def _workloads(operator: str, preset_name: str, preset: Preset) -> list[dict[str, Any]]:
    document = catalogue.benchmark_document(operator, preset_name)
    costs = {cost["name"]: cost for cost in operators.costs(document)}
    return [
        {"axes": dict(load.axes), "weight": load.weight}
        | {part: costs[load.name][part] for part in ("name", "operator_calls", "flops", "bytes")}
        for load in preset.workloads
    ]


def _solutions(
    operator: str, answers: Sequence[tuple[Place, str, dict[str, Any]]]
) -> list[dict[str, Any]]:
    baselines = catalogue.baselines(operator)
    found = []
    for name in dict.fromkeys(name for _, name, _ in answers):
        baseline = baselines.get(name)
        file = catalogue.candidates(operator).get(name)
        found.append(
            {
                "name": name,
                "role": "baseline" if baseline else "candidate",
                "title": baseline.title if baseline else "",
                "package": baseline.package if baseline else "",
                "source_digest": digest_of_bytes(file.read_bytes()) if file else None,
                "results": [
                    {"workload": place.workload.name, "level": place.level, **line}
                    for place, tried, line in answers
                    if tried == name
                ],
            }
        )
    return found


def _answers(
    operator: str, preset_name: str, asked: Sequence[tuple[Place, str]], budget_s: float
) -> list[tuple[Place, str, dict[str, Any]]]:
    """A line for every job, even if the processes die."""
    deadline = time.monotonic() + budget_s
    lines: dict[int, dict[str, Any]] = {}
    without: list[str] = []
    while (begin := _next(asked, lines, without)) is not None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            break
        worker = _Worker(operator, preset_name, begin=begin, without=without, budget_s=left_s)
        trying = begin
        for line in worker.lines(until=deadline + _OVERTIME_S):
            if "trying" in line:
                trying = line["trying"]
            else:
                lines[line.pop("job")] = line
        if worker.failure is not None and trying not in lines:
            lines[trying] = as_line(Timed("", None, worker.failure))
        if lines.get(trying, {}).get("median_us") is None:
            # The same Solution would crash the process again at the next job.
            without.append(asked[trying][1])
    return [
        (place, name, lines.get(index) or _given_up(lines, asked, index))
        for index, (place, name) in enumerate(asked)
    ]


def _next(
    asked: Sequence[tuple[Place, str]], lines: dict[int, dict[str, Any]], without: list[str]
) -> int | None:
    """The next job without a line; None when done."""
    left = (i for i, (_, name) in enumerate(asked) if i not in lines and name not in without)
    return next(left, None)


def _given_up(
    lines: dict[int, dict[str, Any]], asked: Sequence[tuple[Place, str]], index: int
) -> dict[str, Any]:
    """The line of a skipped job: the Solution failed before, or time ran out."""
    failed = [
        line["note"]
        for other, line in lines.items()
        if asked[other][1] == asked[index][1] and line["median_us"] is None
    ]
    return as_line(Timed("", None, failed[0] if failed else OUT_OF_TIME))


class _Worker:
    """A process of kernels.surveys; `failure` says how it ended abnormally."""

    def __init__(
        self, operator: str, preset: str, *, begin: int, without: Sequence[str], budget_s: float
    ) -> None:
        self.failure: str | None = None
        command = [sys.executable, "-m", "kernels.surveys", operator, "--preset", preset]
        command += ["--begin", str(begin), "--budget-s", f"{budget_s:.1f}"]
        command += [part for name in without for part in ("--without", name)]
        self._process = subprocess.Popen(  # our own module, by this interpreter
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._said: queue.Queue[str | None] = queue.Queue()
        self._errors: list[str] = []
        self._readers = [
            threading.Thread(target=self._read_lines, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def lines(self, *, until: float) -> Iterator[dict[str, Any]]:
        """Yield its lines until it ends, is silent for too long, or the time `until`."""
        while True:
            left_s = until - time.monotonic()
            try:
                line = self._said.get(timeout=max(0.0, min(_SILENCE_S, left_s)))
            except queue.Empty:
                self._process.kill()
                silent = f"did not answer within {_SILENCE_S:g} s and was stopped"
                self.failure = silent if left_s > _SILENCE_S else STOPPED
                break
            if line is None:
                break
            if line.startswith("{"):
                yield json.loads(line)
        code = self._process.wait()
        self._readers[1].join(timeout=5)
        if code and self.failure is None:
            last = " ".join(self._errors[-1:])[:_STDERR_WORDS]
            how = f"died of signal {-code}" if code < 0 else f"exited with status {code}"
            self.failure = f"the process {how}: {last}".rstrip(": ")

    def _read_lines(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(line)
        self._said.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors = [*self._errors[-20:], line.strip()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write one survey; 2 if this machine cannot."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.surveying.survey_runs")
    parser.add_argument("operator", choices=catalogue.operators_of_one_rank())
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--budget-s", type=float, default=75.0, help="begin no more after this")
    asked = parser.parse_args(arguments)
    try:
        key = signatures.take_key(os.environ)
        draft = survey(
            asked.operator,
            asked.preset,
            budget_s=asked.budget_s,
            command=f"python -m kernels measure {asked.operator} --preset {asked.preset}",
        )
    except (RuntimeError, signatures.KeyUnusable) as error:
        print(error, file=sys.stderr)
        return 2
    asked.out.write_bytes(surveys.serialize(draft, key))
    return 0


if __name__ == "__main__":
    sys.exit(main())
