"""One inquiry for logs of a cluster at a time, as for tests."""

from typing import Any

from django.db import migrations, models
from django.db.models.functions import Now


def end_logs(apps: Any, _editor: Any) -> None:
    """End open inquiries for logs: no worker runs while the portal is upgraded, and two of a cluster may wait."""
    found = apps.get_model("portal", "Inquiry").objects.filter(kind="logs", state__in=("waiting", "running"))
    found.update(state="failed", said="The portal was upgraded. Ask again.", ended_at=Now())


class Migration(migrations.Migration):
    dependencies = [
        ("portal", "0008_verify_and_logs"),
    ]

    operations = [
        migrations.RunPython(end_logs, migrations.RunPython.noop),
        migrations.RemoveConstraint(model_name="inquiry", name="one_verify_of_a_cluster"),
        migrations.AddConstraint(
            model_name="inquiry",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind__in", ("verify", "logs")), ("state__in", ("waiting", "running"))),
                fields=("cluster", "kind"),
                name="one_report_of_a_cluster",
            ),
        ),
    ]
