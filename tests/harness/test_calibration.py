from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.harness.failures import Caught, SetupError
from benchmarks.harness.runs import calibration, replicates
from tests.harness.softmax import softmax_benchmark

Pairs = Callable[..., list[dict[str, Any]]]


def _pairs(*medians_us: float) -> Pairs:
    """Stands in for real processes, whose times on a busy machine are anything."""
    left = list(medians_us)

    def same_code(*_: object) -> list[dict[str, Any]]:
        times = {"baseline_us": left.pop(0), "candidate_us": left.pop(0)}
        return [{"name": "wide", "rounds": [{"first": "baseline", **times}] * 3}]

    return same_code


def test_the_band_is_as_wide_as_processes_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicates, "same_code", _pairs(90.0, 110.0, 100.0, 100.0))
    found = calibration.calibrate(softmax_benchmark(), pairs=2)["calibration"]
    assert found["baseline_us"] == {"wide": pytest.approx(100.0)}
    assert found["band"] == pytest.approx(4 * 0.08165, abs=1e-3)
    assert found["device"]


def test_the_version_of_the_baselines_package_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicates, "same_code", _pairs(*[100.0] * 8))
    found = calibration.calibrate(softmax_benchmark(), pairs=2)
    assert found["baseline"]["version"] == importlib.metadata.version("torch")
    document = softmax_benchmark()
    document["baseline"]["package"] = "Nothing-Installed"
    assert "version" not in calibration.calibrate(document, pairs=2)["baseline"]


def test_the_band_is_no_narrower_than_a_machines_own_days(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replicates, "same_code", _pairs(*[100.0] * 4))
    assert calibration.calibrate(softmax_benchmark(), pairs=2)["calibration"]["band"] == 0.2


def test_a_machine_too_busy_to_calibrate_on_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicates, "same_code", _pairs(90.0, 140.0, 100.0, 100.0))
    with pytest.raises(SetupError, match="a band of 83%"):
        calibration.calibrate(softmax_benchmark(), pairs=2)


def test_a_wrong_baseline_is_not_calibrated_and_is_called_by_its_name() -> None:
    with pytest.raises(Caught, match="the baseline gave a wrong result"):
        calibration.calibrate(softmax_benchmark(baseline="wrong"), pairs=1)
