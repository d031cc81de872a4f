"""Where and how log lines are written."""

from typing import Any


def logging(*, formatter: str, level: str, production: bool) -> dict[str, Any]:
    """Return the setting LOGGING: lines with their context on standard error."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"context": {"()": "consultancy.logs.ContextFilter"}},
        "formatters": {
            "line": {"format": "{levelname:7} {name}: {message}", "style": "{"},
            "json": {
                "()": "pythonjsonlogger.json.JsonFormatter",
                "format": "{levelname}{name}{message}{request}{task}{run}",
                "style": "{",
                "timestamp": "at",
                "rename_fields": {"levelname": "level", "name": "logger"},
            },
        },
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": formatter,
                "filters": ["context"],
            }
        },
        "root": {
            "handlers": ["stderr"],
            "level": level,
        },
        "loggers": {
            "fontTools": {"level": "WARNING"},
            "weasyprint": {"propagate": False},
            # The development server prints its own line.
            "twofold.access": {"level": "INFO" if production else "WARNING"},
        },
    }
