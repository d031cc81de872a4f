"""Decode events of a trace: the required fields only, of any type."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

from engagements.evidence.readers.chrome_trace.blocks import NotJson

NAN = math.nan
_BYTE = re.compile(r"\(byte (\d+)\)")


class Arguments(msgspec.Struct, gc=False):
    """The decoded fields of an event's args."""

    device: Any = None
    stream: Any = None
    correlation: Any = None


class Event(msgspec.Struct, gc=False):
    """An event: its phase, category, name, process, thread, start and length in microseconds."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: float = NAN
    dur: float = NAN
    args: Arguments | None = None


_typed = msgspec.json.Decoder(list[Event])
_untyped = msgspec.json.Decoder()


def decode(block: bytes) -> list[Event]:
    """Decode the events of a JSON array. Raises NotJson."""
    try:
        return _typed.decode(block)
    except msgspec.ValidationError:
        # Other producers write numbers as text, or null for an object.
        return [_event(each) for each in _plain(block)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return [_event(each) for each in _plain(block, error)]


def _plain(block: bytes, before: Exception | None = None) -> list[Any]:
    try:
        if before is None:
            return list(_untyped.decode(block))
        if b"NaN" not in block and b"Infinity" not in block:
            raise NotJson(_reason(before))
        # Python's json accepts NaN, which is not JSON.
        return list(json.loads(block))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise NotJson(_reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "brackets are nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return "the text is not UTF-8"
    return _BYTE.sub(lambda place: f"{place[1]} bytes on", str(error))


def _event(data: Any) -> Event:
    """Convert any JSON value to an event; a value that is not an object has no phase."""
    if not isinstance(data, dict):
        return Event()
    arguments = data.get("args")
    return Event(
        ph=data.get("ph"),
        cat=data.get("cat"),
        name=data.get("name"),
        pid=data.get("pid"),
        tid=data.get("tid"),
        ts=number(data.get("ts")),
        dur=number(data.get("dur")),
        args=_arguments(arguments) if isinstance(arguments, dict) else None,
    )


def _arguments(data: dict[str, Any]) -> Arguments:
    return Arguments(data.get("device"), data.get("stream"), data.get("correlation"))


def number(value: Any) -> float:
    """Convert a number or its text to a finite float; NaN otherwise."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return NAN
    return found if math.isfinite(found) else NAN


def integer(value: Any, default: int, *, bits: int = 31) -> int:
    """Convert a number or its text to an integer of at most `bits` bits; `default` otherwise."""
    # Fast path: nearly every event has an int.
    if type(value) is int and 0 <= value < 0x80000000:
        return value
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return found if -(2**bits) <= found < 2**bits else default
