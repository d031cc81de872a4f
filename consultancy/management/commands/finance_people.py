"""Give the finance role to the first people of finance."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from engagements.people.models import Role, User


class Command(BaseCommand):
    """`python manage.py finance_people EMAIL EMAIL`, run as the owner of the database.

    On the site two people of finance confirm a third; this command makes the first two.
    """

    help = "Give the finance role, as the owner of the database, where finance has nobody to ask."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", nargs="+", help="the users, by their email addresses")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        for email in options["email"]:
            user = User.objects.filter(email__iexact=email, is_active=True).first()
            if user is None:
                raise CommandError(f"No active user has the address {email}.")
            user.role, user.is_staff, user.is_superuser = Role.FINANCE, False, False
            user.save()
            self.stdout.write(f"{user} belongs to finance.")
