"""CUDA C++ for candidates: compiled by NVRTC through cuda.core, launched on torch's own stream.

Chosen over torch's `load_inline`: NVRTC needs neither nvcc nor a host compiler nor ninja on the
customer's machine, starts no processes (a side may start few), and takes a tenth of a second
where torch's headers take a minute. The price: kernels only, no host C++; the launcher is
Python.

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
_MOST_LOG_CHARACTERS = 4000
_INT32 = range(-(1 << 31), 1 << 31)
# What a launch may ask of dynamic shared memory before the kernel's limit must be raised.
_SHARED_BYTES_OF_RIGHT = 48 * 1024
Grid = int | tuple[int, ...]


class CompileError(RuntimeError):
    """CUDA source that does not compile; the text has its first error, `log` all of them."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


class Kernel:
    """One compiled kernel."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._shared_bytes = _SHARED_BYTES_OF_RIGHT

    def __call__(
        self,
        grid: Grid,
        block: Grid,
        *arguments: object,
        shared_bytes: int = 0,
        early: bool = False,
    ) -> None:
        """Queue one launch on torch's current stream; may be captured in a CUDA graph.

        A tensor goes as its pointer, an int as a 32-bit int, a float as a 32-bit float, a tensor
        map (kernels.tensor_maps) as itself; another width as a ctypes value. TypeError or
        ValueError for anything else. RuntimeError in the driver's words.

        `early`: it may begin while the kernel in front of it ends, and says itself, by
        `griddepcontrol.wait`, from where on it needs what that one wrote.
        """
        import torch
        from cuda.bindings import driver

        if shared_bytes > self._shared_bytes:
            self._allow(shared_bytes)
        passed = [_argument(argument) for argument in arguments]
        places = (ctypes.c_void_p * len(passed))(*(_place(value) for value in passed))
        checked(
            driver.cuLaunchKernelEx(
                _launch(
                    _three(grid),
                    _three(block),
                    shared_bytes,
                    torch.cuda.current_stream().cuda_stream,
                    early=early,
                ),
                driver.CUfunction(int(self._kernel.handle)),
                ctypes.addressof(places),
                0,
            )
        )

    def _allow(self, shared_bytes: int) -> None:
        """More dynamic shared memory than a kernel gets unasked."""
        import torch
        from cuda.bindings import driver

        most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        device = checked(driver.cuDeviceGet(torch.cuda.current_device()))
        handle = driver.CUkernel(int(self._kernel.handle))
        checked(driver.cuKernelSetAttribute(most, shared_bytes, handle, device))
        self._shared_bytes = shared_bytes


def _launch(
    grid: tuple[int, ...], block: tuple[int, ...], shared_bytes: int, stream: int, *, early: bool
) -> Any:
    """The driver's own description of a launch."""
    from cuda.bindings import driver

    asked = driver.CUlaunchConfig()
    asked.gridDimX, asked.gridDimY, asked.gridDimZ = grid
    asked.blockDimX, asked.blockDimY, asked.blockDimZ = block
    asked.sharedMemBytes, asked.hStream = shared_bytes, stream
    if early:
        attribute = driver.CUlaunchAttribute()
        attribute.id = (
            driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        )
        attribute.value.programmaticStreamSerializationAllowed = 1
        asked.attrs, asked.numAttrs = [attribute], 1
    return asked


def checked(answer: tuple[Any, ...]) -> Any:
    """What a call of the driver gave back; RuntimeError with the error's name."""
    error, *values = answer
    if int(error):
        raise RuntimeError(f"the CUDA driver answered {getattr(error, 'name', error)}")
    return values[0] if values else None


def _three(sides: Grid) -> tuple[int, ...]:
    found = (sides,) if isinstance(sides, int) else tuple(sides)
    return found + (1,) * (3 - len(found))


def compile(source: str, name: str, *, options: Sequence[tuple[str, str]] = ()) -> Kernel:
    """The `extern "C"` kernel `name` of `source`; `options` are macros to define, as pairs.

    Compiled once for all processes that share a cache (kernels.cubins). CompileError with the
    compiler's own words; NotAvailable without cuda.core or a GPU.
    """
    import torch

    from kernels import cubins

    if not torch.cuda.is_available():
        raise NotAvailable("a CUDA candidate needs a CUDA GPU")
    torch.cuda.init()
    major, minor = torch.cuda.get_device_capability()
    # The "a" admits what this architecture alone has (wgmma, setmaxnreg): made here, run here.
    arch = f"sm_{major}{minor}" + ("a" if major >= 9 else "")
    core = _core()
    core.Device(torch.cuda.current_device()).set_current()
    file = cubins.place((source, arch, options, _header_folders(), *_compiler()))
    known = cubins.read(file)
    if known is not None:
        # What the driver will not load, for whatever reason, is made anew.
        with suppress(Exception):
            return Kernel(core.ObjectCode.from_cubin(known).get_kernel(name))
    code = compiled(source, arch=arch, options=options)
    cubins.keep(file, bytes(code.code))
    try:
        return Kernel(code.get_kernel(name))
    except Exception as error:
        # Whatever of its errors the driver gives: what helps is the name.
        text = f'there is no kernel `extern "C" __global__ void {name}(...)` in the source'
        raise CompileError(text, str(error)) from error


def compiled(source: str, *, arch: str, options: Sequence[tuple[str, str]] = ()) -> Any:
    """Machine code for `arch` (such as sm_90); needs no GPU. CompileError, NotAvailable.

    Compiling has a limit of its own, apart from that of the setup around it.
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
        return within(COMPILE_LIMIT_S, lambda: program.compile("cubin"))
    except CompileError:
        raise
    except Exception as error:
        # cuda.core keeps its own exception types private; the log is in the text.
        raise _told(str(error)) from error


def _compiler() -> tuple[str, ...]:
    """What decides the code besides the source: the compiler's version and that of its caller."""
    from cuda.bindings import nvrtc

    return (*(str(part) for part in nvrtc.nvrtcVersion()), _core().__version__)


def within(limit_s: float, work: Callable[[], Any]) -> Any:
    """What `work` gives or raises; CompileError when it takes longer than `limit_s`.

    A compiler cannot be stopped: it goes on in a thread that ends with the process.
    """
    ended: list[Callable[[], Any]] = []

    def labour() -> None:
        try:
            made = work()
        except Exception as error:
            ended.append(partial(_raise, error))
        else:
            ended.append(lambda: made)

    thread = threading.Thread(target=labour, daemon=True)
    thread.start()
    thread.join(limit_s)
    if not ended:
        text = f"compiling took longer than {limit_s:g} s and was given up"
        raise CompileError(text, text)
    return ended[0]()


def _raise(error: Exception) -> None:
    raise error


def _told(log: str) -> CompileError:
    lines = [" ".join(line.split()) for line in log.splitlines() if line.strip()]
    first = next((line for line in lines if "error" in line and "(" in line), lines[0])
    return CompileError(f"the CUDA source does not compile: {first}", log[-_MOST_LOG_CHARACTERS:])


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
            raise ValueError(f"{value} is no 32-bit int: pass ctypes.c_int64({value})")
        return ctypes.c_int32(value)
    if isinstance(value, float):
        return ctypes.c_float(value)
    if isinstance(value, ctypes._SimpleCData) or hasattr(value, "getPtr"):
        return value
    raise TypeError(f"a kernel takes tensors, numbers and ctypes values, not {type(value)}")


def _place(value: Any) -> int:
    """The host address that the driver copies a launch's argument from."""
    found: int = value.getPtr() if hasattr(value, "getPtr") else ctypes.addressof(value)
    return found


def _header_folders() -> list[str]:
    """Where CUDA's own headers (cuda_fp16.h) are: NVIDIA's wheels, or an installed toolkit."""
    roots = [Path(folder) / "nvidia" for folder in _site_folders()]
    found = [header.parent for root in roots for header in root.glob("*/include/cuda_fp16.h")]
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"
    if (toolkit / "cuda_fp16.h").is_file():
        found.append(toolkit)
    return [str(folder) for folder in found]


def _site_folders() -> Iterable[str]:
    return dict.fromkeys([*site.getsitepackages(), *(folder for folder in sys.path if folder)])
