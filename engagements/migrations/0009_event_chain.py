"""Events are chained by digest, counted by the database, and anchored."""

from itertools import groupby
from typing import Any, ClassVar

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from engagements.chain import digest_of_event

DIGEST = "^sha256:[0-9a-f]{64}$"

# An event follows the last one of its engagement, and is counted. The count has the rights of
# whoever owns the tables, so that the application's own role needs none to write it.
FOLLOWS = """
CREATE FUNCTION twofold_count_event() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    chain engagements_eventchain;
BEGIN
    SELECT * INTO chain FROM engagements_eventchain
        WHERE engagement_id = NEW.engagement_id FOR UPDATE;
    IF NEW.position IS DISTINCT FROM coalesce(chain.length, 0) + 1
        OR NEW.previous IS DISTINCT FROM coalesce(chain.head, '') THEN
        RAISE EXCEPTION 'an event follows the last one of its engagement'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    INSERT INTO engagements_eventchain (engagement_id, length, head)
        VALUES (NEW.engagement_id, NEW.position, NEW.digest)
        ON CONFLICT (engagement_id) DO UPDATE SET length = NEW.position, head = NEW.digest;
    RETURN NULL;
END $$;
CREATE TRIGGER event_is_counted AFTER INSERT ON engagements_event
    FOR EACH ROW EXECUTE FUNCTION twofold_count_event();
"""

# Depth 1 is a statement of somebody's own; the trigger above writes at depth 2.
COUNTED = """
CREATE FUNCTION twofold_check_event_chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR pg_trigger_depth() < 2 THEN
        RAISE EXCEPTION 'only the database itself counts events'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER event_chain_is_checked BEFORE INSERT OR UPDATE OR DELETE ON engagements_eventchain
    FOR EACH ROW EXECUTE FUNCTION twofold_check_event_chain();
"""


def chain(apps: Any, schema_editor: Any) -> None:
    """Chain the events that were written before, in the order in which they happened."""
    event_model = apps.get_model("engagements", "Event")
    chain_model = apps.get_model("engagements", "EventChain")
    references = dict(apps.get_model("engagements", "Engagement").objects.values_list("pk", "reference"))
    rows = event_model.objects.order_by("engagement_id", "happened_at", "pk").iterator()
    for engagement, events in groupby(rows, key=lambda event: event.engagement_id):
        previous, position = "", 0
        for position, event in enumerate(events, start=1):
            event.position, event.previous = position, previous
            event.digest = previous = digest_of_event(event, reference=references[engagement])
            event.save(update_fields=["position", "previous", "digest"])
        chain_model.objects.create(engagement_id=engagement, length=position, head=previous)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("engagements", "0008_contract_refusals")]

    operations: ClassVar = [
        migrations.AddField("event", "position", models.PositiveIntegerField(default=0, help_text="From 1, without a gap, in its engagement."), preserve_default=False),
        migrations.AddField("event", "previous", models.CharField(blank=True, default="", help_text="The digest of the event before; none for the first.", max_length=71), preserve_default=False),
        migrations.AddField("event", "digest", models.CharField(default="", max_length=71), preserve_default=False),
        migrations.CreateModel(
            name="EventChain",
            fields=[
                ("engagement", models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name="event_chain", serialize=False, to="engagements.engagement")),
                ("length", models.PositiveIntegerField()),
                ("head", models.CharField(max_length=71)),
            ],
        ),
        migrations.CreateModel(
            name="EventAnchor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(help_text="From 1, without a gap.", unique=True)),
                ("taken_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("heads", models.JSONField()),
                ("previous", models.CharField(blank=True, max_length=71)),
                ("digest", models.CharField(max_length=71)),
            ],
            options={
                "ordering": ["-number"],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(models.Q(("number", 1), ("previous", "")), models.Q(("number__gt", 1), ("previous__regex", DIGEST)), _connector="OR"), name="anchor_follows_another_unless_it_is_the_first"),
                    models.CheckConstraint(condition=models.Q(("digest__regex", DIGEST)), name="anchor_has_a_digest"),
                ],
            },
        ),
        migrations.RunSQL(
            "ALTER TABLE engagements_event DISABLE TRIGGER append_only;",
            "ALTER TABLE engagements_event ENABLE TRIGGER append_only;",
        ),
        migrations.RunPython(chain, migrations.RunPython.noop),
        # Checked now: what still waits for the end of the transaction holds up the next lines.
        migrations.RunSQL(
            "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED; "
            "ALTER TABLE engagements_event ENABLE TRIGGER append_only;",
            "ALTER TABLE engagements_event DISABLE TRIGGER append_only;",
        ),
        migrations.AddConstraint("event", models.UniqueConstraint(fields=("engagement", "position"), name="event_position_once_an_engagement")),
        migrations.AddConstraint("event", models.CheckConstraint(condition=models.Q(models.Q(("position", 1), ("previous", "")), models.Q(("position__gt", 1), ("previous__regex", DIGEST)), _connector="OR"), name="event_follows_another_unless_it_is_the_first")),
        migrations.AddConstraint("event", models.CheckConstraint(condition=models.Q(("digest__regex", DIGEST)), name="event_has_a_digest")),
        migrations.RunSQL(
            FOLLOWS,
            "DROP TRIGGER event_is_counted ON engagements_event; "
            "DROP FUNCTION twofold_count_event();",
        ),
        migrations.RunSQL(
            COUNTED,
            "DROP TRIGGER event_chain_is_checked ON engagements_eventchain; "
            "DROP FUNCTION twofold_check_event_chain();",
        ),
        migrations.RunSQL(
            "CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON engagements_eventanchor "
            "FOR EACH ROW EXECUTE FUNCTION twofold_refuse_change();",
            "DROP TRIGGER append_only ON engagements_eventanchor;",
        ),
    ]
