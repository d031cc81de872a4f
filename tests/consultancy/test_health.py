"""The health check reports the database and the broker. test_up has the workers counted."""

import pytest
from django.conf import LazySettings
from django.test import Client

pytestmark = pytest.mark.django_db


def test_a_site_whose_broker_and_database_respond_is_healthy(
    client: Client, broker_url: str
) -> None:
    response = client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"status": "ok", "database": "ok", "broker": "ok"}


def test_a_site_without_its_broker_is_down_and_names_no_secret(
    client: Client, settings: LazySettings
) -> None:
    settings.CELERY_BROKER_URL = "redis://:hunter2@127.0.0.1:1/0"
    response = client.get("/healthz")
    assert response.status_code == 503
    assert response.json() == {"status": "down", "database": "ok", "broker": "down"}
    assert b"hunter2" not in response.content
