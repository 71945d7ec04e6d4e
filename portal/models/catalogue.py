"""Templates and their versions. A cluster keeps the version of its request."""

from typing import Any

from django.db import models


class Template(models.Model):
    """An entry of the catalogue. newest: the version that new requests use."""

    name = models.SlugField(max_length=40, unique=True)
    withdrawn = models.BooleanField(default=False, help_text="No new requests; existing clusters stay.")

    def __str__(self) -> str:
        return self.name

    @property
    def newest(self) -> "Version":
        """The version with the highest number."""
        found = Version.objects.filter(template=self).order_by("-number").first()
        if found is None:
            raise Version.DoesNotExist(f"template {self.name} has no version")
        return found


class Version(models.Model):
    """One version of a template. document: the checked values of its file (portal/planning.py, Offer)."""

    template = models.ForeignKey(Template, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    document = models.JSONField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["template__name", "-number"]
        constraints = [models.UniqueConstraint(fields=["template", "number"], name="one_number_of_a_template")]

    def __str__(self) -> str:
        return f"{self.template} {self.number}"

    @property
    def offer(self) -> Any:
        """The document as `planning.Offer`."""
        from portal.planning import Offer

        return Offer.model_validate(self.document)
