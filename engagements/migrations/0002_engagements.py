"""Engagements and the time that is spent on them; what happened, by whom."""

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.models import PROTECT, F, Q
from django.utils.timezone import now


class Migration(migrations.Migration):
    replaces: ClassVar = [("engagements", "0009_event_chain"), ("engagements", "0027_time_boxes")]

    dependencies: ClassVar = [("engagements", "0001_people")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Engagement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reference", models.SlugField(max_length=20, unique=True)),
                ("title", models.CharField(max_length=160)),
                ("workload", models.TextField(help_text="The workload in the customer's words.")),
                (
                    "stage",
                    models.CharField(
                        choices=[
                            ("scoping", "Scoping"),
                            ("auditing", "Auditing"),
                            ("audited", "Audited"),
                            ("offered", "Offered"),
                            ("active", "Active"),
                            ("met", "Target met"),
                            ("missed", "Target missed"),
                            ("closed", "Closed"),
                            ("redirected", "Redirected"),
                            ("declined", "Declined"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="scoping",
                        max_length=12,
                    ),
                ),
                ("opened_at", models.DateTimeField(default=now, editable=False)),
                ("stage_since", models.DateTimeField(default=now, editable=False)),
                (
                    "customer",
                    models.ForeignKey(on_delete=PROTECT, related_name="engagements", to="engagements.customer"),
                ),
                (
                    "lead",
                    models.ForeignKey(on_delete=PROTECT, related_name="engagements_led", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "ordering": ["-opened_at", "-pk"],
                "constraints": [
                    models.CheckConstraint(
                        name="engagement_stage_is_known",
                        condition=Q(
                            stage__in=[
                                "scoping",
                                "auditing",
                                "audited",
                                "offered",
                                "active",
                                "met",
                                "missed",
                                "closed",
                                "redirected",
                                "declined",
                                "cancelled",
                            ]
                        ),
                        violation_error_message="An engagement is in one of the known stages.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TimeBox",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("starts_on", models.DateField()),
                ("ends_on", models.DateField()),
                (
                    "engagement",
                    models.OneToOneField(on_delete=PROTECT, related_name="time_box", to="engagements.engagement"),
                ),
            ],
            options={
                "verbose_name": "time-box",
                "verbose_name_plural": "time-boxes",
                "constraints": [
                    models.CheckConstraint(
                        name="time_box_ends_after_it_starts",
                        condition=Q(ends_on__gt=F("starts_on")),
                        violation_error_message="A time-box ends after it starts.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TimeEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("worked_on", models.DateField()),
                ("hours", models.DecimalField(decimal_places=2, max_digits=4)),
                ("note", models.CharField(max_length=200)),
                ("request_key", models.UUIDField(editable=False, unique=True)),
                ("created_at", models.DateTimeField(default=now, editable=False)),
                ("consultant", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                (
                    "engagement",
                    models.ForeignKey(on_delete=PROTECT, related_name="time_entries", to="engagements.engagement"),
                ),
            ],
            options={
                "verbose_name_plural": "time entries",
                "ordering": ["-worked_on", "-pk"],
                "constraints": [
                    models.CheckConstraint(
                        name="time_entry_hours_fit_a_day",
                        condition=Q(hours__gt=0, hours__lte=24),
                        violation_error_message="A day has more than 0 and at most 24 hours.",
                    ),
                    models.CheckConstraint(
                        name="time_entry_says_what_was_done",
                        condition=~Q(note=""),
                        violation_error_message="Say in a few words what was done.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TimeBoxWarning",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("ends_on", models.DateField()),
                (
                    "threshold",
                    models.CharField(
                        choices=[
                            ("half", "Half of the time-box is used"),
                            ("most", "80% of the time-box is used"),
                            ("week", "One week is left"),
                            ("day", "One day is left"),
                            ("over", "The time-box is over"),
                        ],
                        max_length=4,
                    ),
                ),
                ("is_mailed", models.BooleanField()),
                ("noted_at", models.DateTimeField(default=now, editable=False)),
                (
                    "engagement",
                    models.ForeignKey(on_delete=PROTECT, related_name="time_box_warnings", to="engagements.engagement"),
                ),
            ],
            options={
                "verbose_name": "time-box warning",
                "ordering": ["noted_at", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("engagement", "ends_on", "threshold"), name="time_box_warning_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("verb", models.CharField(help_text="As in contract.accepted.", max_length=60)),
                ("summary", models.CharField(max_length=300)),
                ("actor_name", models.CharField(max_length=160)),
                ("address", models.GenericIPAddressField(blank=True, null=True, verbose_name="IP address")),
                ("changes", models.JSONField(default=dict)),
                (
                    "for_customer",
                    models.BooleanField(default=False, help_text="Shown to the customer's people in the portal."),
                ),
                ("happened_at", models.DateTimeField(default=now, editable=False)),
                (
                    "actor",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
                (
                    "engagement",
                    models.ForeignKey(on_delete=PROTECT, related_name="events", to="engagements.engagement"),
                ),
                ("position", models.PositiveIntegerField(help_text="From 1, without a gap, in its engagement.")),
                (
                    "previous",
                    models.CharField(
                        blank=True, help_text="The digest of the event before; none for the first.", max_length=71
                    ),
                ),
                ("digest", models.CharField(max_length=71)),
            ],
            options={
                "ordering": ["-happened_at", "-pk"],
                "indexes": [models.Index(fields=["engagement", "-happened_at"], name="engagements_engagem_6f1b60_idx")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("engagement", "position"), name="event_position_once_an_engagement"
                    ),
                    models.CheckConstraint(
                        name="event_follows_another_unless_it_is_the_first",
                        condition=Q(position=1, previous="")
                        | Q(position__gt=1, previous__regex="^sha256:[0-9a-f]{64}$"),
                    ),
                    models.CheckConstraint(
                        name="event_has_a_digest", condition=Q(digest__regex="^sha256:[0-9a-f]{64}$")
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EventChain",
            fields=[
                (
                    "engagement",
                    models.OneToOneField(
                        on_delete=PROTECT,
                        primary_key=True,
                        related_name="event_chain",
                        serialize=False,
                        to="engagements.engagement",
                    ),
                ),
                ("length", models.PositiveIntegerField()),
                ("head", models.CharField(max_length=71)),
            ],
        ),
        migrations.CreateModel(
            name="EventAnchor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(help_text="From 1, without a gap.", unique=True)),
                ("taken_at", models.DateTimeField(default=now, editable=False)),
                ("heads", models.JSONField()),
                ("previous", models.CharField(blank=True, max_length=71)),
                ("digest", models.CharField(max_length=71)),
            ],
            options={
                "ordering": ["-number"],
                "constraints": [
                    models.CheckConstraint(
                        name="anchor_follows_another_unless_it_is_the_first",
                        condition=Q(number=1, previous="") | Q(number__gt=1, previous__regex="^sha256:[0-9a-f]{64}$"),
                    ),
                    models.CheckConstraint(
                        name="anchor_has_a_digest", condition=Q(digest__regex="^sha256:[0-9a-f]{64}$")
                    ),
                ],
            },
        ),
    ]
