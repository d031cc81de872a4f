"""Find Chromium for the browser tests, and report when they did not run.

Loaded as a pytest plugin by tests/conftest.py. Without a Chromium the tests marked
`browser` are deselected and the last lines say so, with the command that installs one. With
`TWOFOLD_REQUIRE_BROWSER=1` (set by .ci/run) a session that ran none of them fails.
"""

import os
import shutil
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
HOW_TO = "apt-get install -y chromium  (macOS: brew install --cask chromium)"
RAN = pytest.StashKey[set[str]]()


def find_chromium() -> str | None:
    """The path of a Chromium: `TWOFOLD_CHROMIUM`, or one that the system knows."""
    if named := os.environ.get("TWOFOLD_CHROMIUM"):
        return named
    on_path = (shutil.which(program) for program in PROGRAMS)
    return next(filter(None, on_path), None) or next(
        (application for application in APPLICATIONS if Path(application).exists()), None
    )


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the Chromium to drive: `playwright.chromium.launch(executable_path=…)`."""
    found = find_chromium()
    assert found is not None, f"No Chromium. {HOW_TO}"
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Keep the browser tests that ran."""
    config.stash[RAN] = set()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the browser tests out when there is nothing to run them in."""
    if find_chromium() is not None:
        return
    needing = [item for item in items if item.get_closest_marker("browser")]
    if needing:
        config.hook.pytest_deselected(items=needing)
        items[:] = [item for item in items if item not in needing]


class Watcher:
    """Counts the browser tests as they report, also from the processes of `-n`."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a browser test that really ran."""
        if report.when == "call" and "browser" in report.keywords and not report.skipped:
            self.config.stash[RAN].add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a session that had to run browser tests and did not."""
        if _required() and not self.config.stash[RAN] and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Say how the browser tests fared, when they did not run."""
        if find_chromium() is None:
            terminalreporter.write_line(f"browser tests NOT RUN: no Chromium. {HOW_TO}", red=True)
        elif _required() and not self.config.stash[RAN]:
            terminalreporter.write_line(
                "browser tests NOT RUN, and TWOFOLD_REQUIRE_BROWSER asks for them", red=True
            )


def pytest_sessionstart(session: pytest.Session) -> None:
    """Watch from the process that prints; the workers of `-n` only run tests."""
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Watcher(session.config))


def _required() -> bool:
    return os.environ.get("TWOFOLD_REQUIRE_BROWSER") == "1"
