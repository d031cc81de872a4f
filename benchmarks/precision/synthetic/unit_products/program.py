"""The Program of this operator is the operator itself."""

from __future__ import annotations

from benchmarks.harness.sides.levels import OperatorStep as Step

__all__ = ["Step"]
