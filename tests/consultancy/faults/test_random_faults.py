"""Random faults at random moments: no work is lost and none is done twice.

A failing seed is repeated by TWOFOLD_PROOF_SEED=N; TWOFOLD_PROOF_FAULTS changes the number.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from consultancy.environment import Environment
from engagements import documents
from engagements.billing.models import Invoice
from engagements.notifications.models import Mail
from engagements.people.models import User
from engagements.settlements.models import Settlement
from tests import referee_key
from tests.consultancy.faults.cases import CASES, Case
from tests.consultancy.faults.parts import Parts, bucket_variables
from tests.consultancy.faults.site import Site, running, until
from tests.consultancy.faults.steps import Work, as_after_a_day, check_everything
from tests.engagements import story as stories
from tests.engagements.world import received

FAULTS = int(os.environ.get("TWOFOLD_PROOF_FAULTS", "200"))
SEED = int(os.environ.get("TWOFOLD_PROOF_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
LIMIT_S = 120.0
# Longer than the longest limit of a request to a part.
LONGEST_FAULT_S = 4.0

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.soak,
    pytest.mark.alone,
    pytest.mark.timeout(5400),
]


@pytest.fixture
def site(transactional_db: None, folder: Path, parts: Parts, settings: Any) -> Iterator[Site]:
    """Every process of its own, with a clock that a test can set."""
    bucket = Environment(bucket_variables(parts.bucket_url)).records(Path("unused"))
    settings.STORAGES = settings.STORAGES | {"records": bucket}
    clock = folder / "clock"
    clock.write_text("0")
    names = ["web", "gpu", "documents", "beat"]
    with running(folder, parts, names, clock=clock) as site:
        yield site


@dataclass
class Breaker:
    """Breaks something at a random moment of every step, and counts what happened."""

    site: Site
    draw: random.Random
    people: list[User]
    played: Counter[tuple[str, str]] = field(default_factory=Counter)
    log: list[str] = field(default_factory=list)

    def step(self, name: str, act: Callable[[], object], done: Callable[[], bool]) -> None:
        """Do one step of the work through a fault, repeating it as a person would."""
        self.site.sign_in(*self.people)
        case = self.draw.choice(CASES)
        starts_s, lasts_s = self.draw.uniform(0, 1.5), self.draw.uniform(0.2, LONGEST_FAULT_S)
        self.log.append(
            f"{name}: {case.part} {case.how} after {starts_s:.2f} s for {lasts_s:.2f} s"
        )
        with ThreadPoolExecutor(1) as other:
            broken = other.submit(self._break, case, starts_s, lasts_s)
            act()
            broken.result()
        self.played[case.part, case.how] += 1
        self.wait(done, act)

    def wait(self, done: Callable[[], bool], act: Callable[[], object]) -> None:
        """Repeat `act` until it is done; what ended meanwhile is started again."""

        def again() -> None:
            self.site.restart_ended()
            asked(act)

        until(lambda: asked(done), LIMIT_S, doing=again)

    def _break(self, case: Case, starts_s: float, lasts_s: float) -> None:
        time.sleep(starts_s)
        case.break_(self.site)
        time.sleep(lasts_s)
        case.mend(self.site)


def asked(question: Callable[[], Any]) -> Any:
    """The answer, None while the database restarts."""
    try:
        return question()
    except (DatabaseError, InterfaceError):
        connection.close()
        return None


def live(breaker: Breaker, work: Work) -> None:
    """Invoice, run and settlement of one engagement, each step through a fault."""

    def invoice_is_issued() -> bool:
        return Invoice.objects.get(pk=work.invoice.pk).state == Invoice.State.ISSUED

    def run_is_concluded() -> bool:
        run = work.runs.latest("pk")
        if run.run.state == run.run.State.FAILED and run.concluded_at:
            # It says why, and what to do: request it again.
            assert run.run.failure_reason
            work.request_key = uuid4()
            work.request_run()
            return False
        return run.concluded_at is not None

    def state_is(*wanted: str) -> Callable[[], bool]:
        return lambda: work.settlement.state in wanted

    states = Settlement.State
    breaker.step("issue the invoice", work.issue_invoice, invoice_is_issued)
    pay(work)
    breaker.step("request the run", work.request_run, work.runs.exists)
    breaker.step("measure", work.hand_in, run_is_concluded)
    breaker.step(
        "approve",
        lambda: work.step("approve"),
        state_is(states.APPROVED, states.PAYING, states.PAID),
    )
    breaker.step("start", lambda: work.step("start"), state_is(states.PAYING, states.PAID))
    breaker.step("pay", lambda: work.step("paid", reference="R-1"), state_is(states.PAID))


def pay(work: Work) -> None:
    """Record and confirm what the customer paid for the invoice."""
    invoice = Invoice.objects.get(pk=work.invoice.pk)
    received(
        invoice=invoice,
        amount=invoice.gross,
        received_on=timezone.localdate(),
        reference=f"BANK-{invoice.pk}",
        by=work.story.finance,
        confirmed_by=work.story.second,
    )


def finished() -> bool:
    """Whether every document is issued and every mail sent."""
    return not documents.missing() and not Mail.objects.filter(sent_at=None).exists()


def test_random_faults_lose_nothing_and_double_nothing(site: Site) -> None:
    print(f"seed {SEED}")
    referee_key.register()
    opened, lives = stories.opened(), 0
    people = [opened.consultant, opened.finance, opened.second]
    breaker = Breaker(site, random.Random(SEED), people)
    try:
        while breaker.played.total() < FAULTS:
            lives += 1
            work = Work.begin(site, opened, f"Life {lives}")
            stories.paid(work.story, 2)
            site.record.unlink(missing_ok=True)
            live(breaker, work)
            breaker.wait(finished, as_after_a_day)
            check_everything()
    # pytest ends a test that is too slow by a BaseException.
    except BaseException:
        print("\n".join(breaker.log[-12:]))
        for name in site.running:
            print(f"--- {name}\n{site.log(name)[-4000:]}")
        raise
    sent = Counter(site.parts.mailbox.ids())
    wanted = {f"<mail-{key}@localhost>" for key in Mail.objects.values_list("pk", flat=True)}
    assert set(sent) == wanted
    # A server that accepted a mail and could not say so gets it again, with the same Message-ID.
    again = sum(sent.values()) - len(sent)
    print(f"{breaker.played.total()} faults in {lives} engagements; {again} mails sent again")
    for (part, how), count in sorted(breaker.played.items()):
        print(f"{part:18} {how:12} {count:3}")
