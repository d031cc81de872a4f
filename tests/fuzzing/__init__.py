"""Fuzzing that is led by coverage (atheris): `python -m tests.fuzzing TARGET --seconds N`.

No part of the test suite, and in need of more than it: `pip install -e '.[fuzz]'`. What it
finds becomes an example in tests/engagements/evidence/readers/test_fuzzing.py.
"""
