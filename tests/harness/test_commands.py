"""The command line, as a customer or a worker runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness import __main__ as harness
from benchmarks.harness.cli import measuring, parsing
from benchmarks.harness.devices import backends
from benchmarks.harness.failures import SideFailed
from benchmarks.harness.sides import side
from benchmarks.records import records, signatures
from benchmarks.records.canonical import canonical
from benchmarks.records.redaction import withhold_source
from benchmarks.verdict import consistency
from tests.harness.samples import twice_as_fast
from tests.harness.softmax import EXPLOITS, softmax_benchmark

ROOT = Path(__file__).parents[2]


def _harness(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.harness", *map(str, arguments)],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )


def _main(*arguments: str | Path) -> int:
    """The command in this process, which has imported torch already."""
    return harness.main([str(argument) for argument in arguments])


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    path = tmp_path / "b.json"
    # Rounds long enough to be told from empty ones while other tests keep the processors busy.
    document = softmax_benchmark(round_ms=10.0, max_calls=128, round_limit_s=5.0)
    path.write_text(json.dumps(document))
    return path


def test_a_run_writes_a_signed_record_that_verifies_and_its_sides_never_see_the_key(
    benchmark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, key, candidate = tmp_path / "r.json", tmp_path / "key", EXPLOITS / "key_searched.py"
    signatures.make_key(key)
    monkeypatch.setenv(signatures.KEY_FILE_VARIABLE, str(key))
    ran = _harness("run", benchmark, candidate, "--out", out, "--progress")
    # The candidate raises where it finds the key.
    assert ran.returncode == 0, ran.stderr
    signatures.check(out.read_bytes(), signatures.read_key(key).public)
    record = records.load(out.read_bytes())
    assert record["summary"]["verdict"] != "disqualified"
    assert record["candidate"]["source"] == candidate.read_text()
    assert record["command"] == "twofold run b.json key_searched.py --out r.json"
    assert str(tmp_path) not in out.read_text()
    assert out.stat().st_size < 300_000
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    kinds = [event["event"] for event in events]
    # A replicate too noisy to judge, as on busy processors, sends no event of its own.
    kinds = [kind for kind in kinds if kind != "replicate"]
    assert kinds == ["started", "round", "round", "round", "finished"]
    assert events[-1]["ratio"] == record["summary"]["ratio"]
    fields = ["event", "replicate", "replicates", "round", "rounds", "workload"]
    fields += ["ratio", "low", "high", "message"]
    assert all(list(event) == fields for event in events)
    verified = _harness("verify", out)
    assert verified.returncode == 0, verified.stderr
    assert verified.stdout.startswith(record["summary"]["verdict"])


def test_a_disqualified_candidate_gets_a_record(
    benchmark: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.json"
    zeros = tmp_path / "zeros.py"
    said = "print('\\x1b[2J here is why', flush=True)\n"
    zeros.write_text(f"{said}{(EXPLOITS / 'zeros.py').read_text()}")
    assert _main("run", benchmark, zeros, "--out", out) == 0
    assert capfd.readouterr().out == ""
    record = records.load(out.read_bytes())
    assert record["summary"]["verdict"] == "disqualified"
    # Who wrote it sees what it printed, made printable; it is withheld with the source.
    assert "here is why" in record["candidate"]["output"]
    assert "\x1b" not in record["candidate"]["output"]
    assert consistency.problems(record) == []
    withheld = records.load(withhold_source(out.read_bytes()))
    assert (withheld["candidate"]["source"], withheld["candidate"]["output"]) == (None, None)
    assert consistency.problems(withheld) == []
    record["candidate"]["output"] += "!"
    assert len(consistency.problems(record)) == 1


def test_a_candidate_that_raises_exits_3_with_one_line_and_no_record(
    benchmark: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.json"
    assert _main("run", benchmark, EXPLOITS / "raises.py", "--out", out, "--progress") == 3
    printed = capfd.readouterr()
    assert printed.err.count("\n") == 1
    assert "ValueError: shape 7" in printed.err
    last = json.loads(printed.out.splitlines()[-1])
    assert (last["event"], last["message"]) == ("failed", printed.err.strip())
    assert "Traceback" in last["log"]
    assert list(tmp_path.iterdir()) == [benchmark]


def test_a_compile_log_is_printed_above_the_error(
    benchmark: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    message = "the candidate raised CompileError: the CUDA source does not compile"
    log = "candidate.cu(3): error: expected a ';'\n1 error detected"
    monkeypatch.setattr(measuring, "_measured", lambda *_: SideFailed(message, log=log))
    out = tmp_path / "r.json"
    assert harness.main(["run", str(benchmark), "mine.cu", "--out", str(out)]) == 3
    assert capsys.readouterr().err.splitlines() == [*log.splitlines(), message]


def test_a_candidates_name_is_quoted_in_the_command_of_a_repetition() -> None:
    asked = parsing.parser().parse_args(["run", "b.json", "/x/k; rm -rf ~.py", "--out", "r.json"])
    said = measuring._command(asked)
    assert said == "twofold run b.json 'k; rm -rf ~.py' --out r.json"


def test_a_missing_gpu_is_named_as_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(RuntimeError, match="torch sees no CUDA device here"):
        backends.device("cuda")
    triton = pytest.importorskip("triton")
    # A configuration of its own: another test may have made the one that is kept.
    with pytest.raises(RuntimeError) as raised:
        type(triton.runtime.driver)().active.get_current_device()
    message = side._described(raised.value)["error"]
    assert "Triton finds no GPU here" in message
    assert "TRITON_INTERPRET=1" in message


def test_unusable_input_exits_2_with_one_line(
    benchmark: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.json"
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    private = tmp_path / "private"
    signatures.make_key(private)
    endless = tmp_path / "endless.json"
    with endless.open("wb") as opened:
        # Of holes alone: nobody has so much memory.
        opened.truncate(1 << 36)
    refused: list[tuple[tuple[str | Path, ...], str]] = [
        (("run", broken, EXPLOITS / "honest.py", "--out", out), "JSON"),
        (("run", tmp_path / "none.json", "x.py", "--out", out), "cannot read"),
        (("run", benchmark, tmp_path / "none.py", "--out", out), "none.py"),
        (("new", "no_such_operator"), "no_such_operator"),
        (("verify", broken), "JSON"),
        (("verify", tmp_path / "none.json"), "cannot read"),
        (("verify", endless), "larger than 8,000,000 bytes"),
        (("verify", benchmark, "--public-key", private), "this is a private key"),
    ]
    for arguments, complaint in refused:
        assert _main(*arguments) == 2, arguments
        error = capfd.readouterr().err
        assert error.count("\n") == 1, error
        assert complaint in error


def test_a_changed_record_does_not_verify(tmp_path: Path) -> None:
    record = twice_as_fast()
    record["replicates"][0]["workloads"][0]["rounds"][0]["candidate_us"] *= 0.5
    path = tmp_path / "r.json"
    path.write_bytes(canonical(record))
    ran = _harness("verify", path)
    assert ran.returncode == 1
    assert "digest: the record was changed" in ran.stderr
    assert "summary.ratio" in ran.stderr


def test_a_new_benchmark_is_complete(tmp_path: Path) -> None:
    out = tmp_path / "b.json"
    made = _harness("new", "shared_prefix_attention", "--preset", "cpu", "--out", out)
    assert made.returncode == 0, made.stderr
    assert json.loads(out.read_text())["operator"] == "shared_prefix_attention"


def test_verifying_imports_neither_torch_nor_django(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from benchmarks.records import canonical, documents, records\n"
        "from benchmarks.harness.runs import progress\n"
        "from benchmarks.verdict import verdicts\n"
        "import benchmarks.harness.__main__ as main\n"
        "code = main.main(['verify', sys.argv[1]])\n"
        "bad = {'torch', 'triton', 'django', 'scipy'} & set(sys.modules)\n"
        "sys.exit(f'imported {bad}' if bad else code)"
    )
    path = tmp_path / "r.json"
    path.write_bytes(canonical(twice_as_fast()))
    ran = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_a_record_is_repeated_with_its_own_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = twice_as_fast()
    (tmp_path / "r.json").write_bytes(records.serialize(record, None))
    asked: list[tuple[Any, str]] = []

    def measured(arguments: Any, document: Any, held: Any, progress: Any) -> Any:
        asked.append((document, Path(arguments.candidate).read_text()))
        assert measuring._command(arguments) == "twofold repeat r.json --out again.json"
        return record

    monkeypatch.setattr(measuring, "_measured", measured)
    again = tmp_path / "again.json"
    assert harness.main(["repeat", str(tmp_path / "r.json"), "--out", str(again)]) == 0
    assert asked == [(record["benchmark"], record["candidate"]["source"])]
    assert records.load(again.read_bytes())["digest"] == record["digest"]
    withheld = tmp_path / "withheld.json"
    withheld.write_bytes(withhold_source(records.serialize(record, None)))
    assert harness.main(["repeat", str(withheld), "--out", str(again)]) == 2


def test_a_bundle_of_a_record_verifies_where_nothing_is_installed(tmp_path: Path) -> None:
    record = ROOT / "kernels" / "vector_add" / "records" / "h200.record.json"
    out = tmp_path / "b.zip"
    if harness.main(["bundle", str(record), "--out", str(out)]) == 2:
        pytest.skip("the operator changed since this record was measured")
    with zipfile.ZipFile(out) as archive:
        archive.extractall(tmp_path / "bundle")
    said = subprocess.run(
        [sys.executable, "-m", "benchmarks.harness", "verify", "record.json"],
        cwd=tmp_path / "bundle",
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
