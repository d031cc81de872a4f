"""Read the signatures of a PDF from outside, in a process of its own with little time and memory.

Run as a script, without Django: a hostile file can decompress to gigabytes or never end.

    stdin   the length of the issued PDF in 8 bytes, the issued PDF, the uploaded PDF
    stdout  {"signer", "certificate", "fingerprint", "signed_at": null | ISO 8601}
            or {"error": code}
"""

from __future__ import annotations

import importlib.util
import json
import resource
import sys
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

MAX_SIGNATURES = 8
MEMORY_BYTES = 768 * 2**20
CPU_SECONDS = 20


class Invalid(Exception):
    """A file that is not the issued PDF with the customer's signature; its argument is the code."""


def validated(content: bytes, issued: bytes) -> dict[str, Any]:
    """The newest signature of `content`. Raises Invalid, or anything for a hostile file."""
    reader = _reader_class()
    before = reader(issued).embedded_regular_signatures
    found = reader(content).embedded_regular_signatures
    if not before or not len(before) < len(found) <= MAX_SIGNATURES:
        raise Invalid("no_signature")
    for position, each in enumerate(found):
        _require_intact(each, is_newest=position == len(found) - 1)
    own, newest = (_certificate(each) for each in (found[0], found[-1]))
    if own == newest:
        raise Invalid("own_signature")
    signed_at = found[-1].self_reported_timestamp
    return {
        "signer": newest.subject.rfc4514_string(),
        "certificate": newest.public_bytes(serialization.Encoding.PEM).decode(),
        "fingerprint": newest.fingerprint(hashes.SHA256()).hex(":"),
        "signed_at": signed_at.isoformat() if signed_at else None,
    }


def _reader_class() -> Any:
    """That of `pdf_reading`, by its file: its package imports Django."""
    spec = importlib.util.spec_from_file_location(
        "pdf_reading", Path(__file__).with_name("pdf_reading.py")
    )
    assert spec is not None
    assert spec.loader is not None  # a file beside this one
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reader_class()


def _require_intact(signature: Any, *, is_newest: bool) -> None:
    from pyhanko.sign.validation import validate_pdf_signature
    from pyhanko.sign.validation.status import SignatureCoverageLevel
    from pyhanko_certvalidator import ValidationContext

    # Without roots no signer is trusted here, and nothing is fetched from a network.
    status = validate_pdf_signature(
        signature, ValidationContext(trust_roots=[], allow_fetching=False)
    )
    if not (status.intact and status.valid):
        raise Invalid("broken")
    is_whole = status.coverage == SignatureCoverageLevel.ENTIRE_FILE
    if not status.docmdp_ok or (is_newest and not is_whole):
        raise Invalid("changed")


def _certificate(signature: Any) -> x509.Certificate:
    return x509.load_der_x509_certificate(signature.signer_cert.dump())


def main() -> None:
    """Validate the PDF on stdin, within the limits."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    given = sys.stdin.buffer.read()
    length = int.from_bytes(given[:8], "big")
    try:
        answer = validated(given[8 + length :], given[8 : 8 + length])
    except Invalid as error:
        answer = {"error": str(error)}
    # A hostile file can make the parser fail in any way.
    except Exception:
        answer = {"error": "unreadable"}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
