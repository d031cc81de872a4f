"""`python -m kernels [list | measure OPERATOR | report | claims | families]`.

list      operators, presets and Solutions, and which of them run here (the default)
measure   survey and record an operator on this machine
report    figures of the committed records
claims    published claims compared with the records
families  operators of model families, with floors and where custom work can pay

Measuring and reading records is the referee's work (benchmarks.harness), which imports the
kernels and is never imported by them, so it is run by its module name.
"""

from __future__ import annotations

import runpy
import sys

from kernels.output import exit_when_stdout_closes

COMMANDS = {
    "list": "kernels.listing",
    "measure": "benchmarks.surveying.measure",
    "report": "benchmarks.published.report_command",
    "claims": "benchmarks.published.claims",
    "families": "benchmarks.published.families",
}


def main() -> None:
    """Run the command's module with the remaining arguments."""
    command = sys.argv[1] if len(sys.argv) > 1 else "list"
    if command in ("-h", "--help"):
        print(__doc__)
        return
    if command.startswith("-"):
        sys.argv.insert(1, "list")
        command = "list"
    if command not in COMMANDS:
        sys.exit(f"Unknown command '{command}'. Use python -m kernels {' | '.join(COMMANDS)}.")
    del sys.argv[1:2]
    runpy.run_module(COMMANDS[command], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    with exit_when_stdout_closes():
        main()
