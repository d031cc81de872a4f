"""Triton's kernels run on the processor here: its interpreter must be chosen before import."""

import os
import sys

# Decided when Triton is imported, which is when the first kernel is loaded.
if "triton" not in sys.modules:
    os.environ.setdefault("TRITON_INTERPRET", "1")

# A pool of compiling processes costs more than these few small kernels.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
