"""CUDA C++ for candidates: compiled by NVRTC through cuda.core, launched on torch's own stream.

Unlike torch's `load_inline`, NVRTC needs no nvcc, host compiler or ninja on the customer's machine,
starts no processes (a side may start few), and takes a tenth of a second where torch's headers take
a minute. It compiles kernels only, no host C++, so the launcher is Python.

A `.cu` candidate is CUDA source whose first comment is its launcher:

    /* python
    from kernels import cuda
    kernel = cuda.compile(SOURCE, "scale_rows")

    def prepare(state, axes): ...
    def run(prepared, inputs, out): kernel(grid, block, inputs["x"], out["y"], 3)
    */
    extern "C" __global__ void scale_rows(const float* x, float* y, int n) { ... }
"""

from __future__ import annotations

import ctypes
import os
import site
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from kernels.definition import NotAvailable
from kernels.launchers import without_launcher

COMPILE_LIMIT_S = 60.0
_MAX_LOG_CHARACTERS = 4000
_INT32 = range(-(1 << 31), 1 << 31)
# Dynamic shared memory available without raising the kernel's limit.
_DEFAULT_SHARED_BYTES = 48 * 1024
Grid = int | tuple[int, ...]


class CompileError(RuntimeError):
    """CUDA source that does not compile; the text has its first error, `log` all of them.

    `code` is "compile.source", "compile.kernel" for a missing kernel or "compile.timeout".
    """

    def __init__(self, message: str, log: str, *, code: str) -> None:
        super().__init__(message)
        self.log = log
        self.code = code


class Kernel:
    """One compiled kernel."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._shared_bytes = _DEFAULT_SHARED_BYTES

    def __call__(
        self,
        grid: Grid,
        block: Grid,
        *arguments: object,
        shared_bytes: int = 0,
        early: bool = False,
    ) -> None:
        """Queue one launch on torch's current stream; it can be captured in a CUDA graph.

        A tensor is passed as its pointer, an int as a 32-bit int, a float as a 32-bit float, a
        tensor map (kernels.tensor_maps) as itself; another width as a ctypes value. TypeError or
        ValueError for anything else; RuntimeError with the driver's error.

        `early`: the kernel may begin while the preceding one ends, and executes
        `griddepcontrol.wait` before it reads that one's results.
        """
        import torch
        from cuda.bindings import driver

        if shared_bytes > self._shared_bytes:
            self._raise_limit(shared_bytes)
        values = [_argument(argument) for argument in arguments]
        addresses = (ctypes.c_void_p * len(values))(*(_address(value) for value in values))
        driver_result(
            driver.cuLaunchKernelEx(
                _launch(
                    _three(grid),
                    _three(block),
                    shared_bytes,
                    torch.cuda.current_stream().cuda_stream,
                    early=early,
                ),
                driver.CUfunction(int(self._kernel.handle)),
                ctypes.addressof(addresses),
                0,
            )
        )

    def _raise_limit(self, shared_bytes: int) -> None:
        """Raise the kernel's limit of dynamic shared memory."""
        import torch
        from cuda.bindings import driver

        limit = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        device = driver_result(driver.cuDeviceGet(torch.cuda.current_device()))
        handle = driver.CUkernel(int(self._kernel.handle))
        driver_result(driver.cuKernelSetAttribute(limit, shared_bytes, handle, device))
        self._shared_bytes = shared_bytes


def _launch(
    grid: tuple[int, ...], block: tuple[int, ...], shared_bytes: int, stream: int, *, early: bool
) -> Any:
    """The driver's description of a launch."""
    from cuda.bindings import driver

    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = block
    config.sharedMemBytes, config.hStream = shared_bytes, stream
    if early:
        attribute = driver.CUlaunchAttribute()
        attribute.id = (
            driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        )
        attribute.value.programmaticStreamSerializationAllowed = 1
        config.attrs, config.numAttrs = [attribute], 1
    return config


def driver_result(returned: tuple[Any, ...]) -> Any:
    """The value of a driver call; RuntimeError with the error's name if it failed."""
    error, *values = returned
    if int(error):
        raise RuntimeError(f"the CUDA driver returned {getattr(error, 'name', error)}")
    return values[0] if values else None


def _three(sides: Grid) -> tuple[int, ...]:
    found = (sides,) if isinstance(sides, int) else tuple(sides)
    return found + (1,) * (3 - len(found))


def compile(source: str, name: str, *, options: Sequence[tuple[str, str]] = ()) -> Kernel:
    """Compile the `extern "C"` kernel `name` of `source`; `options` are pairs of macro and value.

    Processes that share a cache (kernels.cubins) compile it once. CompileError with the compiler's
    message; NotAvailable without cuda.core or a GPU.
    """
    import torch

    from kernels import cubins

    if not torch.cuda.is_available():
        raise NotAvailable("a CUDA candidate needs a CUDA GPU")
    torch.cuda.init()
    major, minor = torch.cuda.get_device_capability()
    # The "a" enables instructions of this architecture alone (wgmma, setmaxnreg).
    arch = f"sm_{major}{minor}" + ("a" if major >= 9 else "")
    core = _core()
    core.Device(torch.cuda.current_device()).set_current()
    file = cubins.path_for((source, arch, options, _header_folders(), *_compiler_versions()))
    cached = cubins.read(file)
    if cached is not None:
        # Code that the driver cannot load, for any reason, is compiled again.
        with suppress(Exception):
            return Kernel(core.ObjectCode.from_cubin(cached).get_kernel(name))
    code = compile_for(arch, source, options=options)
    cubins.write(file, bytes(code.code))
    try:
        return Kernel(code.get_kernel(name))
    except Exception as error:
        # The driver has several errors for this; the missing name is the useful part.
        text = f'there is no kernel `extern "C" __global__ void {name}(...)` in the source'
        raise CompileError(text, str(error), code="compile.kernel") from error


def compile_for(arch: str, source: str, *, options: Sequence[tuple[str, str]] = ()) -> Any:
    """Compile to machine code for `arch` (such as sm_90), without a GPU.

    CompileError after COMPILE_LIMIT_S, which is separate from the limit of the setup around it;
    NotAvailable without cuda.core.
    """
    core = _core()
    settings = core.ProgramOptions(
        name="candidate.cu",
        arch=arch,
        define_macro=list(options) or None,
        include_path=_header_folders() or None,
    )
    try:
        program = core.Program(without_launcher(source), "c++", settings)
        return run_within(COMPILE_LIMIT_S, lambda: program.compile("cubin"))
    except CompileError:
        raise
    except Exception as error:
        # cuda.core's exception types are private; the log is in the text.
        raise _compile_error(str(error)) from error


def _compiler_versions() -> tuple[str, ...]:
    """Versions of NVRTC and cuda.core, on which the code depends besides the source."""
    from cuda.bindings import nvrtc

    return (*(str(part) for part in nvrtc.nvrtcVersion()), _core().__version__)


def run_within(limit_s: float, work: Callable[[], Any]) -> Any:
    """Return or raise as `work` does; CompileError if it takes longer than `limit_s` seconds.

    A compiler cannot be stopped: it continues in a thread that ends with the process.
    """
    outcome: list[Callable[[], Any]] = []

    def target() -> None:
        try:
            result = work()
        except Exception as error:
            outcome.append(partial(_raise, error))
        else:
            outcome.append(lambda: result)

    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    thread.join(limit_s)
    if not outcome:
        text = f"compiling exceeded its limit of {limit_s:g} s"
        raise CompileError(text, text, code="compile.timeout")
    return outcome[0]()


def _raise(error: Exception) -> None:
    raise error


def _compile_error(log: str) -> CompileError:
    lines = [" ".join(line.split()) for line in log.splitlines() if line.strip()]
    first = next((line for line in lines if "error" in line and "(" in line), lines[0])
    return CompileError(
        f"the CUDA source does not compile: {first}",
        log[-_MAX_LOG_CHARACTERS:],
        code="compile.source",
    )


def _core() -> Any:
    try:
        import cuda.core
    except ImportError as error:
        raise NotAvailable(
            "a CUDA candidate needs cuda.core and NVRTC: pip install 'cuda-core[cu13]'"
        ) from error
    return cuda.core


def _argument(value: object) -> Any:
    pointer = getattr(value, "data_ptr", None)
    if pointer is not None:
        return ctypes.c_void_p(pointer())
    if isinstance(value, bool):
        return ctypes.c_bool(value)
    if isinstance(value, int):
        if value not in _INT32:
            raise ValueError(f"{value} exceeds 32 bits; pass ctypes.c_int64({value})")
        return ctypes.c_int32(value)
    if isinstance(value, float):
        return ctypes.c_float(value)
    if isinstance(value, ctypes._SimpleCData) or hasattr(value, "getPtr"):
        return value
    raise TypeError(f"pass tensors, numbers or ctypes values to a kernel, not {type(value)}")


def _address(value: Any) -> int:
    """The host address from which the driver copies a launch's argument."""
    found: int = value.getPtr() if hasattr(value, "getPtr") else ctypes.addressof(value)
    return found


def _header_folders() -> list[str]:
    """Folders of CUDA's headers (cuda_fp16.h): NVIDIA's wheels or an installed toolkit."""
    roots = [Path(folder) / "nvidia" for folder in _site_folders()]
    found = [header.parent for root in roots for header in root.glob("*/include/cuda_fp16.h")]
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"
    if (toolkit / "cuda_fp16.h").is_file():
        found.append(toolkit)
    return [str(folder) for folder in found]


def _site_folders() -> Iterable[str]:
    return dict.fromkeys([*site.getsitepackages(), *(folder for folder in sys.path if folder)])
