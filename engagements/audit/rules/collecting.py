"""Evidence to collect for undecided checks, with the exact commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from engagements.audit.rules.finding import Missing

PROGRAM = "python your_program.py"

TRACE = Missing(
    what="A profile of a few steps under real traffic, with GPU activity and idle time.",
    command=(
        "nsys profile --trace=cuda,nvtx --sample=none --delay=60 --duration=20 --output=steps "
        f"-- {PROGRAM} && nsys export --type=sqlite --output=steps.sqlite steps.nsys-rep"
    ),
)

TRACE_WITH_GPU = Missing(
    what="The same profile with GPU activity recorded.",
    command=(
        "torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], "
        "schedule=torch.profiler.schedule(wait=5, warmup=5, active=3), "
        'on_trace_ready=lambda p: p.export_chrome_trace("steps.json"))'
    ),
)

TRAFFIC = Missing(
    what="A log of the operator's shapes over a day of real traffic, one row per call.",
    command=(
        "module.register_forward_pre_hook(lambda module, args: "
        'print(time.time(), *args[0].shape, sep=",", file=log))'
    ),
)

PAGES = "--set full --page raw --csv"


def compute(kernels: Sequence[str]) -> Missing:
    """A profile of the operator's kernels (their full names) under Nsight Compute."""
    names = list(dict.fromkeys(base_name(kernel) for kernel in kernels))[:4]
    chosen = ""
    if names:
        either = "|".join(re.escape(name) for name in names)
        chosen = f"--kernel-name {shlex.quote(f'regex:{either}')} "
    return Missing(
        what="How near the operator's kernels are to the roofline, from Nsight Compute.",
        command=(
            f"ncu {PAGES} {chosen}--launch-skip 10 --launch-count 10 --log-file operator.csv "
            f"-- {PROGRAM}"
        ),
    )


def base_name(kernel: str) -> str:
    """Strip return type, namespaces, template and call arguments from a kernel name.

    Profilers print these differently, so kernels of two files are matched by the base name.
    """
    bare = kernel.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    bare = bare.removeprefix("void ").strip()
    return re.split(r"[<(]", bare, maxsplit=1)[0].rsplit("::", 1)[-1].strip() or kernel
