"""The project as an app: its commands, its static files."""

from django.apps import AppConfig


class ConsultancyConfig(AppConfig):
    """Holds the management commands and the static files."""

    name = "consultancy"

    def ready(self) -> None:
        from consultancy import receivers  # noqa: F401  connects to the signals of others
