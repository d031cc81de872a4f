"""The import rules of pyproject.toml name every module that they must hold for."""

import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import benchmarks
import benchmarks.harness

ROOT = Path(__file__).parents[2]
# What the web tier may take from the referee: reading and recomputing, never measuring.
READING = {
    "canonical",
    "claims",
    "committed",
    "documents",
    "limits",
    "records",
    "reports",
    "signatures",
    "statistics",
    "surveys",
    "verdicts",
    "withholding",
}


def _contract(words: str) -> dict[str, Any]:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = configuration["tool"]["importlinter"]["contracts"]
    return next(contract for contract in contracts if words in contract["name"])


def _modules(package: Any) -> set[str]:
    return {f"{package.__name__}.{found.name}" for found in pkgutil.iter_modules(package.__path__)}


def test_every_web_module_of_benchmarks_is_kept_from_torch() -> None:
    web = _modules(benchmarks) - {"benchmarks.harness", "benchmarks.migrations"}
    assert web <= set(_contract("neither torch nor triton")["source_modules"])
    assert web <= set(_contract("measures nothing")["source_modules"])


def test_every_measuring_module_of_the_referee_is_kept_from_the_web() -> None:
    reading = {f"benchmarks.harness.{name}" for name in READING}
    measuring = _modules(benchmarks.harness) - reading
    assert measuring <= set(_contract("measures nothing")["forbidden_modules"])


def test_a_web_process_with_every_address_loaded_has_no_torch() -> None:
    program = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "consultancy.settings"
import django
django.setup()
from django.urls import get_resolver
import consultancy.wsgi, consultancy.celery
from kernels import catalogue

def load(resolver):
    for pattern in resolver.url_patterns:
        if hasattr(pattern, "url_patterns"):
            load(pattern)

load(get_resolver())
consultancy.celery.app.loader.import_default_modules()
for operator in catalogue.operators():
    catalogue.definition(operator)
print(sorted({"torch", "triton", "scipy"} & set(sys.modules)))
"""
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert said.stdout.strip() == "[]", said.stdout + said.stderr
