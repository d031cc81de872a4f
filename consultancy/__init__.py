"""The Django project: settings, URLs, the Celery application, embedded services."""

from consultancy.celery import app as celery_app

__all__ = ["celery_app"]
