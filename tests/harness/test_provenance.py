"""A record names the code behind it, and the values that it alone was given."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from benchmarks.harness import __main__ as command
from benchmarks.harness.cli import measuring
from benchmarks.harness.failures import SetupError
from benchmarks.harness.runs import provenance
from benchmarks.records import documents, records
from benchmarks.records.canonical import canonical, digest_of_bytes
from benchmarks.records.documents import InvalidBenchmark
from benchmarks.verdict import consistency
from tests.harness.samples import twice_as_fast
from tests.harness.softmax import Document, Measure, softmax_benchmark

KERNELS = Path(command.__file__).parents[2] / "kernels"


def test_every_module_that_baseline_and_program_load_has_its_digest() -> None:
    found = provenance.sources("shared_prefix_attention")
    assert {"baselines.py", "op.py", "program.py", "reference.py"} <= {
        name.removeprefix("shared_prefix_attention/") for name in found
    }
    # Of the operator's module, and of one that only another module imports.
    assert {"llama.py", "definition.py", "solutions.py"} <= set(found)
    assert not any("triton" in name for name in found)
    for name, digest in found.items():
        assert digest == digest_of_bytes((KERNELS / name).read_bytes())


def test_another_referee_has_another_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    before = provenance.referee_digest()
    assert before == provenance.referee_digest()
    changed = Path(command.__file__)
    plain = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda file: plain(file) + b"#" * (file == changed))
    assert provenance.referee_digest() != before


def test_a_benchmark_without_sources_is_refused() -> None:
    with pytest.raises(InvalidBenchmark, match="sources"):
        documents.check(softmax_benchmark() | {"sources": {}})


def test_a_record_of_other_sources_than_the_sealed_contradicts_itself() -> None:
    record = twice_as_fast()
    sealed = {f"row_softmax/{name}": digest for name, digest in _sealed(record).items()}
    record["provenance"] = {"referee": "sha256:" + "1" * 64, "sources": sealed}
    record = consistency.seal(record)
    assert consistency.problems(records.load(canonical(record))) == []
    other = copy.deepcopy(record)
    other["provenance"]["sources"]["row_softmax/program.py"] = "sha256:" + "2" * 64
    (problem,) = consistency.problems(consistency.seal(other))
    assert problem == "provenance.sources: program.py is not the sealed one"


def _sealed(record: Document) -> dict[str, str]:
    sources: dict[str, str] = record["benchmark"]["sources"]
    return sources


@pytest.mark.parametrize("given", ["site=short", "nobody=" + "a" * 64, "a" * 64])
def test_what_is_no_nonce_is_refused(given: str) -> None:
    with pytest.raises(SetupError, match="--nonce"):
        measuring._nonces([given])


@pytest.mark.alone
def test_a_run_keeps_its_provenance_and_nonces(honest_record: Document, measure: Measure) -> None:
    loaded = honest_record["provenance"]
    assert loaded["referee"] == provenance.referee_digest()
    assert loaded["sources"].keys() >= {"row_softmax/program.py", "solutions.py"}
    assert honest_record["nonces"] == {}
    assert measuring._nonces(["site=" + "a" * 64]) == {"site": "a" * 64}
