"""Commands that read records and keys: verify, sign, bundle, cost, schema, keygen."""

import argparse
import json
import os
import sys
from collections.abc import Mapping

from benchmarks.harness.cli import cost, files, key_lists, time_stamps
from benchmarks.harness.failures import SetupError
from benchmarks.harness.sides import printable
from benchmarks.records import archives, documents, records, signatures
from benchmarks.records.captured_tensors import CapturedError
from benchmarks.records.key_lists import ListedKey
from benchmarks.records.records import RecordError
from benchmarks.records.signatures import KeyUnusable, NotSigned, PublicKey, SignatureError
from benchmarks.verdict import consistency, explanations

_LETTERS = 20_000


def verify(arguments: argparse.Namespace) -> int:
    """Recompute a record's digest and verdict, and verify its signature."""
    content = files.content(arguments.record)
    key = arguments.public_key and signatures.public_key(files.content(arguments.public_key))
    record = records.load(content)
    differences = consistency.problems(record)
    if arguments.keys is None:
        code, signer = _signer(content, key)
    elif key is None:
        raise SetupError("pass the list's own key as --public-key")
    else:
        code, signer = _listed_signer(content, key_lists.read(files.content(arguments.keys), key))
    if code == 1:
        differences.append(signer)
    stamp = 0, ""
    if arguments.time_stamp is not None:
        stamp = time_stamps.checked(content, arguments.time_stamp, arguments.authority)
    if stamp[0] == 1:
        differences.append(stamp[1])
    for difference in differences:
        print(printable.line(difference, _LETTERS), file=sys.stderr)
    if differences:
        return 1
    summary = record["summary"]
    explained = f"{explanations.reason(summary)} {explanations.confidence(summary)}".strip()
    print(f"{summary['verdict']}: {explained}")
    # Records, and so their reasons, are untrusted input.
    for detail in explanations.details(summary):
        print(printable.line(detail, _LETTERS))
    print(signer, file=sys.stderr if code else sys.stdout)
    if arguments.time_stamp is not None:
        print(stamp[1])
    return code


def sign(arguments: argparse.Namespace) -> int:
    """Add a signature to a record."""
    content, key = files.content(arguments.record), signatures.take_key(os.environ)
    if key is None:
        raise KeyUnusable(f"no signing key: set {signatures.KEY_FILE_VARIABLE}")
    if problems := consistency.problems(records.load(content)):
        print(printable.line(problems[0], _LETTERS), file=sys.stderr)
        return 1
    files.keep(arguments.record, signatures.countersign(content, key, arguments.role))
    print(f"signed by key {key.public.id} as {arguments.role}")
    return 0


def _signer(content: bytes, key: PublicKey | None) -> tuple[int, str]:
    """The exit code by the signature alone, and a line about it."""
    said = signatures.signature_of(content)
    if key is None:
        if said is None:
            return 0, "unsigned"
        return 0, f"signed by key {said['key_id']}, not verified: pass its --public-key"
    try:
        signatures.check(content, key)
    except NotSigned as error:
        return 3, str(error)
    except SignatureError as error:
        return 1, str(error)
    return 0, f"signed by key {key.id}, signature valid"


def _listed_signer(content: bytes, listed: Mapping[str, ListedKey]) -> tuple[int, str]:
    """The same by any key of a list; a revoked one's signature is worth nothing."""
    found = [(_signer(content, each.key), each) for each in listed.values()]
    if changed := [told for (code, told), _ in found if code == 1]:
        return 1, changed[0]
    signers = [each for (code, _), each in found if code == 0]
    for each in sorted(signers, key=lambda each: each.revoked_at is not None):
        told = printable.line(key_lists.described(each), _LETTERS)
        return (3 if each.revoked_at else 0), f"signed by {told}"
    return 3, "not signed by any key of the list"


def cost_table(arguments: argparse.Namespace) -> int:
    """Print how a record's run spent its time."""
    record = records.load(files.content(arguments.record))
    try:
        print(cost.table(record))
    except ValueError as error:
        raise RecordError(str(error)) from error
    return 0


def schema(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema of a record or a benchmark."""
    of = {"record": records.published_schema, "benchmark": documents.published_schema}
    sys.stdout.write(json.dumps(of[arguments.of](), indent=2) + "\n")
    return 0


def keygen(arguments: argparse.Namespace) -> int:
    """Create a signing key and print its public key."""
    public = signatures.make_key(arguments.file).public
    sys.stdout.write(f"key {public.id}\n{public.pem()}")
    return 0


def bundle(arguments: argparse.Namespace) -> int:
    """Write an archive with which anyone can repeat a record's run."""
    files.require_room_for(arguments.out)
    content = files.content(arguments.record)
    record = records.load(content)
    if problems := consistency.problems(record):
        print(printable.line(problems[0], _LETTERS), file=sys.stderr)
        return 1
    key = arguments.public_key and signatures.public_key(files.content(arguments.public_key))
    document = record["benchmark"]
    held = files.captured(document, arguments.tensors or arguments.record.parent)
    try:
        archive = archives.archive(
            archives.Contents(
                record=content,
                benchmark=document,
                captured=held,
                filename=record["candidate"]["filename"],
                source=record["candidate"]["source"],
                why_without="the record does not contain it",
                public_key=key.pem() if key else None,
            )
        )
    except (archives.OtherSource, CapturedError) as error:
        raise SetupError(str(error)) from error
    files.keep(arguments.out, archive)
    return 0
