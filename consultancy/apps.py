"""The project as an app: its commands, its static files."""

from django.apps import AppConfig


class ConsultancyConfig(AppConfig):
    """Holds the management commands and the static files."""

    name = "consultancy"

    def ready(self) -> None:
        from allauth.account.signals import password_reset

        from consultancy.receivers import let_in

        password_reset.connect(let_in, dispatch_uid="consultancy.attempts")
