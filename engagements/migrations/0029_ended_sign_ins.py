"""Mails to choose a password wait without their link; what ends sign-ins is counted by triggers."""

from typing import ClassVar

import django.utils.timezone
from django.db import migrations, models

# Whatever changes it, a page, a command or a hand in the database; and nothing counts it down,
# such as somebody's older copy of the row that is saved late.
COUNTED = """
CREATE FUNCTION twofold_count_access_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.access_changes := GREATEST(NEW.access_changes, OLD.access_changes);
    IF (OLD.email, OLD.role, OLD.is_active, OLD.is_staff)
        IS DISTINCT FROM (NEW.email, NEW.role, NEW.is_active, NEW.is_staff)
    THEN
        NEW.access_changes := OLD.access_changes + 1;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER access_changes_are_counted BEFORE UPDATE ON engagements_user
    FOR EACH ROW EXECUTE FUNCTION twofold_count_access_change();

CREATE FUNCTION twofold_count_membership_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (OLD.user_id, OLD.customer_id, OLD.rights)
        IS DISTINCT FROM (NEW.user_id, NEW.customer_id, NEW.rights)
    THEN
        UPDATE engagements_user SET access_changes = access_changes + 1 WHERE id = OLD.user_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER membership_changes_are_counted AFTER UPDATE OR DELETE ON engagements_membership
    FOR EACH ROW EXECUTE FUNCTION twofold_count_membership_change();
"""
NOT_COUNTED = """
DROP TRIGGER membership_changes_are_counted ON engagements_membership;
DROP FUNCTION twofold_count_membership_change();
DROP TRIGGER access_changes_are_counted ON engagements_user;
DROP FUNCTION twofold_count_access_change();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("engagements", "0028_target_in_words")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="PasswordMail",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("address", models.EmailField(max_length=320, unique=True)),
                ("origin", models.CharField(max_length=300)),
                (
                    "asked_at",
                    models.DateTimeField(default=django.utils.timezone.now, editable=False),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
            ],
        ),
        migrations.AddField(
            model_name="user",
            name="access_changes",
            field=models.PositiveIntegerField(default=0, editable=False),
        ),
        migrations.RunSQL(COUNTED, NOT_COUNTED),
    ]
