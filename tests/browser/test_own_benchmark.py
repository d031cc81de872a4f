"""From an upload to a sealed benchmark to a met contract, by page alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from benchmarks.models import Record
from engagements.benchmark.models import BenchmarkVersion
from engagements.contracts.models import ContractVersion
from engagements.runs.models import EngagementRun
from tests.browser import page_actions
from tests.browser.conftest import Window
from tests.conftest import Worker
from tests.engagements import story
from tests.engagements.benchmark.folders import passed
from tests.engagements.story import SCENARIO, Story

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FOLDER = Path(__file__).parents[1] / "harness" / "folders" / "norm_quantize"
# A library that computes in double precision, and a target that any float32 reaches.
BASELINE = '''"""The operator in double precision."""

import torch


def prepare(state, axes):
    """Untimed."""
    return state["weight"].double()


def run(weight, inputs, out):
    """Timed: write every element of every output."""
    total = inputs["x"].double() + inputs["residual"].double()
    out["sum"].copy_(total)
    for _ in range(4):
        inverse = torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-5)
        normed = total * inverse * weight
    scale = normed.abs().amax(-1).clamp(min=1e-10) / 127
    out["scale"].copy_(scale)
    out["q"].copy_((normed / scale[:, None]).round().clamp(-127, 127))
'''
MEASURED_MS = 300_000
PASSWORD = "a password to type"


@pytest.mark.soak
def test_an_uploaded_benchmark_is_approved_by_both_sides_and_chosen_in_the_contract(
    window: Window, tmp_path: Path
) -> None:
    case = story.delivered()
    consultant, customer = window(case.consultant), window(case.signatory)
    version = upload(customer, case, packed(tmp_path))
    passed(version)
    # The page that was open shows the end of the check by itself.
    expect(approve_button(customer, case)).to_be_visible()
    seal(consultant, customer, case)
    draft(consultant, case)
    assert ContractVersion.objects.get().benchmark == version.seals.get().benchmark


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_customers_operator_is_checked_sealed_measured_and_met(
    window: Window, celery_worker_process: Callable[..., Worker], tmp_path: Path
) -> None:
    celery_worker_process(environment={"TWOFOLD_HOME": str(tmp_path)})
    case = story.delivered()
    for signer in (case.consultant, case.signatory):
        signer.set_password(PASSWORD)
        signer.save()
    consultant, customer = window(case.consultant), window(case.signatory)
    upload(customer, case, packed(tmp_path))
    expect(approve_button(customer, case)).to_be_visible(timeout=MEASURED_MS)
    seal(consultant, customer, case)
    draft(consultant, case)
    page_actions.send(page_actions.form_to(consultant, "contract-offer", case.reference))
    page_actions.expect_done(consultant)
    sign(consultant, customer, case)
    record = measured(consultant, case)
    assert record.verdict == "met", record.summary
    customer.goto(reverse("portal-run", args=[case.reference, EngagementRun.objects.get().pk]))
    expect(page_actions.panel(customer, "result")).to_be_visible()


def packed(folder: Path) -> Path:
    """The operator as an archive, with a slow baseline and a low target."""
    made = folder / "norm_to_int8"
    shutil.copytree(FOLDER, made)
    for each in (made / "baselines").iterdir():
        each.unlink()
    (made / "baselines" / "torch_double.py").write_text(BASELINE)
    description = made / "benchmark.toml"
    text = description.read_text()
    dtype = 'dtype = "float32"\n'
    description.write_text(text.replace(dtype, f"{dtype}target = 1.05\n", 1))
    return Path(shutil.make_archive(str(folder / "upload"), "zip", made))


def upload(page: Page, case: Story, archive: Path) -> BenchmarkVersion:
    page.goto(reverse("portal-engagement", args=[case.reference]))
    page_actions.follow(page, "portal-benchmark", case.reference)
    form = page_actions.form_to(page, "portal-benchmark-upload", case.reference)
    form.locator("[name=archive]").set_input_files(archive)
    page_actions.send(form)
    page_actions.expect_done(page)
    return BenchmarkVersion.objects.get()


def approve_button(page: Page, case: Story) -> Locator:
    name = "portal-benchmark-approve" if "/portal/" in page.url else "engagement-benchmark-approve"
    return page_actions.form_to(page, name, case.reference, 1).get_by_role("button")


def seal(consultant: Page, customer: Page, case: Story) -> None:
    """A comment on a line, then both approve."""
    form = page_actions.form_to(customer, "portal-benchmark-comment", case.reference, 1)
    page_actions.fill(form, text="Is this the step that we serve?", line=9)
    form.locator("[name=path]").select_option("program.py")
    page_actions.send(form)
    page_actions.expect_done(customer)
    approve_button(customer, case).click()
    page_actions.expect_done(customer)
    consultant.goto(reverse("engagement-benchmark", args=[case.reference]))
    expect(consultant.locator("[id='program.py-9'] + .remark")).to_contain_text("Is this the step")
    approve_button(consultant, case).click()
    page_actions.expect_done(consultant)
    assert BenchmarkVersion.objects.get().seals.exists()


def draft(page: Page, case: Story) -> None:
    """Choose the sealed benchmark in the contract."""
    page.goto(reverse("engagement-contract", args=[case.reference]))
    form = page.locator("form#terms")
    parts = [amount for _, amount, _ in SCENARIO.milestones]
    page_actions.fill_terms(form, SCENARIO, starts_on=timezone.localdate(), parts=parts)
    page_actions.send(form, "[value=save]")
    page_actions.expect_done(page)


def sign(consultant: Page, customer: Page, case: Story) -> None:
    customer.goto(reverse("portal-contract", args=[case.reference]))
    form = page_actions.form_to(customer, "portal-contract-accept", case.reference, 1)
    page_actions.check(form, "agreed")
    page_actions.accept(form, case.signatory.name)
    page_actions.prove(customer, PASSWORD)
    page_actions.expect_done(customer)
    consultant.goto(reverse("engagement-contract", args=[case.reference]))
    form = page_actions.form_to(consultant, "contract-accept", case.reference)
    page_actions.accept(form, case.consultant.name)
    page_actions.prove(consultant, PASSWORD)
    page_actions.expect_done(consultant)


def measured(page: Page, case: Story) -> Record:
    """An acceptance run of the consultancy's own file."""
    page.goto(reverse("run-request", args=[case.reference]))
    form = page_actions.form_with(page, "candidate")
    page_actions.check(form, "purpose", "acceptance")
    form.locator("[name=candidate]").select_option("file")
    form.locator("[name=file]").set_input_files(FOLDER / "baselines" / "torch_eager.py")
    page_actions.send(form)
    page_actions.expect_done(page)
    expect(page_actions.panel(page, "verdict-title")).to_be_visible(timeout=MEASURED_MS)
    return Record.objects.get()
