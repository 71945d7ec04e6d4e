"""What tests share in which `mullion` is a recorder: events, identities, and the commands that are expected."""

from pathlib import Path

CLUSTERS = ".github/workflows/clusters.yml"
SECRET = {"MULLION_PASSPHRASE": "correct horse"}
"""Secret variable of an Azure pipeline; without it the scripts get the text $(MULLION_PASSPHRASE)."""
DISPATCH = {"pull_request": {"number": 7, "base": {"sha": "0"}, "head": {"repo": {"full_name": "me/mullion"}}}}
IDENTITIES = {
    "aws": "arn:aws:iam::111122223333:role/ci",
    "azure": "client tenant subscription",
    "gcp": "provider account",
}


RUN = (
    "run aws-ci --name NAME --ttl 2h --verify all --artifacts artifacts --set pools.windows.os=windows-2022 "
    "--set kubernetes=1.36.4 --set api.allow=\\[198.51.100.7/32\\] --yes -- bash -c kubectl\\ get\\ nodes"
)
COMMANDS = {
    "test": [RUN],
    "preview": ["preview aws-dev"],
    "apply": ["up aws-dev --yes"],
    "drift": ["drift aws-dev"],
    "bake": ["image bake aws-dev --keep 3 --yes", "image clean aws-dev"],
    "reap": ["reap --yes --max 10 --within 90m --format markdown"],
}


LONG_LIVED = ("apply", "drift", "bake")
"""Jobs of the example for GitHub that builds a long-lived cluster."""


def example(clone: Path, job: str = "test") -> str:
    """Return the example for GitHub that has a job."""
    name = "github-long-lived.yml" if job in LONG_LIVED else "github.yml"
    return (clone / "ci" / "examples" / name).read_text()


def recording(clone: Path) -> dict[str, str]:
    """Return variables that make `mullion` a recorder, and tell a runner its address."""
    return {"RECORD": str(clone / "record"), "ADDRESS_FROM": (clone / "address").as_uri()}
