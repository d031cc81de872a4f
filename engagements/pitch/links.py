"""What was read of files, signed and small, as a part of a pitch's link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.core.signing import BadSignature, Signer

from engagements.pitch.rules import Read, reduced
from engagements.pitch.rules.reduction import SIZES

# gunicorn takes a request line of 4094 bytes, of which the rest is the method and the protocol.
LONGEST: Final = 4000
_SIGNER: Final = "engagements.pitch.rules"


def signed(read: Sequence[Read], room: int) -> str:
    """As much of these as fits into `room` characters; at least the least there is."""
    for most in SIZES:
        small = [reduced(each, most).as_data() for each in read]
        text = Signer(salt=_SIGNER).sign_object(small, compress=True)
        if len(text) <= room - len("&read=") - text.count(":") * 2:
            break
    return text


def read_of(text: str) -> list[Read]:
    """What `signed` was given, reduced. BadSignature for what it did not write."""
    if not text:
        return []
    try:
        return [Read.from_data(each) for each in Signer(salt=_SIGNER).unsign_object(text)]
    except (KeyError, ValueError) as error:
        # Signed by an older version of the site, whose facts had other fields.
        raise BadSignature("These facts are of another version.") from error
