"""People, teams and roles."""

from django.contrib.auth.models import AbstractUser
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models


class User(AbstractUser):
    """A person. is_platform: sets limits, approves, and sees the clusters of all teams."""

    is_platform = models.BooleanField("platform team", default=False)


class Team(models.Model):
    """A team. name: begins the name of each of its clusters, so it has no hyphen. month: USD of all its clusters."""

    name = models.CharField(
        max_length=10, unique=True, validators=[RegexValidator(r"^[a-z][a-z0-9]*\Z", "write a-z and 0-9, first a-z")]
    )
    month = models.PositiveIntegerField(
        "USD a month", default=1000, help_text="Limit of what all clusters of the team may cost together."
    )
    clusters_at_once = models.PositiveIntegerField(default=5, validators=[MinValueValidator(1)])
    members = models.ManyToManyField(User, through="Membership", related_name="teams")

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's role in a team."""

    class Role(models.TextChoices):
        """member: asks, extends, removes. approver: also approves what others of the team ask."""

        MEMBER = "member"
        APPROVER = "approver"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role.choices, default=Role.MEMBER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "team"], name="one_role_in_a_team")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}: {self.role}"
