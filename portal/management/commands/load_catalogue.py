"""`python -m portal load_catalogue FOLDER`: read templates; each changed file becomes a new version."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from operations.console.exits import Stop
from portal import catalogue_files


class Command(BaseCommand):
    """Reads the catalogue's files, which the platform team keeps in git."""

    help = "Read the templates of a folder (NAME.yaml) into the catalogue"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--actor", default="(command line)", help="Name for the audit trail.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = catalogue_files.load(options["folder"], options["actor"])
        except Stop as stop:
            raise CommandError(str(stop)) from stop
        self.stdout.write("\n".join(f"new: {version}" for version in made) or "nothing changed")
