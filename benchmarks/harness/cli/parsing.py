"""The arguments of `twofold`."""

import argparse
from pathlib import Path

from benchmarks.harness.cli import (
    checking,
    folders,
    importing,
    key_lists,
    measuring,
    running,
    submitting,
    time_stamps,
    tracing,
)
from benchmarks.records import signatures


def parser() -> argparse.ArgumentParser:
    """The parser of all commands; `do` is the function of the one chosen."""
    made = argparse.ArgumentParser(
        prog="twofold",
        description="Measure kernels against sealed benchmarks",
    )
    commands = made.add_subparsers(required=True, dest="command", metavar="COMMAND")
    new = commands.add_parser("new", help="print a benchmark of a preset or folder")
    new.add_argument("operator", help="an operator of the catalogue, or a benchmark folder")
    new.add_argument("--preset", default="cpu")
    new.add_argument("--out", type=Path)
    new.set_defaults(do=measuring.new)
    init = commands.add_parser("init", help="write a benchmark folder that runs as it is")
    init.add_argument("kind", choices=folders.KINDS)
    init.add_argument("folder", type=Path)
    init.add_argument(
        "--from", dest="log", type=Path, help="log of shapes, CSV or JSON lines, for the workloads"
    )
    init.add_argument(
        "--coverage", type=float, default=0.9, help="share of the calls in named workloads"
    )
    init.add_argument(
        "--captured", type=Path, metavar="FILE", help="tensors of a real call, .safetensors"
    )
    init.set_defaults(do=folders.init)
    check = commands.add_parser("check", help="try a benchmark folder as the referee will")
    check.add_argument("folder", type=Path, help="a benchmark folder or its document")
    check.add_argument("--out", type=Path, help="file for the benchmark, calibrated here")
    check.add_argument("--progress", action="store_true", help="one JSON object a line on stdout")
    _takes_tensors(check)
    _requires_isolation(check)
    check.set_defaults(do=folders.check)
    folders.add_template_to(commands)
    importing.add_to(commands)
    tracing.add_to(commands)
    run = commands.add_parser("run", help="measure a candidate and write the record")
    run.add_argument("benchmark", type=Path, help="a benchmark document or folder")
    run.add_argument("candidate", help="a .py or .cu file, or operator/name of the catalogue")
    _measures(run)
    run.set_defaults(do=measuring.run)
    repeat = commands.add_parser("repeat", help="measure a record's candidate again")
    repeat.add_argument("record", type=Path)
    repeat.add_argument("candidate", nargs="?", help="its file, where the record withholds it")
    _measures(repeat)
    repeat.set_defaults(do=measuring.repeat)
    calibrate = commands.add_parser(
        "calibrate", help="measure the baseline's time and write it into a benchmark"
    )
    calibrate.add_argument("benchmark", type=Path)
    _takes_tensors(calibrate)
    calibrate.set_defaults(do=measuring.calibrate)
    verify = commands.add_parser(
        "verify", help="recompute a record's digest and verdict, verify its signature"
    )
    verify.add_argument("record", type=Path)
    verify.add_argument(
        "--public-key", type=Path, help="key that must have signed it: PEM or base64"
    )
    verify.add_argument(
        "--keys", type=Path, help="a signed key list that --public-key keeps: any of its keys"
    )
    verify.add_argument("--time-stamp", type=Path, help="the token that stamp wrote")
    verify.add_argument("--authority", type=Path, help="certificate of its authority, in PEM")
    verify.set_defaults(do=checking.verify)
    sign = commands.add_parser("sign", help="add your signature to a record that holds")
    sign.add_argument("record", type=Path)
    sign.add_argument("--as", dest="role", choices=signatures.ROLES, required=True)
    sign.set_defaults(do=checking.sign)
    bundle = commands.add_parser("bundle", help="archive a record with all that repeats it")
    bundle.add_argument("record", type=Path)
    bundle.add_argument("--out", type=Path, required=True)
    _takes_tensors(bundle)
    bundle.add_argument("--public-key", type=Path, help="the referee's key, to be enclosed")
    bundle.set_defaults(do=checking.bundle)
    spent = commands.add_parser("cost", help="print how a record's run spent its time")
    spent.add_argument("record", type=Path)
    spent.set_defaults(do=checking.cost_table)
    schema = commands.add_parser("schema", help="print the JSON Schema of a record or benchmark")
    schema.add_argument("of", choices=["record", "benchmark"], nargs="?", default="record")
    schema.set_defaults(do=checking.schema)
    submitting.add_to(commands)
    running.add_to(commands)
    key_lists.add_to(commands)
    time_stamps.add_to(commands)
    keygen = commands.add_parser("keygen", help="create a signing key and print its public key")
    keygen.add_argument("file", type=Path, help="file for the private key")
    keygen.set_defaults(do=checking.keygen)
    return made


def _takes_tensors(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--tensors",
        type=Path,
        metavar="FOLDER",
        help="the folder of its captured tensors, by default that of the document",
    )


def _requires_isolation(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--require-isolation",
        default="",
        metavar="NAMES",
        help="require these protections: all, acceptance, or names separated by commas",
    )


def _measures(run: argparse.ArgumentParser) -> None:
    """The options of commands that write a record."""
    run.add_argument("--out", type=Path, required=True)
    run.add_argument("--progress", action="store_true", help="one JSON object a line on stdout")
    run.add_argument("--device", choices=["cpu", "cuda"])
    _takes_tensors(run)
    _requires_isolation(run)
    run.add_argument(
        "--nonce",
        action="append",
        default=[],
        metavar="ISSUER=HEX",
        help="a value for this run alone, of its site or customer, that the record then holds",
    )
