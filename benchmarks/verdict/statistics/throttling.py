"""NVML's throttle reasons, without NVML."""

NAMES = {
    0x1: "idle",
    0x2: "application clocks",
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clocks",
}
DISCARDED = 0x8 | 0x20 | 0x40 | 0x80
"""Reasons that lie with the machine, not with the code that runs on it."""


def names(reasons: int) -> list[str]:
    """The names of the reasons in a bit mask."""
    return [name for bit, name in NAMES.items() if reasons & bit]
