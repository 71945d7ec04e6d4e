"""Secrets as files for root alone."""

import json
from typing import Any

from run import Run, Step
from writing import write_whole

from kinds.files import MODES, written


def secret_holds(run: Run, step: Step) -> bool:
    """The private file holds the secret as the store has it now."""
    return written(run.path(step["path"]), run.secret(step["secret"], step.get("member")).encode(), MODES["private"])


def make_secret(run: Run, step: Step) -> None:
    """Writes the secret for root alone."""
    text = run.secret(step["secret"], step.get("member"))
    write_whole(run.path(step["path"]), text.encode(), MODES["private"])


def encryption(run: Run, step: Step) -> bytes:
    """The API server's EncryptionConfiguration; keys are named by age, so that a new one renames none."""
    keys: list[str] = json.loads(run.secret(step["secret"], step["member"]))
    for each in keys:
        run.keep_unsaid(each)
    named = [{"name": f"key{len(keys) - place}", "secret": key} for place, key in enumerate(keys)]
    providers: list[dict[str, Any]] = [{"secretbox": {"keys": named}}, {"identity": {}}]
    document = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": step["resources"], "providers": providers}],
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def encryption_holds(run: Run, step: Step) -> bool:
    """The private file has the keys as the store has them now."""
    return written(run.path(step["path"]), encryption(run, step), MODES["private"])


def make_encryption(run: Run, step: Step) -> None:
    """Writes it for root alone."""
    write_whole(run.path(step["path"]), encryption(run, step), MODES["private"])
