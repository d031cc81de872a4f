"""One site with every part, for all tests of this folder."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from consultancy.environment import Environment
from tests.consultancy.faults.parts import Parts, bucket_variables, serving
from tests.consultancy.faults.site import Site, running


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder with a path short enough for sockets."""
    made = Path(tempfile.mkdtemp(prefix="twofold-faults-", dir="/var/tmp"))
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def parts(folder: Path, django_db_setup: None) -> Iterator[Parts]:
    """Every part, working."""
    for name in ("httpx", "mail.log", "botocore", "werkzeug"):
        logging.getLogger(name).setLevel(logging.ERROR)
    with serving(folder, connection.settings_dict) as served:
        yield served


@pytest.fixture(scope="module")
def shared_site(folder: Path, parts: Parts) -> Iterator[Site]:
    """Web and one worker for all queues."""
    with running(folder, parts, ["web", "worker"]) as site:
        yield site


@pytest.fixture
def site(transactional_db: None, shared_site: Site, settings: Any) -> Iterator[Site]:
    """The site, with every part working before and after the test."""
    bucket = Environment(bucket_variables(shared_site.parts.bucket_url)).records(Path("unused"))
    settings.STORAGES = settings.STORAGES | {"records": bucket}
    shared_site.parts.mailbox.accepted.clear()
    shared_site.record.unlink(missing_ok=True)
    shared_site.sessions.clear()
    yield shared_site
    shared_site.parts.all_back()
