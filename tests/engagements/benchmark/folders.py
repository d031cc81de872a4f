"""Archives of benchmark folders, and checks that are concluded without measuring."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from benchmarks.harness.cli import folders
from benchmarks.models import BenchmarkCheck
from benchmarks.records import benchmark_folders
from benchmarks.records.canonical import canonical
from benchmarks.services import checks, leases
from engagements.benchmark import services as benchmark
from engagements.benchmark.models import BenchmarkVersion
from engagements.engagement.models import Engagement
from engagements.people.models import User

STARTERS = Path(folders.__file__).parents[1] / "starters"


def starter(kind: str = "matmul", **replaced: str) -> dict[str, str]:
    """The files of a starter; `replaced` maps old text of benchmark.toml to new."""
    files = benchmark_folders.read(STARTERS / kind)
    for old, new in replaced.items():
        files["benchmark.toml"] = files["benchmark.toml"].replace(old, new)
    return files


def zipped(files: dict[str, str]) -> io.BytesIO:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(f"my_folder/{name}"), text)
    made.seek(0)
    return made


def uploaded(
    engagement: Engagement, by: User, files: dict[str, str] | None = None
) -> BenchmarkVersion:
    """A version that waits for its check."""
    return benchmark.upload(
        engagement=engagement, name="matmul.zip", content=zipped(files or starter()), by=by
    )


def claimed(version: BenchmarkVersion) -> BenchmarkCheck:
    """The version's check in its first attempt."""
    asked = version.checks.get()
    job = leases.claim(BenchmarkCheck.objects.all(), pk=asked.check_job_id, worker="tester:1")
    assert job is not None
    return job


def passed(version: BenchmarkVersion) -> str:
    """Conclude the version's check; return the digest of the checked benchmark."""
    job = claimed(version)
    result = {"title": "Baseline", "code": "check.baseline", "outcome": "ok", "message": "1.00×"}
    checks.finish(
        check_id=job.pk,
        attempt=job.attempt,
        results=[{**result, "at_s": 1.0}],
        checked=canonical(job.benchmark),
    )
    job.refresh_from_db()
    return job.checked_digest
