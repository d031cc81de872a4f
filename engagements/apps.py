from django.apps import AppConfig


class EngagementsConfig(AppConfig):
    name = "engagements"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # They connect to the signals of others, and to what `migrate` looks at.
        from engagements import checks, receivers  # noqa: F401
