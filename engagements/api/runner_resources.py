"""The runner's API: claim the next run, download its files, upload progress and record."""

from __future__ import annotations

from dataclasses import asdict
from typing import IO, Any, Final

from django.conf import settings
from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.errors import RecordRejected
from benchmarks.limits import limits
from benchmarks.measuring.limits import Limits
from benchmarks.records.canonical import content_digest
from benchmarks.records.failure_codes import LABELS, OF_REFEREE, FailureCode
from engagements.api.fields import DIGEST, Row, example
from engagements.api.idempotency import idempotent
from engagements.api.resources import Api
from engagements.common.errors import ApplicationError
from engagements.people.models import User
from engagements.people.token_models import Scope
from engagements.runners import attempts, services
from engagements.runners.models import DeviceKind, Runner, RunnerAttempt

# Of a lease and a measurement; the others are the site's own.
LIMITS: Final = (
    "lease_s",
    "beat_s",
    "run_s",
    "silence_s",
    "progress_every_s",
    "grace_s",
    "line_bytes",
    "output_bytes",
    "record_bytes",
)


def runner_of(request: Request) -> Runner:
    """The runner whose token made this request. Raises Http404 for everybody else."""
    assert isinstance(request.user, User)
    row = Runner.objects.select_related("account", "customer", "key").filter(account=request.user)
    found = row.first()
    if found is None or not found.is_active:
        raise Http404("No such runner.")
    services.note_sign_of_life(found)
    return found


@example(id=3, name="h200-04", device="cuda", device_name="NVIDIA H200", key="5f5f5f5f5f5f5f5f")
class RunnerSerializer(Row):
    """A runner. Device and key are empty before its first start."""

    key = serializers.CharField(source="key.key_id", read_only=True, allow_null=True)

    class Meta:
        model = Runner
        fields = ("id", "name", "device", "device_name", "key")


@example(
    device="cuda",
    device_name="NVIDIA H200",
    public_key="-----BEGIN PUBLIC KEY-----\n…\n-----END PUBLIC KEY-----\n",
)
class IntroductionSerializer(serializers.Serializer[Any]):
    """The device of a runner and its public key, in PEM or base64."""

    device = serializers.ChoiceField(choices=DeviceKind.choices)
    device_name = serializers.CharField(max_length=services.LONGEST_DEVICE_NAME)
    public_key = serializers.CharField(max_length=10_000)


class RunnerFileSerializer(serializers.Serializer[Any]):
    """A file to download: the SHA-256 of its bytes, and for a candidate its name."""

    digest = serializers.CharField()
    filename = serializers.CharField()


class NoncesSerializer(serializers.Serializer[Any]):
    """The values that the record must contain. The customer's is null where they gave none."""

    site = serializers.CharField()
    customer = serializers.CharField(allow_null=True)


LimitsSerializer = type(
    "LimitsSerializer",
    (serializers.Serializer,),
    {
        "__doc__": "Limits of a measurement, in seconds and bytes.",
        **{
            name: serializers.IntegerField() if name.endswith("bytes") else serializers.FloatField()
            for name in LIMITS
        },
    },
)


@example(
    id=12,
    run=31,
    attempt=1,
    device="cuda",
    nonces={"site": "ab" * 32, "customer": None},
    benchmark={"digest": DIGEST, "filename": "benchmark.json"},
    candidate={"digest": DIGEST, "filename": "triton_fused.py"},
    required_isolation=["acceptance"],
    limits={name: getattr(Limits(), name) for name in LIMITS},
)
class AttemptSerializer(serializers.Serializer[Any]):
    """A run that this runner claimed. Its lease ends `lease_s` after the latest report."""

    id = serializers.IntegerField()
    run = serializers.IntegerField()
    attempt = serializers.IntegerField()
    device = serializers.ChoiceField(choices=DeviceKind.choices)
    nonces = NoncesSerializer()
    benchmark = RunnerFileSerializer()
    candidate = RunnerFileSerializer()
    required_isolation = serializers.ListField(child=serializers.CharField())
    limits = LimitsSerializer()


def attempt_data(attempt: RunnerAttempt) -> dict[str, Any]:
    """The members of AttemptSerializer."""
    run, within = attempt.run, asdict(limits())
    return {
        "id": attempt.pk,
        "run": attempt.run_id,
        "attempt": attempt.attempt,
        "device": run.benchmark.document["hardware"]["device"],
        "nonces": {"site": attempt.nonce, "customer": run.nonces.get("customer")},
        "benchmark": {"digest": run.benchmark.digest, "filename": "benchmark.json"},
        "candidate": {"digest": run.solution.digest, "filename": run.solution.filename},
        "required_isolation": list(settings.TWOFOLD_REQUIRED_ISOLATION),
        "limits": {name: within[name] for name in LIMITS},
    }


class Runners(Api):
    """The runner itself, and its next run."""

    scope = Scope.RUNNER
    serializer_class = RunnerSerializer
    pagination_class = None

    @extend_schema(operation_id="runner_retrieve")
    def retrieve(self, request: Request) -> Response:
        """Return the runner of this token."""
        return Response(RunnerSerializer(runner_of(request)).data)

    @extend_schema(request=IntroductionSerializer, responses=RunnerSerializer)
    def update(self, request: Request) -> Response:
        """State the device and the public key, at every start. The key never changes."""
        given = IntroductionSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        row = services.introduce(runner=runner_of(request), **given.validated_data)
        return Response(RunnerSerializer(row).data)

    @extend_schema(request=None, responses={200: AttemptSerializer, 204: None})
    @idempotent
    def claim(self, request: Request) -> Response:
        """Claim the next run; 204 where there is none.

        An attempt that was claimed and not begun is returned again. One that was begun ends.
        """
        attempt = attempts.claim(runner=runner_of(request))
        if attempt is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(attempt_data(attempt))


class RecordParser(BaseParser):
    """Reads a record's bytes as they are, up to the site's limit, as `content`."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Any = None
    ) -> dict[str, bytes]:
        """Return the bytes. Raises RecordRejected when there are too many."""
        largest = limits().record_bytes
        request: Request = parser_context["request"]
        declared = int(request.META.get("CONTENT_LENGTH") or 0)
        if declared > largest:
            raise RecordRejected(
                f"The record has {declared:,} bytes; the limit is {largest:,}.",
                code="record.too_large",
            )
        content: bytes = stream.read(largest + 1)
        if content_digest(content) != request.headers.get("Content-Digest"):
            raise ApplicationError(
                "The bytes that arrived do not have the digest in Content-Digest. Send the record "
                "again.",
                code="runner.damaged_upload",
            )
        return {"content": content}


class ReportSerializer(serializers.Serializer[Any]):
    """A heartbeat, with new progress in the form of `twofold run --progress`."""

    progress = serializers.DictField(required=False, allow_null=True)


@example(
    code=FailureCode.CANDIDATE_CRASHED.value, reason="The candidate raised ValueError in its call."
)
class FailureSerializer(serializers.Serializer[Any]):
    """The cause for which a run ends without a record, as its referee states it."""

    code = serializers.ChoiceField(choices=[(code.value, LABELS[code]) for code in OF_REFEREE])
    reason = serializers.CharField(max_length=5000, allow_blank=True)


@example(digest=DIGEST, verdict="met")
class ReceiptSerializer(serializers.Serializer[Any]):
    """A record that was stored: the runner need not keep it."""

    digest = serializers.CharField()
    verdict = serializers.CharField()


class RunnerAttempts(Api):
    """An attempt that this runner claimed. 410 once it has ended."""

    scope = Scope.RUNNER
    pagination_class = None

    def attempt(self) -> RunnerAttempt:
        """The attempt in the URL. Raises Http404 for another runner's."""
        rows = runner_of(self.request).attempts.select_related(
            "runner__account", "run__benchmark", "run__solution"
        )
        found = rows.filter(pk=self.kwargs["pk"]).first()
        if found is None:
            raise Http404("No such attempt.")
        return found

    @extend_schema(responses={200: OpenApiTypes.OBJECT})
    def benchmark(self, request: Request, pk: int) -> HttpResponse:
        """Download the sealed benchmark, canonical JSON with the digest of the attempt."""
        content = attempts.benchmark_file(self.attempt())
        return HttpResponse(content, content_type="application/json")

    @extend_schema(responses={(200, "text/plain"): OpenApiTypes.STR})
    def candidate(self, request: Request, pk: int) -> HttpResponse:
        """Download the candidate's source, with the digest of the attempt."""
        content = attempts.candidate_file(self.attempt())
        return HttpResponse(content, content_type="text/plain; charset=utf-8")

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def captured(self, request: Request, pk: int, digest: str) -> HttpResponse:
        """Download a file of captured tensors that the benchmark names, by its SHA-256."""
        content = attempts.captured_file(self.attempt(), f"sha256:{digest}")
        return HttpResponse(content, content_type="application/octet-stream")

    @extend_schema(request=ReportSerializer, responses={204: None})
    def progress(self, request: Request, pk: int) -> Response:
        """Extend the lease and show the progress on the run's page."""
        given = ReportSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        attempts.report(attempt=self.attempt(), progress=given.validated_data.get("progress"))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        request={"application/json": OpenApiTypes.OBJECT},
        responses=ReceiptSerializer,
        parameters=[
            OpenApiParameter(
                "Content-Digest",
                OpenApiTypes.STR,
                OpenApiParameter.HEADER,
                required=True,
                description="SHA-256 of the body, as in RFC 9530.",
            )
        ],
    )
    def record(self, request: Request, pk: int) -> Response:
        """Hand in the signed record, checked as a worker’s. The same one is taken again."""
        attempt = self.attempt()
        assert isinstance(request.data, dict)
        record = attempts.finish(attempt=attempt, content=request.data["content"])
        return Response({"digest": record.digest, "verdict": record.verdict})

    @extend_schema(request=FailureSerializer, responses={204: None})
    def failure(self, request: Request, pk: int) -> Response:
        """End the run without a record."""
        attempt, given = self.attempt(), FailureSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        code, reason = FailureCode(given.validated_data["code"]), given.validated_data["reason"]
        attempts.fail(attempt=attempt, code=code, reason=reason)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={204: None})
    @idempotent
    def release(self, request: Request, pk: int) -> Response:
        """Return the run to the queue, as when the runner shuts down."""
        attempts.release(attempt=self.attempt())
        return Response(status=status.HTTP_204_NO_CONTENT)
