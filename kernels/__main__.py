"""`python -m kernels [list | measure OPERATOR | report | claims]`.

list      what the catalogue holds and what runs here (the default)
measure   measure an operator on this machine: survey and record
report    what the committed records say
claims    what the field claims, held against them

Measuring and reading records is the referee's work (benchmarks.harness), which imports the
kernels and is never imported by them: it is run from here by its name.
"""

from __future__ import annotations

import runpy
import sys

from kernels.output import while_it_is_read

COMMANDS = {
    "list": "kernels.listing",
    "measure": "benchmarks.surveying.measure",
    "report": "benchmarks.published.reports",
    "claims": "benchmarks.published.claims",
}


def main() -> None:
    """Run the command's module with what is left of the command line."""
    named = sys.argv[1] if len(sys.argv) > 1 else "list"
    if named in ("-h", "--help"):
        print(__doc__)
        return
    if named.startswith("-"):
        sys.argv.insert(1, "list")
        named = "list"
    if named not in COMMANDS:
        sys.exit(f"python -m kernels {' | '.join(COMMANDS)}: there is no '{named}'")
    del sys.argv[1:2]
    runpy.run_module(COMMANDS[named], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    with while_it_is_read():
        main()
