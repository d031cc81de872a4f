"""The catalogue's pages: for everybody, honest where nothing is measured yet."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from benchmarks.harness.sides import operators
from engagements.catalogue import queries
from kernels import catalogue, coverage
from tests.engagements.catalogue_files import Folder
from tests.engagements.world import World
from tests.harness.softmax import OPERATORS

pytestmark = pytest.mark.django_db

READ = (
    ("catalogue", ()),
    ("catalogue-operator", ("moe_routing",)),
    ("catalogue-record", ("moe_routing", "h200")),
    ("catalogue-source", ("moe_routing", "h200")),
    ("catalogue-picture", ("roofline", "light")),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Measurements of this test's own in the catalogue's place."""
    # The made-up records begin as those of the tests' own operator.
    monkeypatch.setenv(operators.SEARCH_PATH_VARIABLE, os.fspath(OPERATORS))
    made = Folder(tmp_path / "kernels")
    monkeypatch.setattr(queries, "FOLDER", made.place)
    return made


@pytest.fixture
def read(client: Client, world: World) -> Callable[..., str]:
    """A page as a customer's member sees it: nothing on it is for the house alone."""
    client.force_login(world.viewer)

    def page(name: str, *args: str) -> str:
        response = client.get(reverse(name, args=args))
        assert response.status_code == 200
        return response.content.decode()

    return page


def test_signed_out_visitors_read_the_same(client: Client, folder: Folder) -> None:
    folder.add_record("moe_routing", 1.4, alone=1.7)
    for name, args in READ:
        assert client.get(reverse(name, args=args)).status_code == 200


def test_the_strongest_baseline_is_first_and_its_source_one_click_away(client: Client) -> None:
    front = client.get("/").content.decode()
    ratios = [front.index(f"<strong>{ratio}") for ratio in ("1.14×", "3.07×", "4.54×")]
    assert ratios == sorted(ratios)
    source = reverse("catalogue-source", args=["shared_prefix_attention", "h200-flashinfer-parts"])
    assert source in front
    response = client.get(source)
    assert response["Content-Type"].startswith("text/plain")
    assert "def run(" in response.content.decode()
    first = next(e for e in queries.entries() if e.operator == "shared_prefix_attention").first
    assert first is not None
    assert first.report.name == "h200-flashinfer-parts"


def test_the_catalogue_is_sorted_by_any_column() -> None:
    measured = [
        one.first.report for one in queries.in_order(queries.entries(), "ratio") if one.first
    ]
    ratios = [report.ratio or 0.0 for report in measured]
    assert ratios == sorted(ratios, reverse=True)
    assert queries.in_order(queries.entries(), "'; --") == list(queries.entries())


@pytest.mark.parametrize("role", ["consultant", "finance", "viewer", "stranger"])
def test_the_catalogue_is_the_same_for_every_user(
    client: Client, world: World, folder: Folder, role: str
) -> None:
    folder.add_record("moe_routing", 1.4, alone=1.7)
    client.force_login(getattr(world, role))
    for name, args in READ:
        assert client.get(reverse(name, args=args)).status_code == 200
    assert client.post(reverse("catalogue")).status_code == 405


def test_names_in_a_definition_are_code_and_symbols_are_escaped(
    client: Client, world: World
) -> None:
    client.force_login(world.viewer)
    ladder = client.get(reverse("catalogue-operator", args=["matmul_ladder"])).content.decode()
    assert "c = a b for each of <code>batch</code> pairs" in ladder
    sparse = client.get(reverse("catalogue-operator", args=["sparse_mask_attention"]))
    assert "blocks * block tokens" in sparse.content.decode()
    assert "j &lt;= i when" in sparse.content.decode()


@pytest.mark.parametrize(
    "address",
    [
        "/catalogue/no_such_thing/",
        "/catalogue/moe_routing/nothing.record.json",
        "/catalogue/no_such_thing/h200.record.json",
        "/catalogue/moe_routing/nothing.source.txt",
        "/catalogue/pictures/roofline-purple.svg",
        "/catalogue/pictures/roofline-light.svg",
        "/catalogue/keys/0000000000000000.pub",
    ],
)
def test_what_is_not_there_is_not_found(
    client: Client, world: World, folder: Folder, address: str
) -> None:
    client.force_login(world.consultant)
    assert client.get(address).status_code == 404


def test_without_records_every_operator_is_listed_as_not_measured(
    read: Callable[..., str], folder: Folder
) -> None:
    page = read("catalogue")
    for operator in catalogue.operators():
        assert catalogue.definition(operator).title in page
    assert "<picture>" not in page
    # Each operator, and each claim.
    assert page.count("not measured") >= len(catalogue.operators()) + len(queries.judged())
    assert "python -m kernels measure OPERATOR" in page
    assert "Not measured" in read("catalogue-operator", "vector_add")


def test_a_record_shows_with_its_interval_verdict_and_place(
    read: Callable[..., str], folder: Folder
) -> None:
    folder.add_record("moe_routing", 1.4, alone=1.7)
    page = read("catalogue")
    assert "1.40×" in page
    assert "1.70×" in page
    assert "90%" in page
    assert "Mixture-of-experts routing: 1.40× over compiled_grouped_mm" in page
    one = read("catalogue-operator", "moe_routing")
    assert "verified" in one
    assert f"signed by key {folder.key.public.id}" in one


def test_each_unsupported_combination_cites_its_pages(
    read: Callable[..., str], folder: Folder
) -> None:
    page = read("catalogue-operator", "flash_attention")
    assert "combined: paging with training" in page
    for known in coverage.libraries():
        for address in (known.documented, *known.elsewhere):
            if "flash_attention" in known.operators:
                assert f'href="{address}"' in page


def test_a_survey_without_a_record_gives_figures_and_no_verdict(
    read: Callable[..., str], folder: Folder
) -> None:
    folder.add_survey("rotary_embedding", {"compiled": 75.0, "liger": None, "triton_rotate": 50.0})
    page = read("catalogue")
    assert "surveyed on NVIDIA H200, no verdict" in page
    assert "1.50×" in page
    assert "<picture>" not in page


def test_a_claim_is_judged_by_the_records_that_hold(
    read: Callable[..., str], folder: Folder
) -> None:
    folder.add_record("shared_prefix_attention", 4.4, alone=15.0)
    verdicts = {one.claim.says: one.verdict for one in queries.judged()}
    said = "End-to-end speedup: 2.8× on that specific workload."
    assert verdicts.pop(said) == "holds"
    assert set(verdicts.values()) == {"not measured"}
    page = read("catalogue")
    assert "holds" in page
    assert re.search(r"over sdpa, \S.*: 4\.40× \(", page)


def test_a_record_that_was_changed_is_shown_as_such_and_drawn_nowhere(
    read: Callable[..., str], folder: Folder
) -> None:
    file = folder.add_record("moe_routing", 1.4, alone=1.7)
    stranger = Folder(file.parents[2] / "elsewhere")
    (folder.place / "keys" / "made.pub").write_text(stranger.key.public.pem())
    page = read("catalogue")
    assert "does not verify" in page
    assert "<picture>" not in page
    assert "unknown key" in read("catalogue-operator", "moe_routing")


def test_what_cannot_be_read_is_said_and_hides_nothing_else(
    read: Callable[..., str], folder: Folder
) -> None:
    folder.add_record("moe_routing", 1.4, alone=1.7)
    broken = folder.add_record("vector_add", 1.0)
    broken.write_text('{"schema":')
    page = read("catalogue")
    assert "unreadable" in page
    assert "1.40×" in page
    assert "cannot be read" in read("catalogue-operator", "vector_add")


def test_considered_baselines_have_times_and_reasons(
    read: Callable[..., str], folder: Folder
) -> None:
    folder.add_record("rotary_embedding", 1.1, alone=1.5)
    times_us = {"compiled": 73.5, "flashinfer": 53.0, "liger": None, "triton_rotate": 50.0}
    folder.add_survey("rotary_embedding", times_us)
    page = read("catalogue-operator", "rotary_embedding")
    places = [page.index(f'<th scope="row">{name}') for name in ("triton_rotate", "flashinfer")]
    assert places == sorted(places)
    assert "not available: needs a library" in page
    assert "Over flashinfer, by the survey" in page


def test_a_downloaded_record_is_the_very_file_and_its_key_is_beside_it(
    client: Client, world: World, folder: Folder
) -> None:
    file = folder.add_record("moe_routing", 1.4, alone=1.7)
    client.force_login(world.viewer)
    response = client.get(reverse("catalogue-record", args=["moe_routing", "h200"]))
    assert response.content == file.read_bytes()
    assert json.loads(response.content)["summary"]["verdict"] == "met"
    key = client.get(reverse("catalogue-key", args=[folder.key.public.id]))
    assert key.content.decode() == folder.key.public.pem()


def test_a_picture_is_drawn_once_for_the_files_it_shows(
    client: Client, world: World, folder: Folder
) -> None:
    folder.add_record("moe_routing", 1.4, alone=1.7)
    client.force_login(world.viewer)
    for name in ("roofline", "ratios"):
        url = reverse("catalogue-picture", args=[name, "dark"])
        first = client.get(url)
        assert first["Content-Type"].startswith("image/svg+xml")
        again = client.get(url, headers={"if-none-match": first["ETag"]})
        assert again.status_code == 304
    folder.add_record("vector_add", 1.0, alone=1.0)
    assert client.get(url, headers={"if-none-match": first["ETag"]}).status_code == 200


def test_an_operators_page_offers_templates_with_the_tensors_of_every_workload(
    client: Client,
) -> None:
    page = client.get(reverse("catalogue-operator", args=["int8_linear"]), {"preset": "h200"})
    writing = page.context["writing"]
    assert [each.filename for each in writing.templates] == [
        "torch_mine.py",
        "triton_mine.py",
        "gluon_mine.py",
        "cuda_mine.cu",
    ]
    assert {row.name for load in writing.workloads for row in load.rows} >= {"x", "weight"}
    for each in writing.templates:
        file = client.get(each.url)
        assert f'filename="{each.filename}"' in file["Content-Disposition"]
        assert "def run(prepared, inputs, out)" in file.content.decode()
    unknown = ("no_such_preset", "torch"), ("h200", "klingon")
    for preset, language in unknown:
        url = reverse("catalogue-template", args=["int8_linear", preset, language])
        assert client.get(url).status_code == 404
    several = client.get(reverse("catalogue-operator", args=["allreduce_residual_norm"]))
    assert several.context["writing"].templates == []
