from django.apps import AppConfig


class EngagementsConfig(AppConfig):
    name = "engagements"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from engagements import receivers  # noqa: F401  connects to the signals of others
