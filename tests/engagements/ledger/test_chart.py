"""When the chart of accounts is written."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.apps.registry import Apps
from pytest_django import DjangoAssertNumQueries

from engagements import receivers
from engagements.ledger.models import Account

pytestmark = pytest.mark.django_db
ENGAGEMENTS = apps.get_app_config("engagements")


def test_it_is_there_once_the_tables_are() -> None:
    assert Account.objects.exists()
    before = Account.objects.count()
    receivers.create_missing_accounts(sender=ENGAGEMENTS)
    assert Account.objects.count() == before


def test_a_state_without_the_ledger_gets_no_accounts(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(0):
        receivers.create_missing_accounts(sender=ENGAGEMENTS, apps=Apps())
