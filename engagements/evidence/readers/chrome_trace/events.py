"""One event of a trace: the few fields that are read of it, whatever type they came as."""

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
    """What an event's args tell. Nothing else of them is decoded."""

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
    """The events of a JSON array. NotJson says what is wrong with it."""
    try:
        return _typed.decode(block)
    except msgspec.ValidationError:
        # A number as text, null for an object: another producer's habits, and rare.
        return [_event(each) for each in _plain(block)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return [_event(each) for each in _plain(block, error)]


def _plain(block: bytes, before: Exception | None = None) -> list[Any]:
    try:
        if before is None:
            return list(_untyped.decode(block))
        if b"NaN" not in block and b"Infinity" not in block:
            raise NotJson(_reason(before))
        # Python's own json writes and reads NaN, which is no JSON.
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
    """An event of whatever is there; what is no object has no phase, so it is passed over."""
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
    """A finite number, from a number or its text; NaN else."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return NAN
    return found if math.isfinite(found) else NAN


def integer(value: Any, default: int, *, bits: int = 31) -> int:
    """A whole number that fits, from a number or its text; `default` else."""
    # What nearly every event has, and a million events are asked.
    if type(value) is int and 0 <= value < 0x80000000:
        return value
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return found if -(2**bits) <= found < 2**bits else default
