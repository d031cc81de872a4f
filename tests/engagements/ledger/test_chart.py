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
    receivers.write_chart(sender=ENGAGEMENTS)
    assert Account.objects.count() == before


def test_who_migrates_back_to_before_the_ledger_is_not_asked_for_its_table(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(0):
        receivers.write_chart(sender=ENGAGEMENTS, apps=Apps())
