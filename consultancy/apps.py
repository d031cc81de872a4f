"""The project as a Django app, for its management commands and static files."""

from django.apps import AppConfig


class ConsultancyConfig(AppConfig):
    name = "consultancy"

    def ready(self) -> None:
        from allauth.account.signals import password_reset

        from consultancy import checks  # noqa: F401  registers them
        from consultancy.receivers import clear_login_limits

        password_reset.connect(clear_login_limits, dispatch_uid="consultancy.login_limits")
