"""The site's resources for runners."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.client import ATTEMPTS, Site, SiteError, parsed
from benchmarks.measuring.limits import Limits
from benchmarks.measuring.measurements import Measurement
from benchmarks.records import captured_tensors, documents
from benchmarks.records.canonical import content_digest, digest_of_bytes

JSON: Final = {"Content-Type": "application/json"}
ENDED: Final = "run.stale_attempt"
# Without an answer, or of a site that is being restarted or overloaded.
UNAVAILABLE: Final = frozenset({0, 429, 500, 502, 503, 504})
# A copy that was damaged on its way is sent again.
DAMAGED: Final = frozenset({"runner.damaged_upload", "site.no_json"})
# The site declined this runner itself: its token may be replaced.
NOT_ADMITTED: Final = frozenset({401, 403})
LARGEST_CANDIDATE_BYTES: Final = 2**20
# The measurement waits for a report, so that a silent network must not hold it up.
REPORT_TIMEOUT_S: Final = 5.0


class WrongDigest(Exception):
    """A file that the site sent does not have the digest that the site named."""


def may_pass(error: SiteError) -> bool:
    """Whether the same request may succeed later."""
    return error.status in UNAVAILABLE or error.code in DAMAGED


@dataclass(frozen=True)
class Attempt:
    """A run that this runner claimed, as the site describes it."""

    data: Mapping[str, Any]

    @property
    def id(self) -> int:
        return int(self.data["id"])

    @property
    def nonces(self) -> dict[str, str]:
        """The nonces that the record must contain, by issuer."""
        return {issuer: str(value) for issuer, value in self.data["nonces"].items() if value}

    @property
    def limits(self) -> Limits:
        return Limits(**self.data["limits"])

    def __str__(self) -> str:
        return f"run {self.data['run']}, attempt {self.data['attempt']}"


class RunnerSite(Site):
    """A site, by a runner's token."""

    def introduce(self, *, device: str, device_name: str, public_key: str) -> dict[str, Any]:
        """State the device and the public key; return the runner as the site knows it."""
        given = {"device": device, "device_name": device_name, "public_key": public_key}
        content = json.dumps(given).encode()
        return parsed(self.exchange("PUT", "runner/", content=content, headers=JSON))

    def claim(self) -> Attempt | None:
        """Claim the next run; None where there is none."""
        answer = self.exchange("POST", "runner/claim/", content=b"{}", headers=JSON, attempts=1)
        return Attempt(parsed(answer)) if answer else None

    def measurement(self, attempt: Attempt) -> Measurement:
        """Download the files of an attempt. Raises WrongDigest."""
        candidate = self._file(attempt, "candidate", LARGEST_CANDIDATE_BYTES)
        benchmark = self._file(attempt, "benchmark", attempt.limits.record_bytes)
        return Measurement(
            benchmark=benchmark,
            captured=self._captured(attempt, documents.load(benchmark)),
            filename=_plain_name(str(attempt.data["candidate"]["filename"])),
            source=candidate,
            nonces=attempt.nonces,
            required_isolation=[str(each) for each in attempt.data["required_isolation"]],
        )

    def report(self, attempt: Attempt, progress: Mapping[str, Any] | None) -> bool:
        """Extend the lease, and show the progress if given; False once the attempt has ended."""
        body = json.dumps({"progress": progress}).encode()
        return self._unless_ended(attempt, "progress", body, timeout_s=REPORT_TIMEOUT_S, attempts=1)

    def hand_in(self, attempt_id: int, record: bytes) -> None:
        """Hand in a record."""
        headers = {**JSON, "Content-Digest": content_digest(record)}
        path = f"runner/attempts/{attempt_id}/record/"
        self.exchange("PUT", path, content=record, headers=headers, attempts=1)

    def fail(self, attempt: Attempt, reason: str, code: str) -> bool:
        """End the run without a record; False once the attempt has ended."""
        body = json.dumps({"reason": reason, "code": code}).encode()
        return self._unless_ended(attempt, "failure", body)

    def release(self, attempt_id: int, *, attempts: int = ATTEMPTS) -> None:
        """Return a run to the queue."""
        path = f"runner/attempts/{attempt_id}/release/"
        self.exchange("POST", path, content=b"{}", headers=JSON, attempts=attempts)

    def _captured(self, attempt: Attempt, document: Mapping[str, Any]) -> dict[str, bytes]:
        """The captured tensors that the benchmark names, by path."""
        found = {}
        for name, held in document.get("captured", {}).items():
            hexadecimal = held["digest"].removeprefix("sha256:")
            path = f"runner/attempts/{attempt.id}/captured/{hexadecimal}/"
            found[name] = self.exchange("GET", path, most_bytes=captured_tensors.MAX_BYTES)
            if digest_of_bytes(found[name]) != held["digest"]:
                raise WrongDigest(f"{name} of {attempt} does not have the sealed digest.")
        return found

    def _file(self, attempt: Attempt, name: str, most_bytes: int) -> bytes:
        path = f"runner/attempts/{attempt.id}/{name}/"
        content = self.exchange("GET", path, most_bytes=most_bytes)
        expected = attempt.data[name]["digest"]
        if digest_of_bytes(content) != expected:
            raise WrongDigest(f"The {name} of {attempt} does not have the digest {expected}.")
        return content

    def _unless_ended(self, attempt: Attempt, what: str, body: bytes, **options: Any) -> bool:
        path = f"runner/attempts/{attempt.id}/{what}/"
        try:
            self.exchange("PUT", path, content=body, headers=JSON, **options)
        except SiteError as error:
            if error.code == ENDED:
                return False
            raise
        return True


def _plain_name(filename: str) -> str:
    """The name, which must not lead out of its folder."""
    if not filename.replace(".", "_").isidentifier() or filename.startswith("."):
        raise WrongDigest(f"{filename!r} is not a valid name of a candidate.")
    return filename
