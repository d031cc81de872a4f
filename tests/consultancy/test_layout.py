"""No torch in a web process. The import rules are contracts in pyproject.toml."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_web_process_with_every_url_loaded_imports_no_torch() -> None:
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
    process = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert process.stdout.strip() == "[]", process.stdout + process.stderr


def test_the_threat_model_names_tests_that_exist() -> None:
    text = (ROOT / "consultancy" / "THREATS.md").read_text()
    named = re.findall(r"`((?:tests|\.ci)/[^`]+)`", text)
    assert len(named) > 20
    assert [file for file in named if not (ROOT / file).exists()] == []
