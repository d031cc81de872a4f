"""The quickest of a kernel's configurations, tried once and kept.

    CONFIGS = (Config(block=64), Config(block=128))  # the first is what runs without tuning

    def prepare(state, axes):
        config = tuning.best(
            source=__file__,
            key=(axes["hidden"], str(x.dtype)),
            configs=CONFIGS,
            run=lambda config: _launch(config, x, out),
        )

What was found quickest holds for the GPU's name, its driver, the version of Triton, the bytes of
the kernel's file and of the one that launches it, and for the caller's key. When one of them
changes nothing is found and the configurations are tried again. Triton's own cache of tuned
configurations (`cache_results`) keys by environment and source too, but knows Triton kernels only,
and not the driver.

Without a CUDA GPU, under Triton's interpreter and with TWOFOLD_TUNING=off it is always the
first configuration, and nothing is read or written.
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


class NothingRuns(RuntimeError):
    """Every configuration failed; the text says how the first one did."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a tuned configuration depends on besides its kernel."""

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
    """The configuration whose `run` takes least time here, from the cache where it is known.

    `source` is the kernel's own file, `key` whatever else decides (sizes, dtype), `configs`
    dataclasses or plain values, the one to fall back on first. `run(config)` queues one call on
    the current stream, and the file that it is written in counts like `source`; one that raises
    is out. NothingRuns when all of them raise. Call it in `prepare`: nothing can be timed while a
    CUDA graph is being captured.
    """
    tried = tuple(configs)
    here = None if _is_off() else machine()
    if here is None or len(tried) == 1:
        return tried[0]
    parts = _parts(here, Path(source), _written_in(run), key)
    file = cache_folder() / f"{Path(source).stem}-{_digest(parts)}.json"
    known = _read(file, parts)
    for config in tried:
        if known is not None and _plain(config) == known:
            return config
    found, times_us = _quickest(tried, run)
    _write(file, {**parts, "config": _plain(found), "median_us": times_us})
    return found


def _is_off() -> bool:
    return (
        os.environ.get(SWITCH_VARIABLE) == "off" or os.environ.get("TRITON_INTERPRET", "0") == "1"
    )


def _written_in(run: Callable[..., object]) -> Path | None:
    """The file of a function; None where it is not one of Python's, or was read from none."""
    code = getattr(run, "__code__", None)
    file = Path(code.co_filename) if code else None
    return file if file and file.is_file() else None


def _parts(
    here: Machine, source: Path, launcher: Path | None, key: Sequence[Hashable]
) -> dict[str, Any]:
    """Everything that a kept result depends on, as plain JSON data."""
    written = [source] if launcher is None or launcher.samefile(source) else [source, launcher]
    return {
        "schema": SCHEMA,
        **asdict(here),
        "source": source.name,
        "source_sha256": hashlib.sha256(b"".join(one.read_bytes() for one in written)).hexdigest(),
        "key": [str(part) for part in key],
    }


def _quickest(
    configs: Sequence[ConfigT], run: Callable[[ConfigT], object]
) -> tuple[ConfigT, list[float | None]]:
    """The quickest configuration, and every median in microseconds (None: it does not run)."""
    times_us: list[float | None] = []
    failures: list[Exception] = []
    for config in configs:
        try:
            times_us.append(_median_us(partial(run, config)))
        except Exception as error:
            # Compilers raise what they like for a tile that does not fit; it is just out.
            failures.append(error)
            times_us.append(None)
    ran = [(us, index) for index, us in enumerate(times_us) if us is not None]
    if not ran:
        first = failures[0]
        raise NothingRuns(f"no configuration runs: {type(first).__name__}: {first}") from first
    return configs[min(ran)[1]], times_us


def _median_us(call: Callable[[], object]) -> float:
    """Median of one call with a cold L2, in microseconds."""
    from triton.testing import do_bench

    median_ms: float = do_bench(call, warmup=_WARMUP_MS, rep=_MEASURED_MS, return_mode="median")
    return median_ms * 1e3


def cache_folder() -> Path:
    """Where results are kept. A measured side has no home but its scratch, so it is there."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    compiled = os.environ.get("TRITON_CACHE_DIR")
    beside = Path(compiled).parent if compiled else Path.home() / ".cache" / "twofold"
    return beside / "tuning"


def _read(file: Path, parts: dict[str, Any]) -> Any:
    """The kept configuration as plain data; None when there is none for exactly these parts."""
    try:
        kept = json.loads(file.read_text())
        agrees = all(kept[name] == value for name, value in parts.items())
        return kept["config"] if agrees else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(file: Path, kept: dict[str, Any]) -> None:
    """Keep it, whole or not at all; where nothing may be written the next process tries again."""
    unfinished = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps(kept, indent=1) + "\n")
        unfinished.replace(file)


def _plain(config: object) -> Any:
    """A configuration as JSON would give it back."""
    data = asdict(config) if is_dataclass(config) and not isinstance(config, type) else config
    return json.loads(json.dumps(data))


def _digest(parts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _driver() -> str:
    """The driver's version by NVML; without NVML what its kernel module says of itself."""
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
    told = Path("/proc/driver/nvidia/version")
    return told.read_text().splitlines()[0] if told.is_file() else "unknown"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"
