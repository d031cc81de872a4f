"""The Celery application: `celery -A consultancy worker -Q gpu`.

Three queues, each made on first use: gpu (one run at a time on a device), documents (PDFs,
mail, sweeping) and default.
"""

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_after_setup, setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "consultancy.settings")


class Application(Celery):
    """Celery, with the embedded broker started when it is the one in use."""

    def connection_for_write(self, *args: Any, **kwargs: Any) -> Any:
        """A connection to publish on."""
        self._have_embedded_broker()
        return super().connection_for_write(*args, **kwargs)

    def connection_for_read(self, *args: Any, **kwargs: Any) -> Any:
        """A connection to consume from."""
        self._have_embedded_broker()
        return super().connection_for_read(*args, **kwargs)

    def _have_embedded_broker(self) -> None:
        from django.conf import settings

        if self.conf.broker_url == settings.VALKEY.url:
            settings.VALKEY.start()


app = Application("twofold")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def use_django_logging(**_: Any) -> None:
    """Leave logging to the settings; Celery would install its own otherwise."""


@celeryd_after_setup.connect
def have_a_key_where_records_are_made(instance: Any, **_: Any) -> None:
    """A worker of the queue gpu starts with a key that it can sign with, in production."""
    if "gpu" in instance.app.amqp.queues.consume_from:
        from consultancy.signing import require_key

        require_key()


@celeryd_after_setup.connect
def have_a_certificate_where_contracts_are_issued(instance: Any, **_: Any) -> None:
    """A worker of the queue documents starts with a certificate that it can sign with."""
    if "documents" in instance.app.amqp.queues.consume_from:
        from engagements.documents import certificate

        certificate.own()
