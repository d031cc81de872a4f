"""An archive with which anyone can repeat a run on a machine without network.

It contains the sealed benchmark, the record, the sources of the referee and the operator, the
public key and instructions. The same run gives the same bytes.
"""

import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.records import captured_tensors
from benchmarks.records.canonical import canonical, digest_of_bytes
from benchmarks.records.redaction import withhold_source
from kernels import catalogue

ROOT = Path(__file__).resolve().parent.parent.parent
# The oldest date in the ZIP format; a fixed one makes archives reproducible.
DATE = (1980, 1, 1, 0, 0, 0)
MODE = 0o644
LIBRARIES = ("torch", "numpy", "safetensors", "rfc8785", "jsonschema", "cryptography")
LIBRARIES_OF_A_GPU = ("triton", "nvidia-ml-py", "cuda-core[cu13]")
SUFFIXES = (".py", ".cu", ".md")
README = """\
Needs Python 3.11 or 3.12 with {libraries}, and no network; run these here, in this folder:
Check the record, without a GPU:  \
python -m benchmarks.harness verify record.json --public-key referee.pub
Measure it again:  \
python -m benchmarks.harness run benchmark.json {candidate} --out again.json{missing}
"""


class OtherSource(ValueError):
    """The operator's source here differs from the sealed one."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """A measured run. Without `source`, `why_without` explains its absence; `record` is a file.

    `captured` are the benchmark's files of captured tensors by path.
    """

    record: bytes
    benchmark: dict[str, Any]
    filename: str
    source: str | None
    why_without: str
    public_key: str | None
    captured: Mapping[str, bytes] = field(default_factory=dict)


def archive(run: Contents) -> bytes:
    """The ZIP file of a measured run. Raises OtherSource, and CapturedError for other tensors."""
    captured_tensors.opened(run.benchmark, run.captured)
    candidate = f"candidate{Path(run.filename).suffix or '.py'}"
    with_source = run.source is not None
    files = {
        "README.txt": README.format(
            libraries=_libraries(run.benchmark),
            candidate=candidate if with_source else "YOUR-KERNEL.py",
            missing="" if with_source else f"  ({run.why_without})",
        ).encode(),
        "benchmark.json": canonical(run.benchmark),
        "record.json": run.record if with_source else withhold_source(run.record),
        **_sources(run.benchmark),
        **run.captured,
    }
    if run.source is not None:
        files[candidate] = run.source.encode()
    if run.public_key is not None:
        files["referee.pub"] = run.public_key.encode()
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


def _sources(document: dict[str, Any]) -> dict[str, bytes]:
    """The sources of the referee and the operator by path, without any candidate."""
    own_sources = {file.relative_to(ROOT).as_posix(): file.read_bytes() for file in _referee()}
    if "files" in document:
        # The benchmark itself contains them.
        return own_sources
    operator = document["operator"]
    folder = catalogue.folder(operator)
    candidates = set(catalogue.candidates(operator).values())
    for name, sealed in document["sources"].items():
        file = folder / name
        if not file.is_file() or digest_of_bytes(file.read_bytes()) != sealed:
            raise OtherSource(
                f"{operator}/{name} here differs from the version that the benchmark sealed."
            )
    own = {
        f"kernels/{operator}/{file.relative_to(folder).as_posix()}": file.read_bytes()
        for file in _files_in(folder)
        if file not in candidates
    }
    return own | own_sources


def _referee() -> Iterator[Path]:
    yield ROOT / "benchmarks" / "__init__.py"
    yield from (ROOT / "kernels").glob("*.py")
    for name in ("harness", "records", "verdict"):
        yield from _files_in(ROOT / "benchmarks" / name)


def _files_in(folder: Path) -> Iterator[Path]:
    return (file for file in folder.rglob("*") if file.suffix in SUFFIXES)


def _zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, date_time=DATE)
            entry.external_attr = MODE << 16
            # Captured numbers hardly compress.
            stored = captured_tensors.NAME.fullmatch(name)
            entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    return made.getvalue()
