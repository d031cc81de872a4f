"""Captured tensors of a customer's benchmark: stored by digest, given to workers and runners."""

from __future__ import annotations

import uuid
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from safetensors.numpy import save

from benchmarks.errors import BenchmarkError
from benchmarks.measuring import checking
from benchmarks.models import BenchmarkCheck, CapturedFile, place_of_records
from benchmarks.records import captured_tensors
from benchmarks.services import captured_files, leases, solutions
from engagements.benchmark import services as benchmark
from engagements.benchmark.models import BenchmarkVersion
from engagements.contracts.clauses import schedules
from tests.engagements.benchmark.folders import passed, starter, zipped
from tests.engagements.runners.conftest import Machine, machine, requested
from tests.engagements.world import World

NAME = "captured/decode.safetensors"


def _content(value: float = 1.0) -> bytes:
    import numpy

    return save({"x": numpy.full((16, 256), value, dtype="float32")})


def _archive(content: bytes) -> bytes:
    texts = starter("elementwise", **{"weight = 0.7": f'weight = 0.7\ncaptured = "{NAME}"'})
    made = zipped(texts)
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr(f"my_folder/{NAME}", content)
    return made.getvalue()


@pytest.fixture
def version(client: Client, world: World) -> BenchmarkVersion:
    """A version with captured tensors, uploaded by page."""
    client.force_login(world.signatory)
    engagement = world.active().engagement
    upload = SimpleUploadedFile("mine.zip", _archive(_content()))
    url = reverse("portal-benchmark-upload", args=[engagement.reference])
    assert client.post(url, {"archive": upload}).status_code == 302
    return BenchmarkVersion.objects.get()


def test_the_tensors_are_stored_once_by_digest_and_shown(
    client: Client, version: BenchmarkVersion
) -> None:
    captured_files.store(files={"again": _content()})
    row = CapturedFile.objects.get()
    document = version.checks.get().check_job.benchmark
    assert document["captured"][NAME]["digest"] == row.digest
    assert captured_files.of(document) == {NAME: _content()}
    with pytest.raises(IntegrityError), transaction.atomic():
        CapturedFile.objects.update(size_bytes=1)
    page = client.get(reverse("portal-benchmark", args=[version.engagement.reference]))
    assert "x float32 [16 × 256]" in page.content.decode()
    place_of_records().delete(row.file.name or "")
    with pytest.raises(BenchmarkError) as raised:
        captured_files.of(document)
    assert raised.value.code == "captured.file_missing"


@pytest.mark.parametrize("content", [b"none", _content(float("nan"))], ids=["text", "NaN"])
def test_other_tensors_are_refused(client: Client, world: World, content: bytes) -> None:
    client.force_login(world.signatory)
    url = reverse("portal-benchmark-upload", args=[world.scoping().reference])
    upload = SimpleUploadedFile("mine.zip", _archive(content))
    answer = client.post(url, {"archive": upload})
    assert answer.status_code == 422
    codes = [error.code for error in answer.context["upload_form"].non_field_errors().as_data()]
    assert codes == ["folder.captured"]
    assert not CapturedFile.objects.exists()


def test_a_worker_finds_them_beside_the_benchmark(
    version: BenchmarkVersion, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = leases.claim(
        BenchmarkCheck.objects.all(), pk=version.checks.get().check_job_id, worker="tester:1"
    )
    assert job is not None
    watch = checking.CheckWatch(job, folder=tmp_path, device_locks=())
    watch.results = [{}]
    monkeypatch.setattr(watch, "supervise", lambda arguments: checking.TO_CHANGE)
    assert watch.wait() is None
    assert (tmp_path / "benchmark.json").is_file()
    assert (tmp_path / NAME).read_bytes() == _content()


def test_the_contract_names_them_with_their_digest(version: BenchmarkVersion) -> None:
    document = version.checks.get().check_job.benchmark
    ((label, text),) = schedules._captured(document)
    assert label == "Captured tensors"
    assert document["captured"][NAME]["digest"] in text
    assert "x float32 [16 × 256]" in text


def test_a_runner_downloads_those_of_its_run_alone(
    world: World, version: BenchmarkVersion, tmp_path: Any
) -> None:
    digest = passed(version)
    for by in (world.signatory, world.consultant):
        benchmark.approve(version=version, digest=digest, by=by)
    sealed = version.seals.get().benchmark
    box = machine(tmp_path, "box", by=world.signatory, customer=world.customer)
    other = machine(tmp_path, "other", by=world.stranger, customer=world.other_customer)
    for each in (box, other):
        assert each.introduce().status_code == 200
    solution = solutions.submit(
        name="mine", operator=sealed.operator, filename="mine.py", source="run = print\n"
    )
    requested(
        world,
        engagement=version.engagement,
        benchmark=sealed,
        solution=solution,
        request_key=uuid.uuid4(),
    )
    pk = box.claim().json()["id"]
    held = sealed.document["captured"][NAME]["digest"].removeprefix("sha256:")

    def answer(by: Machine, hexadecimal: str) -> Any:
        return by.attempt(pk, f"captured/{hexadecimal}", method="get")

    assert answer(box, held).content == _content()
    assert answer(other, held).status_code == 404
    captured_files.store(files={NAME: _content(2.0)})
    (elsewhere,) = captured_tensors.described({NAME: _content(2.0)}).values()
    assert answer(box, elsewhere["digest"].removeprefix("sha256:")).status_code == 404
