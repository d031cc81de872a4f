"""A referee in this process, to measure small candidates with."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from benchmarks.harness.devices import backends, ceilings
from benchmarks.harness.runs.progress import Progress
from benchmarks.harness.sides import operators
from tests.exploits import warm
from tests.harness.softmax import EXPLOITS, OPERATORS, Document, Measure, softmax_benchmark

_MEASURE_CEILINGS = ceilings.measure


@pytest.fixture(autouse=True)
def own_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators of these tests are found by the referee and by every side that it starts."""
    monkeypatch.setenv(operators.SEARCH_PATH_VARIABLE, str(OPERATORS))


@pytest.fixture(scope="session", autouse=True)
def ceilings_measured_once() -> Iterator[None]:
    """The runs of one process share what the first one measured of the machine itself."""
    measured = cache(lambda kind, dtype: _MEASURE_CEILINGS(backends.device(kind), dtype))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            ceilings, "measure", lambda device, dtype: copy.deepcopy(measured(device.kind, dtype))
        )
        yield


@pytest.fixture
def document() -> Document:
    """A sound benchmark document, to be spoilt by a test."""
    return softmax_benchmark()


@pytest.fixture(scope="session")
def pool() -> Iterator[warm.Pool]:
    """Running sides for all runs of a test process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(operators.SEARCH_PATH_VARIABLE, str(OPERATORS))
        with warm.pool() as kept:
            yield kept


@pytest.fixture
def measure(pool: warm.Pool) -> Measure:
    """`measure("honest", **changes)`: the record of one exploit's run, in this process.

    On a CPU the baseline's process serves many runs, and so does that of an honest candidate.
    """

    def measured(exploit: str, *, document: Document | None = None, **changes: Any) -> Document:
        on_gpu = document is not None and document["hardware"]["device"] == "cuda"
        # The sides of the baseline against itself are known by their own folders.
        both = exploit in ("honest", "only_the_contract") and not changes.get("aa_rounds")
        with contextlib.nullcontext() if on_gpu else warm.sides_for_a_run(pool, both=both):
            return _measured(exploit, document=document, **changes)

    return measured


@pytest.fixture(scope="session")
def _honest_record() -> Document:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(operators.SEARCH_PATH_VARIABLE, str(OPERATORS))
        # Rounds as short as these can drown in what else the machine does: then the run is
        # rightly invalid, and no record to look at.
        for _ in range(4):
            record = _measured("honest", aa_rounds=8, operator_rounds=4, rounds=4)
            if record["summary"]["ratio"] is not None:
                return record
        raise AssertionError(f"no ratio in four runs: {record['summary']['reasons']}")


@pytest.fixture
def honest_record(_honest_record: Document) -> Document:
    """The record of a run with everything in it, measured once for all who look at one."""
    return copy.deepcopy(_honest_record)


def _measured(
    exploit: str,
    *,
    document: Document | None = None,
    telemetry: Any = None,
    **changes: Any,
) -> Document:
    from benchmarks.harness.runs import candidates, referee
    from benchmarks.records import documents

    chosen = document or softmax_benchmark(**changes)
    documents.check(chosen)
    return referee.run(
        chosen,
        candidates.read(str(EXPLOITS / f"{exploit}.py")),
        device_kind=chosen["hardware"]["device"],
        command=f"python -m benchmarks.harness run b.json {exploit}.py --out r.json",
        progress=Progress(chosen, shown=False),
        telemetry=telemetry,
    )
