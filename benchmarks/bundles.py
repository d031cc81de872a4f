"""Bundle of a run: an archive to repeat the measurement on a machine without network.

It contains the sealed benchmark, the record, the sources of the referee and the operator, the
public key and instructions. The same run gives the same bytes.
"""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import storage
from benchmarks.errors import BenchmarkError
from benchmarks.models import Record, Run
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.records.redaction import withhold_source
from kernels import catalogue

ROOT = Path(__file__).resolve().parent.parent
# The oldest date in the ZIP format; a fixed one makes archives reproducible.
DATE = (1980, 1, 1, 0, 0, 0)
MODE = 0o644
LIBRARIES = ("torch", "numpy", "rfc8785", "jsonschema", "cryptography")
LIBRARIES_OF_A_GPU = ("triton", "nvidia-ml-py", "cuda-core[cu13]")
SUFFIXES = (".py", ".cu", ".md")
README = """\
Needs Python 3.11 or 3.12 with {libraries}, and no network; run these here, in this folder:
Check the record, without a GPU:  \
python -m benchmarks.harness verify record.json --public-key referee.pub
Measure it again:  \
python -m benchmarks.harness run benchmark.json {candidate} --out again.json{missing}
"""


def archive(*, run: Run, with_source: bool, why_without: str = "") -> bytes:
    """The ZIP file of a measured run.

    Without the candidate's source, `why_without` explains its absence in the README. Raises
    BenchmarkError for a run without a record, or if the operator's source here differs from the
    sealed one.
    """
    record = Record.objects.filter(run=run).select_related("signed_by").first()
    if record is None:
        raise BenchmarkError("This run has no record yet.", code="bundle.no_record")
    content = storage.load(record)
    candidate = f"candidate{Path(run.solution.filename).suffix or '.py'}"
    files = {
        "README.txt": README.format(
            libraries=_libraries(run.benchmark.document),
            candidate=candidate if with_source else "YOUR-KERNEL.py",
            missing="" if with_source else f"  ({why_without})",
        ).encode(),
        "benchmark.json": bytes(run.benchmark.canonical),
        "record.json": content if with_source else withhold_source(content),
        **_sources(run),
    }
    if with_source:
        files[candidate] = run.solution.source.encode()
    if record.signed_by is not None:
        files["referee.pub"] = record.signed_by.public_key.encode()
    return _zipped(files)


def _libraries(document: dict[str, Any]) -> str:
    """The packages to install, as an English list: the referee's and the baseline's."""
    baseline = document["baseline"]
    needed = dict.fromkeys(LIBRARIES)
    if document["hardware"]["device"] == "cuda":
        needed |= dict.fromkeys(LIBRARIES_OF_A_GPU)
    if baseline["package"]:
        needed[baseline["package"]] = baseline.get("version")
    *first, last = [f"{name} {version}" if version else name for name, version in needed.items()]
    return f"{', '.join(first)} and {last}"


def _sources(run: Run) -> dict[str, bytes]:
    """The sources of the referee and the operator by path, without any candidate."""
    operator = run.benchmark.operator
    folder = ROOT / "kernels" / operator
    for name, sealed in run.benchmark.document["sources"].items():
        file = folder / name
        if not file.is_file() or digest_of_bytes(file.read_bytes()) != sealed:
            raise BenchmarkError(
                f"{operator}/{name} here differs from the version that the benchmark sealed.",
                code="bundle.other_source",
            )
    return {
        file.relative_to(ROOT).as_posix(): file.read_bytes() for file in _source_files(operator)
    }


def _source_files(operator: str) -> Iterator[Path]:
    candidates = set(catalogue.candidates(operator).values())
    yield ROOT / "benchmarks" / "__init__.py"
    yield from (ROOT / "kernels").glob("*.py")
    code = [ROOT / "benchmarks" / name for name in ("harness", "records", "verdict")]
    for folder in (*code, ROOT / "kernels" / operator):
        for file in folder.rglob("*"):
            if file.suffix in SUFFIXES and file not in candidates:
                yield file


def _zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, date_time=DATE)
            entry.external_attr = MODE << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    return made.getvalue()
