"""Subjects of the audit trail as long as names of people, which PostgreSQL refused to record.

SQLite does not enforce lengths. A table altered there is written anew, without its triggers, so it stays as it is.
"""

from typing import Any

from django.db import migrations, models


def _widen(apps: Any, editor: Any) -> None:
    if editor.connection.vendor == "postgresql":
        editor.execute("ALTER TABLE portal_event ALTER COLUMN subject TYPE varchar(150)")


class Migration(migrations.Migration):
    dependencies = [
        ("portal", "0009_one_report_of_a_cluster"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(_widen, migrations.RunPython.noop, elidable=False)],
            state_operations=[
                migrations.AlterField(
                    model_name="event",
                    name="subject",
                    field=models.CharField(db_index=True, max_length=150),
                )
            ],
        )
    ]
