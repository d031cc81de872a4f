"""The Celery application: `celery -A consultancy worker -Q gpu`.

Three queues: gpu (one run at a time per device), documents (PDFs, mail, periodic sweeps) and
default.
"""

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_after_setup, setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "consultancy.settings")


class Application(Celery):
    """Celery that starts the embedded broker before it connects to it."""

    def connection_for_write(self, *args: Any, **kwargs: Any) -> Any:
        """A connection to publish on."""
        self._ensure_embedded_broker()
        return super().connection_for_write(*args, **kwargs)

    def connection_for_read(self, *args: Any, **kwargs: Any) -> Any:
        """A connection to consume from."""
        self._ensure_embedded_broker()
        return super().connection_for_read(*args, **kwargs)

    def _ensure_embedded_broker(self) -> None:
        from django.conf import settings

        if self.conf.broker_url == settings.VALKEY.url:
            settings.VALKEY.start()


app = Application("twofold")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def use_django_logging(**_: Any) -> None:
    """Keep Django's logging; with a receiver connected, Celery does not install its own."""


@celeryd_after_setup.connect
def require_signing_key(instance: Any, **_: Any) -> None:
    """Refuse to start a worker of the queue gpu that cannot sign records, in production."""
    if "gpu" in instance.app.amqp.queues.consume_from:
        from consultancy.signing import require_key

        require_key()


@celeryd_after_setup.connect
def require_certificate(instance: Any, **_: Any) -> None:
    """Refuse to start a worker of the queue documents that cannot sign contracts."""
    if "documents" in instance.app.amqp.queues.consume_from:
        from engagements.documents import certificate

        certificate.own()
