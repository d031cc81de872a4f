"""A reminder's mails are sent by the outbox, so the reminder itself never changes."""

from typing import ClassVar

from django.db import migrations

APPEND_ONLY = """
DROP TRIGGER reminder_is_checked ON engagements_reminder;
DROP FUNCTION twofold_check_reminder();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON engagements_reminder
    FOR EACH ROW EXECUTE FUNCTION twofold_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("engagements", "0017_digests_are_looked_up")]

    operations: ClassVar = [
        migrations.RemoveField(model_name="reminder", name="recipients"),
        migrations.RemoveField(model_name="reminder", name="sent_at"),
        migrations.RunSQL(APPEND_ONLY),
    ]
