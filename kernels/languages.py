"""Languages of candidates: what their files are called, and the kernel that a template begins with.

A candidate is Python, or CUDA C++ with its launcher in Python, so every language with a Python
package loads as it is. A Language adds a template and, where its package is missing, an error that
names it. Other packages bring theirs by entry points of the group `twofold.languages`:

    [project.entry-points."twofold.languages"]
    tilelang = "acme_kernels.languages:TILELANG"

names a Language. No torch here.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.metadata import entry_points

GROUP = "twofold.languages"


@dataclass(frozen=True, kw_only=True)
class Language:
    """A language of candidates, whose files are `<name>_*<suffix>`.

    `package` is the module that its candidates import, `install` the package that has it.
    `imports` and `kernel` are Python of the template: `kernel` defines `copy_bits(source, target)`,
    which copies one flat tensor of integers to another. `cuda` is the CUDA C++ of a `.cu` template,
    whose `copy_bits` is compiled from SOURCE. `devices` are those that run the template;
    `variables` is what a processor needs for it in the environment.
    """

    name: str
    title: str
    package: str
    install: str
    suffix: str = ".py"
    imports: str = ""
    kernel: str = ""
    cuda: str = ""
    devices: tuple[str, ...] = ("cuda",)
    variables: str = ""

    @property
    def filename(self) -> str:
        """The name that the template is downloaded by."""
        return f"{self.name}_mine{self.suffix}"

    @property
    def pattern(self) -> str:
        """The names of its candidates in an operator's folder."""
        return f"{self.name}_*{self.suffix}"


TORCH = Language(
    name="torch",
    title="PyTorch",
    package="torch",
    install="torch",
    kernel='''\
def copy_bits(source, target):
    """Replace this by your own code."""
    target.copy_(source)
''',
    devices=("cpu", "cuda"),
)
TRITON = Language(
    name="triton",
    title="Triton",
    package="triton",
    install="triton",
    imports="import triton\nimport triton.language as tl\n",
    kernel='''\
@triton.jit
def _copy(source, target, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, mask=at < count), mask=at < count)


def copy_bits(source, target):
    """Replace this by your own kernel."""
    _copy[(triton.cdiv(source.numel(), 1024),)](source, target, source.numel(), BLOCK=1024)
''',
    devices=("cpu", "cuda"),
    variables="TRITON_INTERPRET=1",
)
GLUON = Language(
    name="gluon",
    title="Gluon",
    package="triton.experimental.gluon",
    install="triton",
    imports="import triton\nfrom triton.experimental import gluon\n"
    "from triton.experimental.gluon import language as gl\n",
    kernel='''\
@gluon.jit
def _copy(source, target, count, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(target + at, gl.load(source + at, mask=at < count), mask=at < count)


def copy_bits(source, target):
    """Replace this by your own kernel."""
    _copy[(triton.cdiv(source.numel(), 1024),)](source, target, source.numel(), BLOCK=1024)
''',
)
CUDA = Language(
    name="cuda",
    title="CUDA C++",
    package="cuda.core",
    install="cuda-core",
    suffix=".cu",
    imports="import ctypes\nimport functools\n\nfrom kernels import cuda\n",
    kernel='''\
def copy_bits(source, target):
    """Replace this by your own kernel, which is compiled once."""
    kernel = _kernel(source.element_size())
    kernel(-(-source.numel() // 256), 256, source, target, ctypes.c_int64(source.numel()))


@functools.cache
def _kernel(width):
    item = {1: "char", 2: "short", 4: "int", 8: "long long"}[width]
    return cuda.compile(SOURCE, "copy_bits", options=[("ITEM", item)])
''',
    cuda="""\
extern "C" __global__ void copy_bits(const ITEM* source, ITEM* target, long long count) {
    const long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (at < count) target[at] = source[at];
}
""",
)
NUMBA = Language(
    name="numba",
    title="Numba",
    package="numba",
    install="numba",
    imports="import numba\n",
    kernel='''\
@numba.njit
def _copy(source, target):
    for at in range(source.size):
        target[at] = source[at]


def copy_bits(source, target):
    """Replace this by your own loop."""
    _copy(source.numpy(), target.numpy())
''',
    devices=("cpu",),
)


@functools.cache
def known() -> dict[str, Language]:
    """The languages by name: these, and those of installed packages.

    TypeError for an entry point that names something else.
    """
    found = {each.name: each for each in (TORCH, TRITON, GLUON, CUDA, NUMBA)}
    for point in entry_points(group=GROUP):
        language = point.load()
        if not isinstance(language, Language):
            raise TypeError(
                f"entry point {point.name} of {GROUP} names {point.value}, which is not a Language"
            )
        found.setdefault(language.name, language)
    return found


def missing(module: str) -> Language | None:
    """The language whose package has this module, for the error of a missing one."""
    root = module.partition(".")[0]
    return next((one for one in known().values() if one.package.split(".")[0] == root), None)
