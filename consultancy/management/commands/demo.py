"""`manage.py demo`: the main job, end to end, on this machine."""

from __future__ import annotations

import json
import signal
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from consultancy.demo import hardware, stage, story, summary, waiting
from consultancy.demo.cast import Cast, hire
from consultancy.demo.chapters import CHAPTERS
from consultancy.embedded.services import running

MANAGE = settings.BASE_DIR / "manage.py"
MEASURING_SECONDS = 900
DOCUMENTS_SECONDS = 180


class Command(BaseCommand):
    help = (
        "Play two made-up engagements from audit to money with a real worker, then serve the "
        "site. It has a database of its own, made new each time."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="where the site is served")
        parser.add_argument(
            "--exit",
            action="store_true",
            help="serve nothing; the last line is the outcome as one JSON object",
        )
        parser.add_argument("--preset", help="sizes other than those that suit this machine")

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("The demonstration is not played in production. Unset TWOFOLD_ENV.")
        if not settings.TWOFOLD_DEMO:
            self._start_over(options)
        # Asked to end by anybody, it ends what it started, as by Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        self._began = time.monotonic()
        self._say("Starting the database and the broker")
        try:
            with running():
                call_command("migrate", verbosity=0)
                outcome = self._perform(
                    home=Path(settings.TWOFOLD_HOME),
                    port=None if options["exit"] else options["port"],
                    preset=options["preset"],
                )
        except KeyboardInterrupt:
            self.stdout.write("\nStopped. The next demonstration starts clean.")
            return
        if options["exit"]:
            self.stdout.write(json.dumps(outcome))

    def _perform(self, *, home: Path, port: int | None, preset: str | None) -> dict[str, Any]:
        """Play both engagements; with a port, serve the site until Ctrl-C."""
        log = home / "processes.log"
        with stage.running(home=home, manage=MANAGE, port=port) as processes:
            cast = hire()
            patience = waiting.Patience(processes, log=log, seconds=MEASURING_SECONDS)
            scenes = self._play(cast, preset=preset, patience=patience)
            waiting.for_documents(
                patience=waiting.Patience(processes, log=log, seconds=DOCUMENTS_SECONDS)
            )
            outcome = summary.of(scenes, folder=home / "documents")
            self._report(outcome, cast=cast, port=port)
            if port is not None:
                processes.wait()
        return outcome

    def _start_over(self, options: dict[str, Any]) -> None:
        home = Path(settings.TWOFOLD_HOME) / "demo"
        stage.clear(home)
        command = [str(MANAGE), "demo", "--port", str(options["port"])]
        command += ["--exit"] if options["exit"] else []
        command += ["--preset", options["preset"]] if options["preset"] else []
        stage.enter(home=home, command=command)

    def _play(
        self, cast: Cast, *, preset: str | None, patience: waiting.Patience
    ) -> list[story.Scene]:
        scenes = [
            story.open_scene(
                chapter,
                cast=cast,
                preset=preset or hardware.preset_for(chapter.operator),
                patience=patience,
                say=self._say,
            )
            for chapter in CHAPTERS
        ]
        waiting.for_verdicts(
            [scene.acceptance for scene in scenes], patience=patience, say=self._say
        )
        for scene in scenes:
            story.close_scene(scene, cast=cast, say=self._say)
        return scenes

    def _report(self, outcome: dict[str, Any], *, cast: Cast, port: int | None) -> None:
        self.stdout.write("")
        for line in summary.lines(outcome):
            self.stdout.write(line)
        if port is None:
            return
        self.stdout.write(f"\nSign in at http://localhost:{port}/ with password {cast.password}")
        for role, email in cast.sign_ins():
            self.stdout.write(f"  {email:34} {role}")
        self.stdout.write("\nCtrl-C stops everything. The next demonstration starts clean.")
        self.stdout.flush()

    def _say(self, text: str) -> None:
        self.stdout.write(f"[{time.monotonic() - self._began:5.1f} s] {text}")
        self.stdout.flush()
