"""Reading the catalogue's files into the database: a changed file is a new version of its template."""

import json
from pathlib import Path

import yaml
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import transaction
from pydantic import ValidationError as Malformed

from operations.console.exits import Exit, Stop
from portal import audit
from portal.models import Template, Version
from portal.planning import Offer

SHIPPED = Path(__file__).parent / "catalogue"
"""Folder of the demo's templates."""


def load(folder: Path, actor: str) -> list[Version]:
    """Read each `NAME.yaml` of a folder. Return the versions that are new. Raises Stop for a file that is wrong."""
    return [version for path in sorted(folder.glob("*.yaml")) if (version := _load(path, actor))]


def _load(path: Path, actor: str) -> Version | None:
    try:
        validate_slug(path.stem)
        offer = Offer.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except (OSError, yaml.YAMLError, Malformed, ValidationError) as error:
        raise Stop(Exit.USAGE, f"{path}: {error}; see docs/portal.md for what a template has") from error
    with transaction.atomic():
        template, _ = Template.objects.get_or_create(name=path.stem)
        newest = Version.objects.filter(template=template).order_by("-number").first()
        if newest and _same(newest, offer):
            return None
        document = json.loads(offer.model_dump_json())
        made = Version.objects.create(template=template, number=newest.number + 1 if newest else 1, document=document)
        audit.record(actor, "template.version", template.name, detail={"number": made.number})
    return made


def _same(version: Version, offer: Offer) -> bool:
    """Return whether a version has this offer; one that a former version of the portal wrote may lack new keys."""
    try:
        return version.offer == offer
    except Malformed:
        return False
