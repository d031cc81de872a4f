"""Recognise the format of a file by its content, not its name."""

from __future__ import annotations

import re

from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.opening import Opened

CHROME_TRACE, NSIGHT_SYSTEMS = "chrome_trace", "nsight_systems"
NSIGHT_COMPUTE, TRAFFIC = "nsight_compute", "traffic"

_NCU_TABLE = re.compile(r'(?m)^\s*"?ID"?,"?Process ID"?,')
_NCU_MESSAGE = re.compile(r"^==(PROF|WARNING|ERROR)==")
_TRACE_KEY = re.compile(r'"(traceEvents|schemaVersion|deviceProperties|displayTimeUnit)"')
_TRACE_EVENT = re.compile(r'"ph"\s*:\s*"')
# Control characters that occur in binary files only.
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f]")
_ARRAY_OF_OBJECTS = re.compile(r"\[\s*(\{|\]|$)")
# Files uploaded by mistake, with the remedy.
_OTHERS = (
    (b"PK\x03\x04", "a zip archive; unpack it and upload its files"),
    (b"\x1f\x8b", "compressed twice; decompress it once"),
    (b"%PDF", "a PDF"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it or use gzip"),
    (b"NVR", "an Nsight Compute report; export it with ncu --import FILE --csv --page details"),
    (b"QDSTRM", "a raw Nsight Systems capture; import it and export it as SQLite"),
    (b"\x89HDF", "an HDF5 file; export SQLite with nsys export --type sqlite"),
    (b"ARROW1", "an Arrow file; write the table as Parquet or CSV"),
)
_WEB_PAGE = re.compile(r"<(!doctype|html|\?xml)", re.IGNORECASE)
_UNKNOWN = (
    "Unknown format; upload a PyTorch profiler trace (JSON), an Nsight Systems export (nsys export "
    "--type sqlite FILE), an Nsight Compute export (ncu --import FILE --csv --page details), or "
    "shape traffic (CSV, Parquet or JSON lines)"
)


def recognise(opened: Opened) -> str:
    """Return the format. EvidenceError for an unknown one."""
    head = opened.head
    if not head:
        raise EvidenceError("The file is empty", code="evidence.file_empty")
    if head.startswith(b"SQLite format 3\0"):
        return NSIGHT_SYSTEMS
    if head.startswith(b"PAR1"):
        return TRAFFIC
    for mark, what in _OTHERS:
        if head.startswith(mark):
            raise EvidenceError(
                f"This is {what}", code="evidence.wrong_format", where="first bytes"
            )
    return _recognise_text(head.decode("utf-8", "replace"))


def _recognise_text(text: str) -> str:
    stripped = text.lstrip("\ufeff \t\r\n")
    # UTF-16 without a byte order mark has a null in every other byte.
    if not stripped or "\0" in stripped:
        raise EvidenceError(_UNKNOWN, code="evidence.unknown_format", where="first bytes")
    if _WEB_PAGE.match(stripped):
        raise EvidenceError(
            "This is a web page, perhaps a sign-in page saved in place of the file",
            code="evidence.wrong_format",
            where="first bytes",
        )
    if _NCU_TABLE.search(stripped) or _NCU_MESSAGE.match(stripped):
        return NSIGHT_COMPUTE
    if _ARRAY_OF_OBJECTS.match(stripped):
        if "}" in stripped and not _TRACE_EVENT.search(stripped):
            raise EvidenceError(
                "This JSON array has no trace events; write traffic as one object per line",
                code="evidence.json_array",
                where="first bytes",
            )
        return CHROME_TRACE
    if stripped.startswith("{"):
        first_line = stripped.split("\n", 1)[0]
        looks_like_trace = _TRACE_KEY.search(stripped) or _TRACE_EVENT.search(first_line)
        is_one_line = first_line.rstrip().endswith("}")
        return TRAFFIC if is_one_line and not looks_like_trace else CHROME_TRACE
    if _NO_TEXT.search(stripped) or _is_damaged(stripped):
        raise EvidenceError(_UNKNOWN, code="evidence.unknown_format", where="first bytes")
    return TRAFFIC


def _is_damaged(text: str) -> bool:
    return text.count("\ufffd") > len(text) // 10
