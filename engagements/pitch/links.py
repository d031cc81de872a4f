"""Signed facts of files as a parameter of a pitch's link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.core.signing import BadSignature, Signer

from engagements.pitch.rules import Read, reduced
from engagements.pitch.rules.reduction import SIZES

# gunicorn accepts a request line of 4094 bytes, including method and protocol.
LONGEST: Final = 4000
_SIGNER: Final = "engagements.pitch.rules"


def signed(read: Sequence[Read], room: int) -> str:
    """Sign as many facts as fit into `room` characters; at least the smallest reduction."""
    for most in SIZES:
        small = [reduced(each, most).as_data() for each in read]
        text = Signer(salt=_SIGNER).sign_object(small, compress=True)
        if len(text) <= room - len("&read=") - text.count(":") * 2:
            break
    return text


def read_of(text: str) -> list[Read]:
    """Restore signed facts. BadSignature for any other text."""
    if not text:
        return []
    try:
        return [Read.from_data(each) for each in Signer(salt=_SIGNER).unsign_object(text)]
    except (KeyError, ValueError) as error:
        # Signed by an older version of the site, whose facts had other fields.
        raise BadSignature("The facts are from another version.") from error
