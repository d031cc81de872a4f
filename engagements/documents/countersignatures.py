"""Validate PDFs that were issued here and signed elsewhere.

Such a file is the issued one with signatures appended to it. A signer's certificate is read and
shown; whether to trust it is the reader's decision.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from engagements.common.errors import ApplicationError

# Bytes that signatures may add to the issued file: certificates, time stamps, a small picture.
MAX_ADDED_BYTES = 2**20
SECONDS = 30
_SCRIPT = Path(__file__).with_name("countersigned.py")
_MESSAGES = {
    "no_signature": "The PDF has no signature besides the consultancy’s. Sign it and upload it "
    "again.",
    "own_signature": "The newest signature is the consultancy’s own. Sign the PDF as the customer.",
    "broken": "A signature of this PDF is broken. Sign the issued PDF again.",
    "changed": "The PDF was changed besides being signed. Sign the issued PDF again.",
    "unreadable": "This PDF or its signature cannot be read. Sign the issued PDF again.",
}


@dataclass(frozen=True)
class ExternalSignature:
    """The newest signature of a file: its signer's certificate (PEM) and the time it states."""

    signer: str
    certificate: str
    fingerprint: str
    signed_at: datetime | None
    digest: str


def validate(content: bytes, *, issued: bytes) -> ExternalSignature:
    """Validate `content` as the PDF `issued` with signatures appended to it.

    Each signature has to be intact and the newest has to cover the whole file; after the
    consultancy's own only signing and filling in of forms are permitted. ApplicationError
    otherwise, and for a file that needs more time or memory than any signature does.
    """
    added = len(content) - len(issued)
    if added > MAX_ADDED_BYTES:
        raise ApplicationError(
            f"A signature may add at most {MAX_ADDED_BYTES // 1024} KiB to the issued PDF.",
            code="countersignature.too_large",
        )
    if added <= 0 or not content.startswith(issued):
        raise ApplicationError(
            "Sign the PDF of this contract as issued, and upload it unchanged otherwise.",
            code="countersignature.other_document",
        )
    answer = _answer(len(issued).to_bytes(8, "big") + issued + content)
    if "error" in answer:
        code = answer["error"]
        named = "no_signature" if code == "own_signature" else code
        raise ApplicationError(_MESSAGES[code], code=f"countersignature.{named}")
    stated = answer.pop("signed_at")
    return ExternalSignature(
        **answer,
        signed_at=datetime.fromisoformat(stated) if stated else None,
        digest="sha256:" + hashlib.sha256(content).hexdigest(),
    )


def _answer(given: bytes) -> dict[str, Any]:
    """The script's answer; a failure or a timeout counts as an unreadable file."""
    try:
        ended = subprocess.run(
            [sys.executable, "-I", str(_SCRIPT)],
            input=given,
            capture_output=True,
            timeout=SECONDS,
            check=True,
            env={},
        )
        answer: dict[str, Any] = json.loads(ended.stdout)
    except (subprocess.SubprocessError, OSError, ValueError):
        return {"error": "unreadable"}
    return answer
