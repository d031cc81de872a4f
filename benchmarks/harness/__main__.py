"""`python -m benchmarks.harness new | calibrate | run | verify | sign | cost | schema | keygen`.

Exit codes. run: 0 with a record, whatever its verdict; 2 unusable input; 3 a side could not be
measured. verify: 0 the record is consistent, and signed by --public-key if given; 1 it is
inconsistent or was changed after it was signed; 2 it cannot be read; 3 it is consistent, but not
signed by --public-key. calibrate: 0, 2 or 3. sign: 0, 1 or 2. new, cost, schema, keygen: 0 or 2.
"""

import argparse
import gc
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from benchmarks.harness.cli import cost, terminal
from benchmarks.harness.failures import SetupError
from benchmarks.harness.runs.progress import Progress
from benchmarks.harness.sides import printable
from benchmarks.records import documents, records, signatures
from benchmarks.records.documents import InvalidBenchmark
from benchmarks.records.records import RecordError
from benchmarks.records.signatures import KeyUnusable, NotSigned, PublicKey, SignatureError
from benchmarks.verdict import consistency
from kernels.output import exit_when_stdout_closes
from kernels.solutions import SUFFIXES

_LETTERS = 20_000


def _new(arguments: argparse.Namespace) -> int:
    from kernels import catalogue

    try:
        document = catalogue.benchmark_document(arguments.operator, arguments.preset)
    except catalogue.CatalogueError as error:
        raise SetupError(str(error)) from error
    documents.check(document)
    text = json.dumps(document, indent=2) + "\n"
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        arguments.out.write_text(text)
    return 0


def _run(arguments: argparse.Namespace) -> int:
    document = documents.load(_content(arguments.benchmark))
    _require_room_for(arguments.out)
    key = signatures.take_key(os.environ)
    with ExitStack() as stack:
        # Readers of events need no progress bar.
        watcher = None if arguments.progress else stack.enter_context(terminal.watching(document))
        measured = _measured(
            arguments, document, Progress(document, shown=arguments.progress, watcher=watcher)
        )
    if isinstance(measured, Exception):
        # A compiler's output first, so that the last line is the error.
        for said in (getattr(measured, "log", None), printable.line(measured, _LETTERS)):
            if said:
                print(said, file=sys.stderr)
        return 3
    _keep(arguments.out, records.serialize(measured, key))
    return 0


def _require_room_for(out: Path) -> None:
    """Raise SetupError, before measuring, if the record could not be written."""
    if not out.parent.is_dir():
        raise SetupError(f"folder {out.parent} does not exist")
    if out.is_dir() or not os.access(out.parent, os.W_OK):
        raise SetupError(f"cannot write {out}")


def _keep(out: Path, content: bytes) -> None:
    """Write a file atomically."""
    unfinished = out.with_name(out.name + ".part")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(out)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise SetupError(f"cannot write {out}: {error.strerror}") from error


def _calibrate(arguments: argparse.Namespace) -> int:
    document = documents.load(_content(arguments.benchmark))
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from benchmarks.harness.failures import Caught, DeviceFailed, SideFailed
    from benchmarks.harness.runs import calibration

    try:
        found = calibration.calibrate(document)
    except (Caught, DeviceFailed, SideFailed) as error:
        print(printable.line(error, _LETTERS), file=sys.stderr)
        return 3
    _keep(arguments.benchmark, (json.dumps(found, indent=2) + "\n").encode())
    measured, baseline = found["calibration"], found["baseline"]
    if "version" in baseline:
        print(f"baseline {baseline['name']}: {baseline['package']} {baseline['version']}")
    for name, baseline_us in measured["baseline_us"].items():
        print(f"{name}: baseline {baseline_us:,.1f} us, band {measured['band']:.0%}")
    return 0


def _measured(
    arguments: argparse.Namespace, document: dict[str, Any], progress: Progress
) -> dict[str, Any] | Exception:
    """The sealed record, or the error of a side or the device."""
    # The referee's threads must not spin while a side is on the clock; torch reads this at import.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Garbage collection slows down torch's import.
    gc.disable()
    from benchmarks.harness.failures import DeviceFailed, SideFailed
    from benchmarks.harness.runs import candidates, referee
    from benchmarks.harness.sides import isolation

    gc.freeze()
    gc.enable()
    candidate = candidates.read(arguments.candidate)
    try:
        return referee.run(
            document,
            candidate,
            device_kind=arguments.device or document["hardware"]["device"],
            command=_command(arguments),
            progress=progress,
            nonces=_nonces(arguments.nonce),
            required_isolation=isolation.required(arguments.require_isolation),
        )
    except (DeviceFailed, SideFailed) as error:
        progress.failed(str(error), log=getattr(error, "log", None))
        return error
    except SetupError as error:
        progress.failed(str(error))
        raise


def _nonces(given: Sequence[str]) -> dict[str, str]:
    """Nonces by issuer, from ISSUER=HEX. Raises SetupError."""
    found = dict(each.partition("=")[::2] for each in given)
    for issuer, value in found.items():
        if issuer not in records.ISSUERS or not re.fullmatch(records.NONCE["pattern"], value):
            known = " or ".join(f"{each}=HEX" for each in records.ISSUERS)
            raise SetupError(f"--nonce takes {known}, with 32 to 128 hexadecimal digits")
    return found


def _command(arguments: argparse.Namespace) -> str:
    """The command to repeat this run, without this machine's folders.

    Quoted for a shell, because file names are untrusted.
    """
    named = arguments.candidate
    candidate = Path(named).name if named.endswith(SUFFIXES) else named
    given = [arguments.benchmark.name, candidate, "--out", arguments.out.name]
    return shlex.join(["python", "-m", "benchmarks.harness", "run", *given])


def _verify(arguments: argparse.Namespace) -> int:
    content = _content(arguments.record)
    key = arguments.public_key and signatures.public_key(_content(arguments.public_key))
    record = records.load(content)
    differences = consistency.problems(record)
    code, signer = _signer(content, key)
    if code == 1:
        differences.append(signer)
    for difference in differences:
        print(printable.line(difference, _LETTERS), file=sys.stderr)
    if differences:
        return 1
    summary = record["summary"]
    # Records, and so their reasons, are untrusted input.
    print(printable.line(f"{summary['verdict']}: {'; '.join(summary['reasons'])}", _LETTERS))
    print(signer, file=sys.stderr if code else sys.stdout)
    return code


def _sign(arguments: argparse.Namespace) -> int:
    content, key = _content(arguments.record), signatures.take_key(os.environ)
    if key is None:
        raise KeyUnusable(f"no signing key: set {signatures.KEY_FILE_VARIABLE}")
    if problems := consistency.problems(records.load(content)):
        print(printable.line(problems[0], _LETTERS), file=sys.stderr)
        return 1
    _keep(arguments.record, signatures.countersign(content, key, arguments.role))
    print(f"signed by key {key.public.id} as {arguments.role}")
    return 0


def _signer(content: bytes, key: PublicKey | None) -> tuple[int, str]:
    """The exit code by the signature alone, and a line about it."""
    said = signatures.signature_of(content)
    if key is None:
        if said is None:
            return 0, "not signed"
        return 0, f"signed by key {said['key_id']}, not verified: pass its --public-key"
    try:
        signatures.check(content, key)
    except NotSigned as error:
        return 3, str(error)
    except SignatureError as error:
        return 1, str(error)
    return 0, f"signed by key {key.id}, signature valid"


def _cost(arguments: argparse.Namespace) -> int:
    record = records.load(_content(arguments.record))
    try:
        print(cost.table(record))
    except ValueError as error:
        raise RecordError(str(error)) from error
    return 0


def _schema(arguments: argparse.Namespace) -> int:
    of = {"record": records.published_schema, "benchmark": documents.published_schema}
    sys.stdout.write(json.dumps(of[arguments.of](), indent=2) + "\n")
    return 0


def _keygen(arguments: argparse.Namespace) -> int:
    public = signatures.make_key(arguments.file).public
    sys.stdout.write(f"key {public.id}\n{public.pem()}")
    return 0


def _content(path: Path) -> bytes:
    """The bytes of a file, up to one over the limit."""
    try:
        return records.content_of(path)
    except OSError as error:
        raise SetupError(f"cannot read {path}: {error.strerror}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harness")
    commands = parser.add_subparsers(required=True)
    new = commands.add_parser("new", help="print a benchmark of an operator's preset")
    new.add_argument("operator")
    new.add_argument("--preset", default="cpu")
    new.add_argument("--out", type=Path)
    new.set_defaults(do=_new)
    run = commands.add_parser("run", help="measure a candidate and write the record")
    run.add_argument("benchmark", type=Path)
    run.add_argument("candidate", help="a .py or .cu file, or operator/name of the catalogue")
    run.add_argument("--out", type=Path, required=True)
    run.add_argument("--progress", action="store_true", help="one JSON object a line on stdout")
    run.add_argument("--device", choices=["cpu", "cuda"])
    run.add_argument(
        "--require-isolation",
        default="",
        metavar="NAMES",
        help="require these protections: all, acceptance, or names separated by commas",
    )
    run.add_argument(
        "--nonce",
        action="append",
        default=[],
        metavar="ISSUER=HEX",
        help="a value for this run alone, of its site or customer, that the record then holds",
    )
    run.set_defaults(do=_run)
    calibrate = commands.add_parser(
        "calibrate", help="measure the baseline's time and write it into a benchmark"
    )
    calibrate.add_argument("benchmark", type=Path)
    calibrate.set_defaults(do=_calibrate)
    verify = commands.add_parser(
        "verify", help="recompute a record's digest and verdict, verify its signature"
    )
    verify.add_argument("record", type=Path)
    verify.add_argument(
        "--public-key", type=Path, help="key that must have signed it: PEM or base64"
    )
    verify.set_defaults(do=_verify)
    sign = commands.add_parser("sign", help="add your signature to a record that holds")
    sign.add_argument("record", type=Path)
    sign.add_argument("--as", dest="role", choices=signatures.ROLES, required=True)
    sign.set_defaults(do=_sign)
    spent = commands.add_parser("cost", help="print how a record's run spent its time")
    spent.add_argument("record", type=Path)
    spent.set_defaults(do=_cost)
    schema = commands.add_parser("schema", help="print the JSON Schema of a record or benchmark")
    schema.add_argument("of", choices=["record", "benchmark"], nargs="?", default="record")
    schema.set_defaults(do=_schema)
    keygen = commands.add_parser("keygen", help="create a signing key and print its public key")
    keygen.add_argument("file", type=Path, help="file for the private key")
    keygen.set_defaults(do=_keygen)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parsed = _parser().parse_args(arguments)
    try:
        code: int = parsed.do(parsed)
    except (InvalidBenchmark, KeyUnusable, RecordError, SetupError) as error:
        print(printable.line(error, _LETTERS), file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    with exit_when_stdout_closes():
        sys.exit(main())
