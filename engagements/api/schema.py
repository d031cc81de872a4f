"""The schema of the API (OpenAPI 3.1), and the page that shows it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import conditional_page, require_safe
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from engagements.api.authentication import TokenAuthentication
from engagements.api.problems import CONTENT_TYPE

PROBLEM: Final = {
    "type": "object",
    "description": "Problem details (RFC 9457). `code` is stable; `detail` is for people.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "The invalid fields of the request.",
            "items": {
                "type": "object",
                "properties": {
                    "field": {"type": "string"},
                    "code": {"type": "string"},
                    "detail": {"type": "string"},
                },
                "required": ["field", "code", "detail"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["type", "title", "status", "detail", "code"],
    "additionalProperties": False,
    "example": {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "No such run.",
        "code": "not_found",
    },
}
IDEMPOTENCY_KEY: Final = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="1 to 200 characters of your own, such as a UUID. The same request with the same "
    "key is answered again as the first time; another request is 422.",
)


class Schema(AutoSchema):
    """Adds `Idempotency-Key` to every write that honours it."""

    def get_override_parameters(self) -> list[Any]:
        handler = getattr(self.view, getattr(self.view, "action", ""), None)
        own = list(super().get_override_parameters())
        return [*own, IDEMPOTENCY_KEY] if getattr(handler, "is_idempotent", False) else own


class TokenScheme(OpenApiAuthenticationExtension):
    """Describes tokens in the schema."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of a person or a service account, created at /tokens/.",
        }


def add_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Every operation may answer with a problem."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path in result["paths"].values():
        for operation in path.values():
            operation["responses"]["default"] = {"description": "A problem.", "content": content}
            if "get" in path and operation is path["get"]:
                operation["responses"].setdefault(
                    "304", {"description": "Unchanged since the ETag in If-None-Match."}
                )
    return result


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """Return the schema. It is the same for everybody."""
    return dict(SchemaGenerator().get_schema(request=None, public=True))


@lru_cache(maxsize=1)
def _as_json() -> bytes:
    return bytes(OpenApiJsonRenderer().render(document()))


@require_safe
@conditional_page
def show(request: HttpRequest) -> HttpResponse:
    """Serve the schema as JSON."""
    response = HttpResponse(_as_json(), content_type="application/vnd.oai.openapi+json")
    response["Cache-Control"] = "public, max-age=300"
    return response


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Show the schema as a page, by scripts of this site alone."""
    return render(request, "api/docs.html")
