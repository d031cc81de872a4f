"""A program that calls the API with a token."""

from __future__ import annotations

from typing import Any

from django.test import Client

from engagements.people import api_tokens
from engagements.people.models import User
from engagements.people.token_models import Scope


class Program:
    """A client with a token. Bodies are JSON."""

    def __init__(self, user: User, *scopes: str) -> None:
        _, value = api_tokens.create(
            owner=user, name="Test", scopes=scopes or Scope.values, by=user
        )
        self.client = Client(headers={"Authorization": f"Bearer {value}"})

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Any:
        return self.client.get(f"/api/v1/{path}", query, headers=_named(headers))

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.client.post(
            f"/api/v1/{path}", body, content_type="application/json", headers=_named(headers)
        )

    def rows(self, path: str, **query: Any) -> list[dict[str, Any]]:
        answer = self.get(path, query)
        assert answer.status_code == 200, answer.content
        rows: list[dict[str, Any]] = answer.json()["results"]
        return rows


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
