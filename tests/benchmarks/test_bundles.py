"""A bundle repeats a measurement where nothing but torch and a few libraries is installed."""

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from benchmarks import bundles
from benchmarks.models import Record, Repetition, Run
from benchmarks.records import archives, records, signatures
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.services import repetitions, runs
from benchmarks.verdict import consistency
from tests import referee_key
from tests.benchmarks.conftest import raises_code


def _in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Nothing of this checkout may help: no PYTHONPATH, and the folder comes first.
    kept = ("PATH", "LD_LIBRARY_PATH", "LANG", "OMP_NUM_THREADS")
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.harness", *arguments],
        cwd=folder,
        env={name: os.environ[name] for name in kept if name in os.environ},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def finished(claimed: Run, record_bytes: bytes) -> Run:
    runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)
    claimed.refresh_from_db()
    return claimed


@pytest.mark.soak
def test_a_bundle_verifies_and_measures_and_its_record_comes_back(
    finished: Run, tmp_path: Path
) -> None:
    with zipfile.ZipFile(io.BytesIO(bundles.archive(run=finished, with_source=True))) as archive:
        archive.extractall(tmp_path)
    readme = (tmp_path / "README.txt").read_text().splitlines()
    assert len(readme) == 3
    for line in readme[1:]:
        ran = _in(tmp_path, *line.partition("python -m benchmarks.harness ")[2].split())
        assert ran.returncode == 0, ran.stderr
        if " verify " in line:
            assert f"signed by key {referee_key.KEY.public.id}" in ran.stdout
    # It ran the unpacked referee and no other.
    where = [sys.executable, "-c", "import benchmarks.harness as h; print(h.__file__)"]
    said = subprocess.run(where, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.startswith(str(tmp_path))

    again = (tmp_path / "again.json").read_bytes()
    before = Record.objects.values().get()
    kept = repetitions.add(content=again, by="the tests")
    assert (kept.run, kept.signer, kept.signed_by) == (finished, "not signed", None)
    assert kept.verdict == records.load(again)["summary"]["verdict"]
    assert repetitions.add(content=again, by="the tests", run=finished) == kept
    assert Record.objects.values().get() == before


def test_the_first_line_names_the_required_libraries(finished: Run) -> None:
    document = finished.benchmark.document
    said = archives._libraries(document)
    assert said == "torch, numpy, safetensors, rfc8785, jsonschema and cryptography"
    document["hardware"]["device"] = "cuda"
    document["baseline"] |= {"package": "flashinfer-python", "version": "0.6.1"}
    said = archives._libraries(document)
    assert "nvidia-ml-py" in said
    assert said.endswith(" and flashinfer-python 0.6.1")


def test_the_same_run_gives_the_same_bytes(finished: Run) -> None:
    assert bundles.archive(run=finished, with_source=True) == bundles.archive(
        run=finished, with_source=True
    )


def test_without_the_source_no_candidate_is_in_it(finished: Run) -> None:
    content = bundles.archive(run=finished, with_source=False, why_without="It stays here.")
    source = finished.solution.source.encode()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            assert source not in archive.read(name), name
        assert json.loads(archive.read("record.json"))["candidate"]["source"] is None
        assert b"It stays here." in archive.read("README.txt")
        assert not [name for name in archive.namelist() if "cascade" in name]


def test_a_run_without_a_record_has_no_bundle(claimed: Run) -> None:
    with raises_code("bundle.no_record"):
        bundles.archive(run=claimed, with_source=True)


def test_a_repetition_names_its_unknown_key(
    finished: Run, record_bytes: bytes, tmp_path: Path
) -> None:
    stranger = signatures.make_key(tmp_path / "key")
    foreign = records.serialize(records.load(record_bytes), stranger)
    kept = repetitions.add(content=foreign, by="the tests", run=finished)
    assert kept.signer == f"signed by unknown key {stranger.public.id}"
    ours = repetitions.add(content=record_bytes, by="the tests")
    # The same measurement is kept once, as it came first.
    assert ours == kept
    assert Repetition.objects.count() == 1


def test_a_device_name_is_stored_without_unprintable_characters(
    finished: Run, record_bytes: bytes
) -> None:
    record = records.load(record_bytes)
    record["environment"]["device"]["name"] = "\0GPU of\x1ba stranger"
    content = referee_key.sign(consistency.seal(record))
    kept = repetitions.add(content=content, by="the tests", run=finished)
    assert kept.device_name == "GPU of a stranger"


def test_a_record_that_repeats_no_run_is_rejected(finished: Run, record_bytes: bytes) -> None:
    record = records.load(record_bytes)
    with raises_code("record.invalid"):
        repetitions.add(content=b"{}", by="the tests")
    record["summary"]["verdict"] = "met" if record["summary"]["verdict"] != "met" else "missed"
    with raises_code("record.contradictory"):
        repetitions.add(content=referee_key.sign(record), by="the tests")
    other = records.load(record_bytes)
    other["candidate"] |= {"source": "pass", "source_digest": digest_of_bytes(b"pass")}
    other = consistency.seal(other)
    with raises_code("repetition.no_run"):
        repetitions.add(content=referee_key.sign(other), by="the tests")
    with raises_code("repetition.other_run"):
        repetitions.add(content=referee_key.sign(other), by="the tests", run=finished)
    assert not Repetition.objects.exists()
