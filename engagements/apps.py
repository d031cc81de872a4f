from django.apps import AppConfig


class EngagementsConfig(AppConfig):
    name = "engagements"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Connects to the signals of other apps.
        from engagements import receivers  # noqa: F401
