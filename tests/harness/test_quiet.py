"""Work that a side left on the device: noticed, and blamed on whose end stops it."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch

from benchmarks.harness.devices.arenas import Device
from benchmarks.harness.devices.idle import DeviceNotIdle, IdleCheck
from benchmarks.harness.failures import Caught, DeviceFailed, Role
from benchmarks.harness.rounds import pairs

_SLICE_S = 0.0025


class _Slow:
    """A device that answers `slice_s` late, as one that somebody else works on.

    Time passes here alone: the processor's would count what else the machine does.
    """

    kind = "cuda"
    torch_device = torch.device("cpu")

    def __init__(self) -> None:
        self.slice_s = 0.0
        self._now_s = 0.0

    def clock(self) -> int:
        return int(self._now_s * 1e9)

    def synchronize(self) -> None:
        self._now_s += 25e-6 + self.slice_s


class _Side:
    def __init__(self, device: _Slow, *, guilty: bool) -> None:
        self._device, self._guilty = device, guilty

    def end(self) -> None:
        if self._guilty:
            self._device.slice_s = 0.0


def test_a_device_that_answers_at_once_hands_over() -> None:
    device = _Slow()
    private = torch.ones(1 << 10, dtype=torch.uint8)
    shared = torch.zeros_like(private)
    ended_ns = IdleCheck(cast(Device, device), device.clock).hand_over(shared, private)
    assert torch.equal(shared, private)
    # The clock starts here: nothing that takes time comes after the copy.
    assert ended_ns == device.clock()


def _busy() -> tuple[_Slow, IdleCheck]:
    device = _Slow()
    idle_check = IdleCheck(cast(Device, device), device.clock)
    assert idle_check.undisturbed()
    device.slice_s = _SLICE_S
    return device, idle_check


def test_a_late_device_is_busy() -> None:
    _, idle_check = _busy()
    assert not idle_check.undisturbed()
    private = torch.ones(1 << 10, dtype=torch.uint8)
    shared = torch.zeros_like(private)
    with pytest.raises(DeviceNotIdle):
        idle_check.hand_over(shared, private)
    # Nobody sees inputs that were not handed over.
    assert not shared.any()


@pytest.mark.parametrize("guilty", ["candidate", "baseline"])
def test_the_side_whose_end_leaves_it_quiet_is_blamed(guilty: Role) -> None:
    device, idle_check = _busy()
    found = _blamed(device, idle_check, guilty)
    assert isinstance(found, Caught)
    assert (found.finding.kind, found.finding.side) == ("idle", guilty)


def test_neither_side_is_blamed_for_a_stranger() -> None:
    device, idle_check = _busy()
    found = _blamed(device, idle_check, None)
    assert isinstance(found, DeviceFailed)


def _blamed(device: _Slow, idle_check: IdleCheck, guilty: Role | None) -> Exception:
    sides = {role: _Side(device, guilty=role == guilty) for role in ("baseline", "candidate")}
    setting = type("Setting", (), {"idle_check": idle_check})()
    return pairs._blamed(cast(Any, setting), cast(Any, sides), 0, "wide")
