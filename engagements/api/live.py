"""Live progress of a run as server-sent events.

Each stream occupies a thread of a web process, so few are open at once and each is short.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Final

from django.http import HttpResponseBase, StreamingHttpResponse
from rest_framework.renderers import JSONRenderer

from engagements.common import rate_limits

MEDIA_TYPE: Final = "text/event-stream"
STREAMS: Final = 4
STREAM_S: Final = 30.0
POLL_S: Final = 1.0
RECONNECT_MS: Final = 2000
CONCLUDED: Final = frozenset({"finished", "failed"})


class EventStreamRenderer(JSONRenderer):
    """Accepts requests for an event stream; errors are still JSON."""

    media_type = MEDIA_TYPE
    format = "events"


def stream(read: Callable[[], dict[str, Any]]) -> HttpResponseBase:
    """Return a response that sends what `read` returns whenever it changes.

    Raises RateLimited when all streams are in use.
    """
    held = ExitStack()
    # A little longer than the stream: the slot of a killed process is free again afterwards.
    held.enter_context(rate_limits.slot("run-events", most=STREAMS, at_most_s=int(STREAM_S) + 10))
    response = StreamingHttpResponse(_events(read, held), content_type=MEDIA_TYPE)
    response["Cache-Control"] = "private, no-store"
    # Proxies such as nginx would collect the events.
    response["X-Accel-Buffering"] = "no"
    return response


def _events(read: Callable[[], dict[str, Any]], held: ExitStack) -> Iterator[str]:
    with held:
        ends_at, sent = time.monotonic() + STREAM_S, ""
        yield f"retry: {RECONNECT_MS}\n\n"
        while True:
            row = read()
            data = JSONRenderer().render(row).decode()
            if data != sent:
                yield f"event: run\ndata: {data}\n\n"
                sent = data
            awaits_other = row["counterpart"] is not None and row["verdict"] is None
            if row["state"] in CONCLUDED and not awaits_other:
                yield f"event: end\ndata: {json.dumps({'state': row['state']})}\n\n"
                return
            if time.monotonic() + POLL_S > ends_at:
                return
            time.sleep(POLL_S)
