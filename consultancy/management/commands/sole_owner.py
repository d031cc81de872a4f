"""`manage.py sole_owner EMAIL`: let the owner of a team of one approve money alone."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, transaction

from engagements.people.approval_models import SoleOwner
from engagements.people.models import User


class Command(BaseCommand):
    help = "Let one person of finance approve alone, with a second factor; --none ends it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email", nargs="?", help="the owner's address")
        parser.add_argument("--none", action="store_true", help="require two people again")

    def handle(self, *, email: str | None, none: bool, **options: Any) -> None:
        if none == bool(email):
            raise CommandError("Name the owner's address, or --none.")
        owner = User.objects.filter(email__iexact=email or "", is_active=True).first()
        if not none and owner is None:
            raise CommandError(f"No active user has the address {email}.")
        try:
            with transaction.atomic():
                SoleOwner.objects.all().delete()
                if owner is not None:
                    SoleOwner.objects.create(user=owner)
        except DatabaseError as error:
            raise CommandError("Run this as the owner of the database.") from error
        self.stdout.write(f"{owner} approves alone" if owner else "two people approve")
