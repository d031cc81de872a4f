"""A client of a Twofold site's API, for programs without Django.

Only the standard library is used. Every write carries an Idempotency-Key, so that it is sent again
after a lost answer without being done twice.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, TypeVar

TIMEOUT_S: Final = 30.0
ATTEMPTS: Final = 5
MOST_BYTES: Final = 64 * 2**20
LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
RETRIED: Final = frozenset({409, 429, 500, 502, 503, 504})
CONCLUDED: Final = frozenset({"finished", "failed"})

R = TypeVar("R", bound="Resource")


class SiteError(Exception):
    """The site declined a request, or cannot be reached. `code` is stable; `status` 0 if none."""

    def __init__(self, detail: str, *, code: str, status: int = 0) -> None:
        super().__init__(detail)
        self.code, self.status = code, status


class Resource:
    """A row of the API. Members that this version does not know are ignored."""

    component: ClassVar[str]

    @classmethod
    def of(cls: type[R], data: Mapping[str, Any]) -> R:
        """Read a row from its JSON."""
        return cls(**{each.name: data[each.name] for each in fields(cls)})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Engagement(Resource):
    component = "Engagement"
    reference: str
    title: str
    stage: str


@dataclass(frozen=True)
class Contract(Resource):
    component = "Contract"
    id: int
    engagement: str
    number: int
    state: str
    benchmark: int
    target: str


@dataclass(frozen=True)
class Benchmark(Resource):
    component = "Benchmark"
    id: int
    name: str
    operator: str
    digest: str


@dataclass(frozen=True)
class Candidate(Resource):
    component = "Candidate"
    id: int
    name: str
    operator: str
    digest: str


@dataclass(frozen=True)
class Record(Resource):
    """Ratio and interval are None where nothing was measured."""

    component = "Record"
    id: int
    digest: str
    verdict: str
    ratio: float | None
    low: float | None
    high: float | None
    device_name: str


@dataclass(frozen=True)
class Run(Resource):
    component = "Run"
    id: int
    engagement: str
    purpose: str
    counterpart: int | None
    state: str
    verdict: str | None
    failure_code: str | None
    failure_reason: str
    progress: Mapping[str, Any] | None
    record: Record | None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Run:
        record = data["record"]
        return super().of({**data, "record": Record.of(record) if record else None})

    @property
    def is_concluded(self) -> bool:
        """Whether it has ended: with a counterpart, once both have."""
        awaits_other = self.counterpart is not None and self.verdict is None
        return self.state in CONCLUDED and not awaits_other


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the token to another address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Site:
    """A Twofold site at `url`, by a token of its page /tokens/.

    Raises SiteError for a URL without https, unless it is this machine's.
    """

    def __init__(self, url: str, token: str) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in LOCAL:
            raise SiteError(
                f"{url} is not https, so that others could read the token.", code="site.not_https"
            )
        self._base = url.rstrip("/") + "/api/v1/"
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirects)

    def engagement(self, reference: str) -> Engagement:
        """Read an engagement."""
        return Engagement.of(self._call("GET", f"engagements/{_quoted(reference)}/"))

    def newest_contract(self, reference: str) -> Contract | None:
        """Read the newest version of an engagement's contract; None before there is one."""
        return next(self._list(Contract, "contracts/", engagement=reference), None)

    def benchmark(self, pk: int) -> Benchmark:
        """Read a benchmark."""
        return Benchmark.of(self._call("GET", f"benchmarks/{pk}/"))

    def submit_candidate(self, *, operator: str, filename: str, source: str) -> Candidate:
        """Store a candidate. The same source under the same name is the same one."""
        body = {"operator": operator, "filename": filename, "source": source}
        return Candidate.of(self._call("POST", "candidates/", body))

    def request_run(
        self, *, engagement: str, candidate: int, purpose: str, commit: str = ""
    ) -> Run:
        """Request a run of a candidate on the contract's benchmark."""
        body = {"engagement": engagement, "candidate": candidate, "purpose": purpose}
        if commit:
            body["commit"] = commit
        return Run.of(self._call("POST", "runs/", body))

    def run(self, pk: int) -> Run:
        """Read a run."""
        return Run.of(self._call("GET", f"runs/{pk}/"))

    def follow(
        self, pk: int, *, every_s: float = 5.0, sleep: Callable[[float], None] = time.sleep
    ) -> Iterator[Run]:
        """Read a run again and again until it is concluded."""
        while True:
            run = self.run(pk)
            yield run
            if run.is_concluded:
                return
            sleep(every_s)

    def _list(self, kind: type[R], path: str, **query: str) -> Iterator[R]:
        page = self._call("GET", f"{path}?{urllib.parse.urlencode(query)}")
        while True:
            yield from map(kind.of, page["results"])
            if not page["next"]:
                return
            cursor = urllib.parse.urlsplit(page["next"]).query
            page = self._call("GET", f"{path}?{cursor}")

    def _call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Exchange JSON with the site. Raises SiteError."""
        headers, content = {}, None
        if body is not None:
            content = json.dumps(body).encode()
            headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
        return parsed(self.exchange(method, path, content=content, headers=headers))

    def exchange(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        attempts: int = ATTEMPTS,
        most_bytes: int = MOST_BYTES,
        timeout_s: float = TIMEOUT_S,
    ) -> bytes:
        """Send a request, again after a lost or a busy answer; return the answer's bytes.

        Raises SiteError, code "site.unreachable" if there is no answer.
        """
        given = {"Authorization": f"Bearer {self._token}", "Accept": "*/*", **(headers or {})}
        for attempt in range(1, attempts + 1):
            request = urllib.request.Request(  # noqa: S310  https, or this machine
                self._base + path, data=content, headers=given, method=method
            )
            try:
                with self._opener.open(request, timeout=timeout_s) as answer:
                    received: bytes = answer.read(most_bytes + 1)
                if len(received) > most_bytes:
                    raise SiteError(
                        f"{path} has more than {most_bytes:,} bytes.", code="site.too_large"
                    )
                return received
            except urllib.error.HTTPError as error:
                with error:
                    problem = _problem(error)
                if problem.status not in RETRIED or attempt == attempts:
                    raise problem from None
                wait_s = _retry_after_s(error) or 2.0**attempt
            except (OSError, http.client.HTTPException) as error:
                if attempt == attempts:
                    raise SiteError(
                        f"{self._base} does not answer: {error}", code="site.unreachable"
                    ) from error
                wait_s = 2.0**attempt
            time.sleep(min(wait_s, 60.0))
        raise AssertionError("the last attempt returns or raises")


def parsed(answer: bytes) -> dict[str, Any]:
    """The JSON object of an answer. Raises SiteError."""
    try:
        return dict(json.loads(answer))
    except (ValueError, TypeError) as error:
        raise SiteError(f"The site sent no JSON: {error}", code="site.no_json") from error


def _retry_after_s(error: urllib.error.HTTPError) -> float | None:
    """The seconds in Retry-After; None without it, or where a proxy sent a date."""
    given = str(error.headers.get("Retry-After", ""))
    return float(given) if given.isdecimal() else None


def _problem(error: urllib.error.HTTPError) -> SiteError:
    try:
        body = json.load(error)
        return SiteError(str(body["detail"]), code=str(body["code"]), status=error.code)
    except (ValueError, KeyError, TypeError):
        return SiteError(f"The site answered {error.code}.", code="site.status", status=error.code)


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")
