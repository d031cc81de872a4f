"""The command `shapes`: draft a log of shapes from a profiler's trace."""

import argparse
import sys
from pathlib import Path

from benchmarks.harness.cli import files
from benchmarks.harness.failures import SetupError
from benchmarks.records import trace_shapes

_LISTED = 20


def shapes(arguments: argparse.Namespace) -> int:
    """Write the calls of a trace by operator and shape, and name what could not be read."""
    log = trace_shapes.read(_content(arguments.trace), arguments.trace.name)
    if arguments.axes is not None and arguments.operator is None:
        raise SetupError("--axes names the axes of one operator: give --operator too")
    left_out = [f"{count} events of {what}" for what, count in log.left_out.most_common()]
    if arguments.axes is None:
        rows: list[tuple[trace_shapes.Row, dict[str, int]]] = [
            (row, {}) for row in log.rows if arguments.operator in (None, row.operator)
        ]
        if not rows:
            trace_shapes.named(log, arguments.operator, "_")
    else:
        named, others = trace_shapes.named(log, arguments.operator, arguments.axes)
        rows, left_out = [*named], others
    for each in left_out:
        print(f"left out: {each}", file=sys.stderr)
    text = trace_shapes.written(rows)
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        files.require_room_for(arguments.out)
        files.keep(arguments.out, text.encode())
        print(f"wrote {arguments.out}; next: twofold init KIND FOLDER --from {arguments.out}")
    return 0


def _content(trace: Path) -> bytes:
    try:
        with trace.open("rb") as opened:
            return opened.read(trace_shapes.MAX_BYTES + 1)
    except OSError as error:
        raise SetupError(f"cannot read {trace}: {error.strerror}") from error


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `shapes`."""
    command = commands.add_parser("shapes", help="draft a log of shapes from a profiler's trace")
    command.add_argument("trace", type=Path, help="of torch.profiler with record_shapes=True")
    command.add_argument("--operator", help="such as aten::mm")
    command.add_argument(
        "--axes", metavar="SHAPES", help="its axes by tensor, such as 'tokens,hidden hidden,width'"
    )
    command.add_argument("--out", type=Path, help="CSV file for `init --from`")
    command.set_defaults(do=shapes)
