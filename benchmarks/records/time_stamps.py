"""RFC 3161 time stamps of a record's file: that these bytes existed at a time.

By pyHanko, which `pip install 'twofold[timestamp]'` brings; nothing else here needs it.
"""

from __future__ import annotations

import asyncio
import hashlib
from datetime import datetime
from typing import Any

_ALGORITHM = "sha256"
_LIMIT_S = 30


class TimeStampError(ValueError):
    """An authority gave no time stamp, or one is not of these bytes or not of that authority."""


def requested(content: bytes, url: str) -> bytes:
    """The token (DER) that the authority at `url` gives for `content`. Raises TimeStampError."""
    from pyhanko.sign.timestamps import HTTPTimeStamper

    return _token(content, HTTPTimeStamper(url, timeout=_LIMIT_S))


def _token(content: bytes, stamper: Any) -> bytes:
    from pyhanko.sign.timestamps import TimestampRequestError

    stamped = stamper.async_timestamp(hashlib.sha256(content).digest(), _ALGORITHM)
    try:
        token: bytes = asyncio.run(stamped).dump()
    except (OSError, TimestampRequestError) as error:
        raise TimeStampError(f"the time-stamp authority gave no time stamp: {error}") from error
    return token


def taken_at(content: bytes, token: bytes, authority: bytes) -> datetime:
    """When `token` stamped exactly `content`; `authority` is its certificate or its root (PEM).

    Raises TimeStampError.
    """
    from asn1crypto import cms, pem, x509
    from pyhanko.sign.validation.errors import SignatureValidationError
    from pyhanko.sign.validation.generic_cms import validate_tst_signed_data
    from pyhanko.sign.validation.status import TimestampSignatureStatus
    from pyhanko_certvalidator import ValidationContext

    def imprint(algorithm: str) -> bytes:
        return hashlib.new(algorithm, content).digest()

    try:
        _, _, certificate = pem.unarmor(authority)
        trusted = ValidationContext(trust_roots=[x509.Certificate.load(certificate)])
        signed = cms.ContentInfo.load(token)["content"]
        found = asyncio.run(validate_tst_signed_data(signed, trusted, imprint))
        status = TimestampSignatureStatus(**found)
    except (SignatureValidationError, ValueError, TypeError, KeyError) as error:
        raise TimeStampError(f"the time stamp cannot be read: {error}") from error
    if not (status.intact and status.valid):
        raise TimeStampError("the time stamp is not of this file")
    if not status.trusted:
        raise TimeStampError("the time stamp is not of this authority")
    at: datetime = status.timestamp
    return at
