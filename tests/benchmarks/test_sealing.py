"""Benchmarks and solutions are stored once and never changed."""

from typing import Any

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.models import Benchmark, Solution
from benchmarks.services import benchmarks, solutions
from kernels import catalogue
from tests.benchmarks.conftest import raises_code
from tests.database_constraints import violates

OPERATOR = "shared_prefix_attention"
pytestmark = pytest.mark.django_db

RUN = "def run(prepared, inputs, out): ...\n"


def document() -> dict[str, Any]:
    return catalogue.benchmark_document(OPERATOR, "tiny")


def test_the_same_document_is_the_same_benchmark() -> None:
    shuffled = dict(reversed(document().items()))

    assert benchmarks.seal(document=document()) == benchmarks.seal(document=shuffled)
    assert Benchmark.objects.get().document == document()


def test_one_changed_number_is_another_benchmark() -> None:
    changed = document() | {"target": 1.9}

    assert benchmarks.seal(document=document()) != benchmarks.seal(document=changed)


def test_a_document_that_cannot_be_measured_is_refused_with_the_field() -> None:
    broken = document() | {"target": "much"}

    with pytest.raises(BenchmarkError) as raised:
        benchmarks.seal(document=broken)
    assert raised.value.code == "benchmark.invalid"
    assert "target" in raised.value.message


def test_a_number_that_is_none_is_refused() -> None:
    with raises_code("benchmark.invalid"):
        benchmarks.seal(document=document() | {"target": float("nan")})


def test_a_sealed_benchmark_cannot_be_changed_in_the_database() -> None:
    benchmark = benchmarks.seal(document=document())

    with violates("benchmark.append_only"):
        Benchmark.objects.filter(pk=benchmark.pk).update(name="another")


def test_the_same_source_is_stored_once() -> None:
    first = solutions.from_catalogue(operator=OPERATOR, name="torch_cascade")
    again = solutions.submit(
        name=first.name, operator=OPERATOR, filename="other.py", source=first.source
    )

    assert again == first
    assert Solution.objects.count() == 1


def test_a_fixed_source_is_another_solution() -> None:
    first = solutions.submit(name="mine", operator=OPERATOR, filename="a.py", source=RUN)
    fixed = solutions.submit(
        name="mine", operator=OPERATOR, filename="a.py", source=f"{RUN}x = 2\n"
    )

    assert first != fixed


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"source": "def run(:\n"}, "solution.syntax"),
        ({"source": "x = 1\n"}, "solution.no_run"),
        ({"source": " \n"}, "solution.empty"),
        ({"source": "x = '\0'"}, "solution.encoding"),
        ({"source": "x = '\ud800'"}, "solution.encoding"),
        ({"source": "(" * 5000 + ")" * 5000}, "solution.syntax"),
        ({"source": "#" * 600_000}, "solution.too_large"),
        ({"filename": "../../etc/passwd.py"}, "solution.filename"),
        ({"filename": "kernel.so"}, "solution.filename"),
        ({"operator": "softmax"}, "solution.operator"),
        ({"name": " "}, "solution.name"),
    ],
)
def test_what_cannot_be_a_solution_is_refused(changes: dict[str, str], code: str) -> None:
    offered = {"name": "n", "operator": OPERATOR, "filename": "n.py", "source": RUN}

    with raises_code(code):
        solutions.submit(**(offered | changes))


def test_an_unknown_kernel_is_refused_with_those_that_exist() -> None:
    with pytest.raises(BenchmarkError) as raised:
        solutions.from_catalogue(operator=OPERATOR, name="triton_dream")
    assert raised.value.code == "solution.candidate"
    assert "torch_cascade" in raised.value.message


@pytest.mark.parametrize("name", ["", "x" * 121, "a\0b", "a\nb", "\x1b[2Ja", "\ud800"])
def test_a_name_that_no_page_and_no_row_can_show_is_refused(name: str) -> None:
    with raises_code("solution.name"):
        solutions.submit(
            name=name, operator=OPERATOR, filename="k.py", source="def run(p, i, o): ...\n"
        )
