"""The client fits the schema, and `twofold submit` measures a candidate on a site."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from pytest_django.live_server_helper import LiveServer

from benchmarks import client
from benchmarks.harness import __main__ as command
from engagements.api import schema
from engagements.people import api_tokens
from engagements.runs.models import EngagementRun
from tests.engagements.world import World, measured

JSON_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool}
KINDS = client.Resource.__subclasses__()
SOURCE = "def prepare(problem): ...\ndef run(prepared, inputs, out): ...\n"


def is_null_or(hint: object) -> bool:
    return type(None) in getattr(hint, "__args__", ())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.component)
def test_every_member_of_the_client_is_in_the_schema(kind: type[client.Resource]) -> None:
    properties: dict[str, Any] = schema.document()["components"]["schemas"][kind.component][
        "properties"
    ]
    hints = get_type_hints(kind)
    for each in fields(kind):  # type: ignore[arg-type]
        described, hint = properties[each.name], hints[each.name]
        types = described.get("type")
        if isinstance(types, list):
            # Null in an answer is None in the client.
            assert is_null_or(hint) or "null" not in types, each.name
            types = next(one for one in types if one != "null")
        if types in JSON_TYPES:
            assert JSON_TYPES[types] in (hint, *getattr(hint, "__args__", ())), each.name


def test_the_client_needs_neither_django_nor_torch() -> None:
    code = "import sys, benchmarks.client; print(json := sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not {"django", "torch", "requests"} & set(json.loads(loaded.replace("'", '"')))


def test_a_token_is_sent_by_https_alone() -> None:
    with pytest.raises(client.SiteError) as refused:
        client.Site("http://twofold.example.com", "twofold_secret")
    assert refused.value.code == "site.not_https"


@pytest.mark.django_db(transaction=True)
def test_submit_prints_and_comments_the_ratio(
    live_server: LiveServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    world = World()
    reference = world.active().engagement.reference
    _, token = api_tokens.create(
        owner=world.consultant, name="CI", scopes=["read", "runs"], by=world.consultant
    )
    candidate, comment = tmp_path / "mine.py", tmp_path / "comment.md"
    candidate.write_text(SOURCE)
    monkeypatch.setenv("TWOFOLD_TOKEN", token)

    def conclude(_: float) -> None:
        for asked in EngagementRun.objects.filter(run__state="queued"):
            measured(asked, "met")

    monkeypatch.setattr(client.time, "sleep", conclude)
    monkeypatch.setattr(client.Site.follow, "__kwdefaults__", {"every_s": 0, "sleep": conclude})
    given = ["--site", live_server.url, "--markdown", str(comment), reference, str(candidate)]
    assert command.main(["submit", *given]) == 0
    shown = capsys.readouterr()
    assert "2.40× (2.30 to 2.50), met" in shown.out
    assert "queued" in shown.err
    assert "2.40×" in comment.read_text()
    assert EngagementRun.objects.get().run.solution.source == SOURCE
    candidate.write_text("no code (")
    assert command.main(["submit", *given]) == 2
    assert "solution.syntax" in capsys.readouterr().err
    monkeypatch.setenv("TWOFOLD_TOKEN", "twofold_wrong")
    assert command.main(["submit", *given]) == 2
    assert "authentication_failed" in capsys.readouterr().err
