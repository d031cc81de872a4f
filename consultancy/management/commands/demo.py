"""`manage.py demo`: run the main workflow end to end on this machine."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from consultancy.demo import hardware, lifecycle, portfolio, processes, summary, waiting
from consultancy.demo.scenarios import SCENARIOS, Scenario
from consultancy.demo.users import DemoUsers, create_staff
from consultancy.embedded.services import running

MANAGE = settings.BASE_DIR / "manage.py"
SITE_SECONDS = 120
MEASURING_SECONDS = 900
DOCUMENTS_SECONDS = 180


class Command(BaseCommand):
    help = (
        "Serve the site with a made-up portfolio, and run two of its engagements from audit to "
        "settlement with a real worker. Uses its own database, recreated each time."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="port to serve the site on")
        parser.add_argument(
            "--exit",
            action="store_true",
            help="measure the two engagements without a site; the last line is the outcome as JSON",
        )
        parser.add_argument("--preset", help="benchmark sizes; by default those that fit here")
        parser.add_argument(
            "--operator",
            choices=[scenario.operator for scenario in SCENARIOS],
            help="run only the engagement about this operator",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("The demonstration does not run in production. Unset TWOFOLD_ENV.")
        if not settings.TWOFOLD_DEMO:
            self._start_over(options)
        # SIGTERM stops the processes started here, as Ctrl-C does.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        self._began = time.monotonic()
        self._report("Starting the database and the broker")
        try:
            outcome = self._run(
                home=Path(settings.TWOFOLD_HOME),
                port=None if options["exit"] else options["port"],
                preset=options["preset"],
                operator=options["operator"],
            )
        except KeyboardInterrupt:
            self.stdout.write("\nStopped. The next demonstration starts clean.")
            return
        if options["exit"]:
            self.stdout.write(json.dumps(outcome))

    def _run(
        self, *, home: Path, port: int | None, preset: str | None, operator: str | None
    ) -> dict[str, Any]:
        """Run the engagements; with a port, serve the site until Ctrl-C."""
        scenarios = [each for each in SCENARIOS if operator in (None, each.operator)]
        log = home / "processes.log"
        with contextlib.ExitStack() as stack:
            web = port and stack.enter_context(processes.web_process(home=home, port=port))
            stack.enter_context(running())
            call_command("migrate", verbosity=0)
            users = create_staff()
            if port and web:
                self._open_site(users, port=port, web=web, log=home / "web.log")
                # One that waits for no evidence is measured while documents are rendered.
                scenarios.sort(key=lambda each: each.evidence is not None)
            workers = stack.enter_context(
                processes.worker_processes(home=home, manage=MANAGE, port=port)
            )
            deadline = waiting.Deadline(workers, log=log, seconds=MEASURING_SECONDS)
            started = self._run_engagements(
                scenarios, users=users, preset=preset, deadline=deadline
            )
            waiting.wait_for_documents(
                deadline=waiting.Deadline(workers, log=log, seconds=DOCUMENTS_SECONDS)
            )
            outcome = summary.summarize(started, folder=home / "documents")
            self._print_outcome(outcome)
            if web:
                self.stdout.write("The site is still served. Press Ctrl-C to stop.")
                self.stdout.flush()
                workers.wait()
        return outcome

    def _start_over(self, options: dict[str, Any]) -> None:
        home = Path(settings.TWOFOLD_HOME) / "demo"
        processes.reset_home(home)
        command = [str(MANAGE), "demo", "--port", str(options["port"])]
        command += ["--exit"] if options["exit"] else []
        for name in ("preset", "operator"):
            command += [f"--{name}", options[name]] if options[name] else []
        processes.restart_in(home, port=options["port"], command=command)

    def _run_engagements(
        self,
        scenarios: list[Scenario],
        *,
        users: DemoUsers,
        preset: str | None,
        deadline: waiting.Deadline,
    ) -> list[lifecycle.StartedEngagement]:
        started = [
            lifecycle.start_engagement(
                scenario,
                users=users,
                preset=preset or hardware.preset_for(scenario.operator),
                deadline=deadline,
                report=self._report,
            )
            for scenario in scenarios
        ]
        waiting.wait_for_verdicts(
            [each.acceptance for each in started], deadline=deadline, report=self._report
        )
        started = [lifecycle.try_again(each, users=users, report=self._report) for each in started]
        waiting.wait_for_verdicts(
            [each.acceptance for each in started], deadline=deadline, report=self._report
        )
        for each in started:
            lifecycle.conclude_engagement(each, users=users, report=self._report)
        return started

    def _open_site(
        self, users: DemoUsers, *, port: int, web: subprocess.Popen[bytes], log: Path
    ) -> None:
        """Build the portfolio while the site starts, and print whom to sign in as."""
        built = portfolio.build(users)
        self._report(f"Portfolio of {len(built)} engagements, from scoping to closed")
        deadline = waiting.Deadline(web, log=log, seconds=SITE_SECONDS)
        waiting.wait_for_site(f"http://localhost:{port}/", deadline=deadline)
        self._report(f"The site answers at http://localhost:{port}/ with a button for each person")
        self.stdout.write(f"\nOr sign in with password {users.password} as")
        for role, email in users.sign_ins():
            self.stdout.write(f"  {email:34} {role}")
        self.stdout.write("\nTwo more engagements are measured now. Ctrl-C stops everything.")
        self.stdout.flush()

    def _print_outcome(self, outcome: dict[str, Any]) -> None:
        self.stdout.write("")
        for line in summary.format_lines(outcome):
            self.stdout.write(line)

    def _report(self, text: str) -> None:
        self.stdout.write(f"[{time.monotonic() - self._began:5.1f} s] {text}")
        self.stdout.flush()
