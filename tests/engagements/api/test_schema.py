"""The schema is valid OpenAPI 3.1, its examples are valid by it, and a page shows it."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.validation import validate_schema

from engagements.api import schema
from engagements.api.urls import RESOURCES


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    schema.document.cache_clear()
    with GENERATOR_STATS.silence():
        made = schema.document()
    assert not GENERATOR_STATS._warn_cache
    assert not GENERATOR_STATS._error_cache
    return made


def test_the_schema_is_valid_and_has_every_resource(document: dict[str, Any]) -> None:
    validate_schema(document)
    assert document["openapi"].startswith("3.1")
    for name in RESOURCES:
        assert "get" in document["paths"][f"/api/v1/{name}/"], name


def test_every_example_is_valid_by_its_schema(document: dict[str, Any]) -> None:
    checked = 0
    for path in document["paths"].values():
        for operation in path.values():
            bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
            contents = [each for body in bodies for each in body.get("content", {}).values()]
            for content in contents:
                for each in content.get("examples", {}).values():
                    whole = {**content["schema"], "components": document["components"]}
                    jsonschema.validate(each["value"], whole)
                    checked += 1
    assert checked > 2 * len(RESOURCES)


def test_writes_take_a_key_and_every_answer_may_be_a_problem(document: dict[str, Any]) -> None:
    for path in document["paths"].values():
        for method, operation in path.items():
            names = {each["name"] for each in operation.get("parameters", [])}
            # PUT needs none: sent again, it changes nothing.
            assert ("Idempotency-Key" in names) == (method not in ("get", "put"))
            assert "application/problem+json" in operation["responses"]["default"]["content"]


def test_the_page_of_the_schema_loads_nothing_from_elsewhere(client: Client) -> None:
    page = client.get("/api/v1/docs/").content.decode()
    assert 'data-schema="/api/v1/schema/"' in page
    assert "https://" not in page
    assert client.get("/api/v1/schema/").json()["info"]["title"] == "Twofold API"
