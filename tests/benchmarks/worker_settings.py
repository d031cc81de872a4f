"""The site's settings for a worker that a test started, with what the test changes."""

import json
import os

from consultancy.settings import *  # noqa: F403 - settings are a namespace

TWOFOLD_RUN_LIMITS = json.loads(os.environ.get("TEST_RUN_LIMITS", "{}"))
if command := os.environ.get("TEST_HARNESS_COMMAND"):
    TWOFOLD_HARNESS_COMMAND = json.loads(command)
