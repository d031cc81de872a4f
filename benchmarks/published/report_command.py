"""Print the committed measurements: `python -m kernels report`. Needs no torch and no GPU."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.published import report_tables, surveys
from benchmarks.published.committed import CATALOGUE
from benchmarks.published.reports import reports
from benchmarks.records import records
from benchmarks.records.signatures import KeyUnusable
from benchmarks.verdict import consistency
from kernels import catalogue


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; 1 if a record contradicts itself or a signature does not verify."""
    parser = argparse.ArgumentParser(prog="python -m kernels report")
    parser.add_argument("operators", metavar="OPERATOR", nargs="*", help="all where none is named")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true")
    form.add_argument("--markdown", action="store_true", help="as READMEs show them")
    parser.add_argument("--folder", type=Path, default=CATALOGUE, help="another OPERATOR/records/")
    options = parser.parse_args(arguments)
    try:
        chosen = [
            catalogue.require_operator(name) for name in options.operators
        ] or catalogue.operators()
        found = reports(options.folder, chosen)
    except catalogue.CatalogueError as error:
        parser.error(str(error))
    except (records.RecordError, surveys.SurveyError, KeyUnusable) as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps([one.as_data() for one in found], indent=1))
    elif options.markdown:
        print(report_tables.markdown(found, named=len(chosen) > 1))
    else:
        print(report_tables.text(found))
    wrong = [
        f"{one.operator}/{one.name}: {problem}"
        for one in found
        for problem in consistency.problems(one.record)
    ]
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong or not all(one.signature.valid for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
