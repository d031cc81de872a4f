"""How every request is answered: errors, pages, filters, ETags, and answers sent once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.models import Solution
from engagements.api import idempotency
from engagements.api.models import IdempotentRequest
from engagements.api.urls import RESOURCES
from engagements.people.token_models import Scope
from tests.engagements.api_program import Program
from tests.engagements.world import World

SOURCE = "def prepare(problem): ...\ndef run(prepared, inputs, out): ...\n"
CANDIDATE = {"operator": "shared_prefix_attention", "filename": "mine.py", "source": SOURCE}
MEMBERS = {"type", "title", "status", "detail", "code"}


def test_a_request_needs_credentials(client: Client, db: None) -> None:
    for name in RESOURCES:
        answer = client.get(f"/api/v1/{name}/")
        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer"), name
        assert answer.json()["code"] == "not_authenticated"


def test_errors_are_problem_details(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(world.consultant)
    for answer, status, code in [
        (program.get("runs/99999/"), 404, "not_found"),
        (program.get("nowhere/at/all/"), 404, "not_found"),
        (program.get("runs/?limit=%00"), 400, "malformed"),
        (program.get("runs/", {"colour": "red"}), 400, "invalid"),
        (program.client.delete("/api/v1/runs/"), 405, "method_not_allowed"),
        (program.post("candidates/", "no JSON"), 400, "parse_error"),
        (program.post("candidates/", CANDIDATE | {"operator": "x"}), 422, "solution.operator"),
    ]:
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (status, code)
        assert answer["Content-Type"] == "application/problem+json"
        assert problem.keys() - {"errors"} == MEMBERS
        assert problem["status"] == status
    missing = program.post("candidates/", {"operator": "x"}).json()
    assert {(one["field"], one["code"]) for one in missing["errors"]} == {
        ("filename", "required"),
        ("source", "required"),
    }

    def broken(*_: object) -> None:
        raise RuntimeError("a secret of the database")

    monkeypatch.setattr("engagements.access.rows_for", broken)
    program.client.raise_request_exception = False
    answer = program.get("runs/")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert b"secret" not in answer.content
    # People get a page.
    assert b'oops__code">404<' in client.get("/nowhere/").content


def test_lists_have_pages_that_new_rows_do_not_move(world: World) -> None:
    first, second = world.scoping(), world.scoping()
    program = Program(world.viewer)
    page = program.get("engagements/", {"page_size": 1}).json()
    assert [row["reference"] for row in page["results"]] == [second.reference]
    world.scoping()
    after = program.client.get(page["next"]).json()
    assert [row["reference"] for row in after["results"]] == [first.reference]
    assert after["next"] is None


def test_filters_narrow_a_list_and_unknown_ones_are_refused(world: World) -> None:
    one, other = world.scoping(), world.auditing().engagement
    program = Program(world.consultant)
    found = program.rows("engagements/", stage=["scoping", "closed"])
    assert [row["reference"] for row in found] == [one.reference]
    assert [row["engagement"] for row in program.rows("audits/", engagement=other.reference)] == [
        other.reference
    ]
    assert program.rows("audits/", engagement=one.reference) == []
    for query in (
        {"stage": "lost"},
        {"customer": "9" * 30},
        {"updated_since": "yesterday"},
        {"page": "2"},
    ):
        answer = program.get("engagements/", query)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, *query)


def test_updated_since_leaves_out_what_did_not_change(world: World) -> None:
    contract = world.active()
    program = Program(world.viewer)
    now = timezone.now()
    later = {"updated_since": (now + timedelta(minutes=1)).isoformat()}
    earlier = {"updated_since": (now - timedelta(hours=1)).isoformat()}
    for name in ("engagements", "contracts", "milestones", "audits"):
        assert program.rows(f"{name}/", **later) == [], name
        assert program.rows(f"{name}/", **earlier), name
    for moment in ("0180-12-30T01:53:24+16:02", "0001-01-01T00:00:00+14:00"):
        assert program.rows("contracts/", updated_since=moment), moment
    asked = world.request(contract)
    since = {"updated_since": now.isoformat()}
    assert [row["id"] for row in program.rows("runs/", **since)] == [asked.pk]
    # The run is an event of its engagement, which may have changed any of its rows.
    assert [row["id"] for row in program.rows("contracts/", **since)] == [contract.pk]


def test_an_unchanged_answer_is_304(world: World) -> None:
    reference = world.scoping().reference
    program = Program(world.viewer)
    for path in (f"engagements/{reference}/", "engagements/", "schema/"):
        first = program.get(path)
        again = program.get(path, If_None_Match=first["ETag"])
        assert (again.status_code, again.content) == (304, b""), path
    world.auditing(engagement=world.scoping())
    assert program.get("engagements/", If_None_Match=first["ETag"]).status_code == 200


def test_a_contract_is_offered_as_it_was_read(world: World) -> None:
    contract = world.drafted()
    program, path = Program(world.consultant), f"contracts/{contract.pk}/"
    read = program.get(path)
    assert read.json()["terms"] is None
    assert program.post(f"{path}offer/").status_code == 428
    stale = program.post(f"{path}offer/", If_Match='"sha256:other"')
    assert (stale.status_code, stale.json()["code"]) == (412, "contract.changed")
    offered = program.post(f"{path}offer/", If_Match=read["ETag"])
    assert (offered.status_code, offered.json()["state"]) == (200, "offered")
    assert offered.json()["terms"]
    assert Program(world.finance).post(f"{path}offer/", If_Match="x").status_code == 403


def test_a_repeated_write_is_answered_as_the_first_time(world: World) -> None:
    contract = world.active()
    candidate, program = world.solution.pk, Program(world.consultant)
    body = {
        "engagement": contract.engagement.reference,
        "candidate": candidate,
        "purpose": "trial",
    }
    first = program.post("runs/", body, Idempotency_Key="one")
    again = program.post("runs/", body, Idempotency_Key="one")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert (again["Idempotent-Replayed"], contract.engagement.runs.count()) == ("true", 1)
    other = program.post("runs/", body | {"purpose": "acceptance"}, Idempotency_Key="one")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency.key_reused")
    # Another caller's key is another key.
    assert Program(world.admin).post("runs/", body, Idempotency_Key="one").status_code == 201
    assert contract.engagement.runs.count() == 2
    bad = program.post("runs/", body, Idempotency_Key="x" * 201)
    assert bad.json()["code"] == "idempotency.key"


def test_a_failed_write_may_be_sent_again_with_its_key(world: World) -> None:
    program = Program(world.consultant)
    failed = program.post("candidates/", CANDIDATE | {"source": ""}, Idempotency_Key="k")
    assert failed.status_code == 422
    assert program.post("candidates/", CANDIDATE, Idempotency_Key="k").status_code == 201
    row = IdempotentRequest.objects.get()
    row.created_at = timezone.now() - idempotency.KEPT_FOR - timedelta(hours=1)
    row.save()
    idempotency.clear_old()
    assert not IdempotentRequest.objects.exists()


def test_every_write_honours_idempotency_keys() -> None:
    handlers = [
        handler
        for resource in RESOURCES.values()
        for name in vars(resource)
        if callable(handler := getattr(resource, name))
        and (name == "create" or "post" in getattr(handler, "mapping", {}))
    ]
    assert len(handlers) >= 5
    assert all(handler.is_idempotent for handler in handlers)


def test_a_token_does_what_its_scopes_say(world: World) -> None:
    reference = world.scoping().reference
    reader, writer = Program(world.consultant, Scope.READ), Program(world.consultant, Scope.RUNS)
    assert reader.get(f"engagements/{reference}/").status_code == 200
    refused = reader.post("candidates/", CANDIDATE)
    assert (refused.status_code, refused.json()["code"]) == (403, "token.scope")
    assert writer.post("candidates/", CANDIDATE).status_code == 201
    assert writer.rows("candidates/")[0]["digest"] == Solution.objects.latest("pk").digest
    assert writer.get("engagements/").status_code == 403


def test_a_list_takes_as_many_queries_for_many_rows_as_for_one(world: World) -> None:
    staff = Program(world.finance)

    def queries() -> dict[str, int]:
        counts = {}
        for name in RESOURCES:
            with CaptureQueriesContext(connection) as captured:
                assert staff.get(f"{name}/").status_code == 200
            counts[name] = len(captured)
        return counts

    world.settlement()
    # The first use of a token is noted.
    staff.get("customers/")
    one = queries()
    world.settlement()
    assert queries() == one
    assert max(one.values()) <= 10, one
