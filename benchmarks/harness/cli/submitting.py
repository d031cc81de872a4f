"""Submit a candidate to a Twofold site and wait for its ratio."""

import argparse
import os
import sys
from pathlib import Path

from benchmarks.client import Run, Site, SiteError
from benchmarks.harness.failures import SetupError
from benchmarks.harness.sides import printable
from benchmarks.records.failure_codes import LABELS

TOKEN = "TWOFOLD_TOKEN"  # noqa: S105  names a variable
COMMITS = ("GITHUB_SHA", "CI_COMMIT_SHA")
_LETTERS = 2_000
FAILED = 3


def submit(arguments: argparse.Namespace) -> int:
    """Submit a file, request a run of it, and print its ratio once it is measured."""
    token = arguments.token or os.environ.get(TOKEN, "")
    if not token:
        raise SetupError(f"Give a token of the site by --token or {TOKEN}.")
    try:
        source = arguments.file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{arguments.file} cannot be read: {error}") from error
    try:
        run = _measure(Site(arguments.site, token), arguments, source)
    except SiteError as error:
        raise SetupError(f"{error} ({error.code})") from error
    print(printable.line(sentence(run), _LETTERS))
    if arguments.markdown:
        arguments.markdown.write_text(markdown(run, arguments.file.name), encoding="utf-8")
    return FAILED if "failed" in (run.state, run.verdict) else 0


def _measure(site: Site, arguments: argparse.Namespace, source: str) -> Run:
    candidate = site.submit_candidate(
        operator=arguments.operator or _operator_of(site, arguments.engagement),
        filename=arguments.file.name,
        source=source,
    )
    run = site.request_run(
        engagement=arguments.engagement,
        candidate=candidate.id,
        purpose=arguments.purpose,
        commit=arguments.commit or _commit_of_the_job(),
    )
    print(f"Run {run.id} of {arguments.engagement} is queued.", file=sys.stderr)
    if arguments.no_wait:
        return run
    shown = ""
    for latest in site.follow(run.id):
        run = latest
        if (text := sentence(run)) != shown:
            print(printable.line(text, _LETTERS), file=sys.stderr)
            shown = text
    return run


def _commit_of_the_job() -> str:
    """The commit that a GitHub or GitLab job runs for; "" elsewhere."""
    return next((os.environ[name] for name in COMMITS if os.environ.get(name)), "")


def _operator_of(site: Site, reference: str) -> str:
    contract = site.newest_contract(reference)
    if contract is None:
        raise SetupError(f"{reference} has no contract yet: give the operator by --operator.")
    return site.benchmark(contract.benchmark).operator


def sentence(run: Run) -> str:
    """A run in one line."""
    record = run.record
    if record is None:
        cause = LABELS[run.failure_code] if run.failure_code else run.state
        return f"Run {run.id}: {run.failure_reason or cause}"
    awaited = "waits for the customer’s measurement" if run.counterpart else record.verdict
    verdict = run.verdict or awaited
    if record.ratio is None or record.low is None or record.high is None:
        return f"Run {run.id}: {verdict}, nothing measured"
    return (
        f"Run {run.id}: {record.ratio:.2f}× ({record.low:.2f} to {record.high:.2f}), "
        f"{verdict}, on {record.device_name}"
    )


def markdown(run: Run, name: str) -> str:
    """A run as a comment on a merge request."""
    digest = f"\n\nRecord `{run.record.digest}`." if run.record else ""
    return f"**Twofold** measured `{name}`.\n\n{sentence(run)}{digest}\n"


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command and its arguments."""
    command = commands.add_parser("submit", help="have a Twofold site measure a candidate")
    command.add_argument("engagement", help="its reference, such as TF-2026-0001")
    command.add_argument("file", type=Path, help="a .py or .cu file")
    command.add_argument("--site", required=True, metavar="URL")
    command.add_argument("--token", default="", help=f"by default that of {TOKEN}")
    command.add_argument("--purpose", choices=["trial", "acceptance"], default="trial")
    command.add_argument("--operator", default="", help="by default that of the contract")
    command.add_argument("--commit", default="", help="of the file; in CI, by default the job's")
    command.add_argument("--no-wait", action="store_true", help="do not wait for the ratio")
    command.add_argument("--markdown", type=Path, metavar="FILE", help="write a comment")
    command.set_defaults(do=submit)
