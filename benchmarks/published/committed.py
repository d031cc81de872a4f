"""Read the measurements committed beside the operators, and verify their signatures.

`OPERATOR/records/NAME.record.json` (or .json.gz), `OPERATOR/records/PRESET.survey.json`; the known
public keys are `keys/*.pub`.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.published import surveys
from benchmarks.records import records, signatures
from benchmarks.records.signatures import PublicKey, SignatureError
from kernels import catalogue

CATALOGUE = Path(catalogue.__file__).resolve().parent
_RECORD, _SURVEY = ".record.json", ".survey.json"


@dataclass(frozen=True, kw_only=True)
class Signature:
    """Whether a known key signed a file; `key_id` is None for an unsigned file."""

    valid: bool
    key_id: str | None
    words: str


def record_in(file: Path) -> dict[str, Any]:
    """Read a record. Raises RecordError."""
    return _record(file, file.stat().st_mtime_ns)


def survey_in(file: Path) -> dict[str, Any]:
    """Read a survey. Raises SurveyError."""
    return _survey(file, file.stat().st_mtime_ns)


def record_files(operator: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Records by name, a preset's own before its runs against other baselines."""
    found = {
        file.name.partition(_RECORD)[0]: file
        for file in (folder / operator / "records").glob(f"*{_RECORD}*")
    }
    yield from sorted(found.items(), key=lambda item: (len(item[0]), item[0]))


def survey_file(operator: str, preset: str, folder: Path) -> Path | None:
    """The preset's survey, or that of the first preset with the same workloads and dtype."""
    known = catalogue.presets(operator)
    if preset not in known:
        return None
    alike = [
        name
        for name, other in known.items()
        if (other.workloads, other.dtype) == (known[preset].workloads, known[preset].dtype)
    ]
    files = [folder / operator / "records" / f"{name}{_SURVEY}" for name in (preset, *alike)]
    return next((file for file in files if file.is_file()), None)


def known_keys(folder: Path = CATALOGUE) -> dict[str, PublicKey]:
    """The public keys of committed measurements, by id."""
    found = [signatures.public_key(file.read_bytes()) for file in (folder / "keys").glob("*.pub")]
    return {key.id: key for key in found}


def signature_of(content: bytes, keys: Mapping[str, PublicKey]) -> Signature:
    """Verify a file's signature."""
    said = signatures.signature_of(content)
    if said is None:
        return Signature(valid=False, key_id=None, words="not signed")
    key = keys.get(said["key_id"])
    if key is None:
        return Signature(valid=False, key_id=said["key_id"], words="signed by an unknown key")
    try:
        signatures.check(content, key)
    except SignatureError as error:
        return Signature(valid=False, key_id=key.id, words=str(error))
    return Signature(valid=True, key_id=key.id, words=f"signed by key {key.id}")


def content_of(file: Path) -> bytes:
    """A committed file's JSON, decompressed if necessary."""
    if file.suffix != ".gz":
        return records.content_of(file)
    with gzip.open(file) as opened:
        # Stop one byte over the limit: gigabytes compress into a few bytes.
        return opened.read(records.MAX_BYTES + 1)


@lru_cache(maxsize=64)
def _record(file: Path, changed_ns: int) -> dict[str, Any]:
    return records.load(content_of(file))


@lru_cache(maxsize=64)
def _survey(file: Path, changed_ns: int) -> dict[str, Any]:
    return surveys.load(file.read_bytes())
