"""Triggers: the database refuses to change or delete rows of the audit trail."""

from typing import Any

from django.db import migrations

SQLITE = [
    f"CREATE TRIGGER portal_event_no_{verb} BEFORE {verb} ON portal_event BEGIN "
    "SELECT RAISE(ABORT, 'the audit trail is append-only'); END"
    for verb in ("UPDATE", "DELETE")
]
FUNCTION = (
    "CREATE FUNCTION portal_event_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "RAISE EXCEPTION 'the audit trail is append-only' USING ERRCODE = 'integrity_constraint_violation'; END $$"
)
TRIGGER = (
    "CREATE TRIGGER portal_event_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON portal_event "
    "FOR EACH STATEMENT EXECUTE FUNCTION portal_event_append_only()"
)
POSTGRESQL = [FUNCTION, TRIGGER]


def _create(apps: Any, editor: Any) -> None:
    for statement in {"sqlite": SQLITE, "postgresql": POSTGRESQL}[editor.connection.vendor]:
        editor.execute(statement)


class Migration(migrations.Migration):
    """After the tables."""

    dependencies = [("portal", "0001_initial")]
    operations = [migrations.RunPython(_create, migrations.RunPython.noop, elidable=False)]
