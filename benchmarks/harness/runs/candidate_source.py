"""Find in a candidate's source what reaches outside its slot, without running it.

A reader's first hint rather than a proof: Python has more ways than can be listed.
"""

import ast
from collections.abc import Iterator

from kernels.launchers import launcher_of

_MODULES = (
    "benchmarks",
    "builtins",
    "gc",
    "importlib",
    "inspect",
    "torch.overrides",
    "torch.library",
    "torch.utils._python_dispatch",
    "unittest.mock",
)
_ATTRIBUTES = {
    "CDLL",
    "PyDLL",
    "__builtins__",
    "__closure__",
    "__code__",
    "__defaults__",
    "__dict__",
    "__globals__",
    "__kwdefaults__",
    "__setattr__",
    "__subclasses__",
    "__torch_dispatch__",
    "__torch_function__",
    "_getframe",
    "cell_contents",
    "cdll",
    "f_back",
    "f_globals",
    "f_locals",
    "from_address",
    "get_objects",
    "get_referents",
    "get_referrers",
    "memmove",
    "memset",
    "meta_path",
    "py_object",
    "pythonapi",
    "set_eval_frame",
    "setprofile",
    "settrace",
    "tb_frame",
}
_CALLS = {"__import__", "compile", "delattr", "eval", "exec", "globals", "setattr", "vars"}


def patches(source: str, filename: str) -> list[str]:
    """The source's effects outside its slot, sorted; for a .cu file those of its launcher.

    A source that is not Python raises when a side loads it, and has none here.
    """
    text = launcher_of(source) if filename.endswith(".cu") else source
    try:
        tree = ast.parse(text or "")
    except (SyntaxError, ValueError, RecursionError):
        return []
    imported = {name for node in ast.walk(tree) for name in _bound(node)}
    imported |= {name for node in ast.walk(tree) for name in _aliases(node, imported)}
    return sorted({what for node in ast.walk(tree) for what in _reaches(node, imported)})


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]


def _aliases(node: ast.AST, imported: set[str]) -> Iterator[str]:
    """Further names of imported modules."""
    value = node.value if isinstance(node, ast.Assign) else None
    if isinstance(node, ast.Assign) and isinstance(value, ast.Name) and value.id in imported:
        yield from (each.id for each in node.targets if isinstance(each, ast.Name))


def _reaches(node: ast.AST, imported: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (f"imports {a.name}" for a in node.names if _is_outside(a.name))
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        whole = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        yield from (f"imports {name}" for name in whole if _is_outside(name))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id in _CALLS:
            yield f"calls {node.func.id}"
    elif isinstance(node, ast.FunctionDef) and node.name in _ATTRIBUTES:
        yield f"defines {node.name}"
    elif isinstance(node, ast.Attribute):
        if node.attr in _ATTRIBUTES:
            yield f"uses {node.attr}"
        if node.attr == "modules" and _root(node) == "sys":
            yield "uses sys.modules"
        if node.attr == "__class__" and not isinstance(node.ctx, ast.Load):
            yield "assigns __class__"
    if isinstance(node, ast.Attribute | ast.Subscript):
        changed = not isinstance(node.ctx, ast.Load)
        if changed and _root(node) in imported:
            yield f"assigns {ast.unparse(node)}"


def _is_outside(module: str) -> bool:
    ends = module.startswith("kernels.") and module.endswith(".program")
    return ends or any(module == each or module.startswith(f"{each}.") for each in _MODULES)


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
