"""Find the fastest of a kernel's configurations once and cache it.

    CONFIGS = (Config(block=64), Config(block=128))  # the first is what runs without tuning

    def prepare(state, axes):
        config = tuning.best(
            source=__file__,
            key=(axes["hidden"], str(x.dtype)),
            configs=CONFIGS,
            run=lambda config: _launch(config, x, out),
        )

The cache's key is the GPU's name, its driver, Triton's version, the bytes of the kernel's file and
of the file that launches it, and the caller's key. If one of them changes, the configurations are
tried again. Triton's own cache of tuned configurations (`cache_results`) also keys by environment
and source, but covers Triton kernels only and ignores the driver.

Without a CUDA GPU, under Triton's interpreter and with TWOFOLD_TUNING=off the first configuration
is used, and nothing is read or written.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import torch

FOLDER_VARIABLE = "TWOFOLD_TUNING_CACHE"
SWITCH_VARIABLE = "TWOFOLD_TUNING"
SCHEMA = "twofold.tuning/1"

# Milliseconds of one trial: enough for a median, short enough for a dozen trials in a setup.
_WARMUP_MS = 5
_MEASURED_MS = 25

ConfigT = TypeVar("ConfigT")


class NoConfigurationRuns(RuntimeError):
    """Every configuration failed; the text has the first one's error."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The GPU, driver and Triton version of a tuned configuration."""

    gpu: str
    driver: str
    triton: str


def machine() -> Machine | None:
    """The current GPU, its driver and Triton's version; None without a CUDA GPU."""
    if not torch.cuda.is_available():
        return None
    return _machine_of(torch.cuda.current_device())


@cache
def _machine_of(index: int) -> Machine:
    name = torch.cuda.get_device_name(index)
    return Machine(gpu=name, driver=_driver(), triton=_version("triton"))


def best(
    *,
    source: str | Path,
    key: Sequence[Hashable],
    configs: Iterable[ConfigT],
    run: Callable[[ConfigT], object],
) -> ConfigT:
    """The configuration whose `run` is fastest on this machine, from the cache if it has it.

    `source` is the kernel's file, `key` everything else that decides (sizes, dtype), `configs`
    dataclasses or plain values, the default first. `run(config)` queues one call on the current
    stream; its own file counts like `source`, and a configuration that raises is skipped.
    NoConfigurationRuns if all raise. Call it in `prepare`: nothing can be timed while a CUDA graph
    is being captured.
    """
    candidates = tuple(configs)
    here = None if _is_off() else machine()
    if here is None or len(candidates) == 1:
        return candidates[0]
    parts = _parts(here, Path(source), _file_of(run), key)
    file = cache_folder() / f"{Path(source).stem}-{_digest(parts)}.json"
    cached = _read(file, parts)
    for config in candidates:
        if cached is not None and _plain(config) == cached:
            return config
    found, times_us = _fastest(candidates, run)
    _write(file, {**parts, "config": _plain(found), "median_us": times_us})
    return found


def _is_off() -> bool:
    return (
        os.environ.get(SWITCH_VARIABLE) == "off" or os.environ.get("TRITON_INTERPRET", "0") == "1"
    )


def _file_of(run: Callable[..., object]) -> Path | None:
    """The file of a Python function; None if it has none."""
    code = getattr(run, "__code__", None)
    file = Path(code.co_filename) if code else None
    return file if file and file.is_file() else None


def _parts(
    here: Machine, source: Path, launcher: Path | None, key: Sequence[Hashable]
) -> dict[str, Any]:
    """Everything that a cached result depends on, as plain JSON data."""
    files = [source] if launcher is None or launcher.samefile(source) else [source, launcher]
    return {
        "schema": SCHEMA,
        **asdict(here),
        "source": source.name,
        "source_sha256": hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest(),
        "key": [str(part) for part in key],
    }


def _fastest(
    configs: Sequence[ConfigT], run: Callable[[ConfigT], object]
) -> tuple[ConfigT, list[float | None]]:
    """The fastest configuration, and every median in microseconds (None if it does not run)."""
    times_us: list[float | None] = []
    failures: list[Exception] = []
    for config in configs:
        try:
            times_us.append(_median_us(partial(run, config)))
        except Exception as error:
            # Compilers raise many types of error for a tile that does not fit.
            failures.append(error)
            times_us.append(None)
    ran = [(us, index) for index, us in enumerate(times_us) if us is not None]
    if not ran:
        first = failures[0]
        raise NoConfigurationRuns(
            f"no configuration runs: {type(first).__name__}: {first}"
        ) from first
    return configs[min(ran)[1]], times_us


def _median_us(call: Callable[[], object]) -> float:
    """Median of one call with a cold L2, in microseconds."""
    from triton.testing import do_bench

    median_ms: float = do_bench(call, warmup=_WARMUP_MS, rep=_MEASURED_MS, return_mode="median")
    return median_ms * 1e3


def cache_folder() -> Path:
    """The folder of cached results; for a measured side it is in the side's scratch."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    compiled = os.environ.get("TRITON_CACHE_DIR")
    beside = Path(compiled).parent if compiled else Path.home() / ".cache" / "twofold"
    return beside / "tuning"


def _read(file: Path, parts: dict[str, Any]) -> Any:
    """The configuration cached for exactly these parts, as plain data, or None."""
    try:
        cached = json.loads(file.read_text())
        agrees = all(cached[name] == value for name, value in parts.items())
        return cached["config"] if agrees else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(file: Path, result: dict[str, Any]) -> None:
    """Cache a result atomically; do nothing if the folder cannot be written."""
    unfinished = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps(result, indent=1) + "\n")
        unfinished.replace(file)


def _plain(config: object) -> Any:
    """A configuration after a round trip through JSON."""
    data = asdict(config) if is_dataclass(config) and not isinstance(config, type) else config
    return json.loads(json.dumps(data))


def _digest(parts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _driver() -> str:
    """The driver's version from NVML, else from its kernel module."""
    try:
        import pynvml
    except ModuleNotFoundError:
        return _kernel_module()
    try:
        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except pynvml.NVMLError:
        return _kernel_module()


def _kernel_module() -> str:
    version = Path("/proc/driver/nvidia/version")
    return version.read_text().splitlines()[0] if version.is_file() else "unknown"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"
