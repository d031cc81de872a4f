"""`manage.py migrate`, without rendering every related model again for each new one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from django.core.management.commands import migrate
from django.db.migrations.state import ModelState, ProjectState


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with rendering_new_models_alone():
            super().handle(*args, **options)


@contextmanager
def rendering_new_models_alone() -> Iterator[None]:
    """Render only the model that a migration creates.

    Django renders every model that refers to it directly or indirectly as well, of which a new
    model has none. On an empty database this is most of the time that migrating takes.
    """
    add_model = ProjectState.add_model

    def add_alone(state: Any, model_state: ModelState) -> None:
        key = (model_state.app_label, model_state.name_lower)
        apps = state.__dict__.pop("apps", None)
        try:
            add_model(state, model_state)
        finally:
            if apps is not None:
                state.__dict__["apps"] = apps
        if apps is not None:
            if model_state.name_lower in apps.all_models[model_state.app_label]:
                state.reload_model(*key)
            else:
                apps.render_multiple([model_state])

    with patch.object(ProjectState, "add_model", add_alone):
        yield
