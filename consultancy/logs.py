"""Structured logs: one request id from the proxy through the page to the worker's task.

Every line carries `request`, `task` and `run`, where there is one. A task keeps the id of the
request that enqueued it.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from celery.signals import before_task_publish, task_postrun, task_prerun
from django.http import HttpRequest, HttpResponse

HEADER = "X-Request-ID"
# What a proxy may pass on; anything else is replaced, so no line can be forged.
WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{8,64}")
# The tasks whose first argument is the id of a run.
RUN_TASKS = frozenset({"benchmarks.tasks.measure", "engagements.tasks.conclude_run"})
FIELDS = ("request", "task", "run")

_context: ContextVar[Mapping[str, str]] = ContextVar("context", default=MappingProxyType({}))
log = logging.getLogger("twofold.access")


def context() -> Mapping[str, str]:
    """The ids of what is being worked on: `request`, `task`, `run`."""
    return _context.get()


class ContextFilter(logging.Filter):
    """Adds the ids to every record, empty where there is none."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Set the fields; keep the record."""
        found = context()
        for name in FIELDS:
            setattr(record, name, found.get(name, ""))
        return True


class RequestLogMiddleware:
    """Names each request, logs it with its status and milliseconds, and returns its id."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handle the request in its own context."""
        given = request.headers.get(HEADER, "")
        name = given if WELL_FORMED.fullmatch(given) else uuid4().hex
        token = _context.set({"request": name})
        began = time.perf_counter()
        try:
            response = self.get_response(request)
            facts = {
                "method": request.method,
                "path": request.path,
                "status": response.status_code,
                "ms": round((time.perf_counter() - began) * 1000, 1),
            }
            log.info("%(method)s %(path)s %(status)s %(ms)sms", facts, extra=facts)
        finally:
            _context.reset(token)
        response.headers[HEADER] = name
        return response


@before_task_publish.connect
def pass_request_on(headers: dict[str, Any] | None = None, **_: Any) -> None:
    """Send the request's id with the task."""
    if headers is not None and (name := context().get("request")):
        headers["request_id"] = name


@task_prerun.connect
def begin_task(task_id: str, task: Any, args: Any = (), **_: Any) -> None:
    """Name the task, the request that enqueued it, and its run."""
    found = {"task": task_id}
    if name := getattr(task.request, "request_id", None):
        found["request"] = str(name)
    if task.name in RUN_TASKS and args:
        found["run"] = str(args[0])
    _context.set(found)


@task_postrun.connect
def end_task(**_: Any) -> None:
    """Forget the task's ids."""
    _context.set({})
