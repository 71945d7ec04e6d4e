"""People, teams, roles, and tokens of the API."""

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models


class User(AbstractUser):
    """A person, or a service. is_platform: sets limits, approves, and sees the clusters of all teams.

    scope: in a call of the API, the only team whose objects are visible. token: that of the call. Both are not stored.
    """

    is_platform = models.BooleanField("platform team", default=False)
    is_service = models.BooleanField("service", default=False, help_text="Calls the API by tokens; cannot sign in.")
    subject = models.CharField(
        max_length=400,
        unique=True,
        null=True,
        blank=True,
        editable=False,
        help_text="Issuer and subject of OpenID Connect.",
    )
    scope: "Team | None" = None
    token: "Token | None" = None

    @property
    def actor(self) -> str:
        """The name in the audit trail."""
        return f"{self.username} (token {self.token.name})" if self.token else self.username

    @property
    def token_key(self) -> str:
        """Key by which the limits of calls are counted."""
        return str(self.token.pk if self.token else "")


class Team(models.Model):
    """A team. name: begins the name of each of its clusters, so it has no hyphen. month: USD of all its clusters."""

    name = models.CharField(
        max_length=10, unique=True, validators=[RegexValidator(r"^[a-z][a-z0-9]*\Z", "write a-z and 0-9, first a-z")]
    )
    month = models.PositiveIntegerField(
        "USD a month", default=1000, help_text="Limit of what all clusters of the team may cost together."
    )
    clusters_at_once = models.PositiveIntegerField(default=5, validators=[MinValueValidator(1)])
    memberships: "models.Manager[Membership]"
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


class Token(models.Model):
    """A right to call the API as `user`, within one team. made_by differs from user for a token of a service.

    digest: SHA-256 of the token in hex. The token itself has 256 random bits, so a slow hash would add nothing.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=30)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"
