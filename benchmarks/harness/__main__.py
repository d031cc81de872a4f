"""`twofold COMMAND`: measure kernels against sealed benchmarks.

Exit codes. run, repeat: 0 with a record, whatever its verdict; 2 unusable input; 3 a side could not
be measured. verify: 0 the record is consistent, and signed by --public-key if given, or by a key of
its --keys list; 1 it is inconsistent or was changed after it was signed; 2 it cannot be read; 3 it
is consistent, but not signed so, or by revoked keys alone. calibrate: 0, 2 or 3. sign, bundle: 0, 1
or 2. check: 0, 1 something must be changed, or 2. submit: 0, 2, or 3 where the run failed. Others,
runner too: 0 or 2. An error ends with its code in brackets, where it has one.

Also `python -m benchmarks.harness`, where the package is not installed, as in a bundle.
"""

import sys
from collections.abc import Sequence

from benchmarks.harness.cli import parsing
from benchmarks.harness.failures import SetupError
from benchmarks.harness.sides import printable
from benchmarks.records.captured_tensors import CapturedError
from benchmarks.records.documents import InvalidBenchmark
from benchmarks.records.records import RecordError
from benchmarks.records.signatures import KeyUnusable
from kernels.output import exit_when_stdout_closes

_LETTERS = 20_000
_MEASURING = {"torch", "triton", "psutil"}
_STAMPING = {"pyhanko", "pyhanko_certvalidator", "asn1crypto", "aiohttp"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parsed = parsing.parser().parse_args(arguments)
    try:
        status: int = parsed.do(parsed)
    except (CapturedError, InvalidBenchmark, KeyUnusable, RecordError, SetupError) as error:
        code = getattr(error, "code", "")
        print(printable.line(f"{error} [{code}]" if code else error, _LETTERS), file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _STAMPING:
            print(f"needs {error.name}: pip install 'twofold[timestamp]'", file=sys.stderr)
            return 2
        if error.name not in _MEASURING:
            raise
        print(f"measuring needs {error.name}: pip install 'twofold[worker]'", file=sys.stderr)
        return 2
    return status


def console() -> None:
    """The entry point of `twofold`."""
    with exit_when_stdout_closes():
        sys.exit(main())


if __name__ == "__main__":
    console()
