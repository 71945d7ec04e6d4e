"""Key files of the API server: encryption at rest, and service-account tokens."""

import json
import re
from pathlib import Path
from typing import Any

from run import Run, Step
from writing import write_whole

from kinds.files import MODES, written


def encryption_keys(run: Run, step: Step) -> dict[int, str]:
    """Return the encryption keys by number. Numbers count from the oldest, so a new key renumbers none."""
    found: list[str] = json.loads(run.secret(step["secret"], step["member"]))
    for each in found:
        run.keep_unsaid(each)
    return {len(found) - place: key for place, key in enumerate(found)}  # the secret has the newest first


def numbers(file: Path) -> list[int]:
    """Return the key numbers of a configuration file in its order (the first one encrypts), or an empty list."""
    return [int(each) for each in re.findall(r'"name": "key(\d+)"', file.read_text())] if file.exists() else []


def encryption(run: Run, step: Step, first: int = 0) -> bytes:
    """Return the API server's EncryptionConfiguration, with key number `first` as the one that encrypts.

    With 0 the current first key stays, because only the agent changes it (agent/keys.py). On a new machine it is the
    second newest key, which every other API server can read, even during a rotation.
    """
    found = encryption_keys(run, step)
    first = first or next((each for each in numbers(run.path(step["path"])) if each in found), max(len(found) - 1, 1))
    order = sorted(found, key=lambda number: (number != first, -number))
    named = [{"name": f"key{number}", "secret": found[number]} for number in order]
    providers: list[dict[str, Any]] = [{"secretbox": {"keys": named}}, {"identity": {}}]
    document = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": step["resources"], "providers": providers}],
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def encryption_holds(run: Run, step: Step) -> bool:
    """Return whether the private file has the keys that the store has now, whichever comes first."""
    return written(run.path(step["path"]), encryption(run, step), MODES["private"])


def make_encryption(run: Run, step: Step) -> None:
    """Write the configuration with mode 0600."""
    write_whole(run.path(step["path"]), encryption(run, step), MODES["private"])


def signers(run: Run, step: Step) -> dict[int, dict[str, Any]]:
    """Return the service-account keys by number; numbers count from the oldest."""
    found = json.loads(run.secret(step["secret"], step["member"]))
    for each in found:
        run.keep_unsaid(each["private"])
    return {each["number"]: each for each in found}


def signing(run: Run, step: Step) -> int:
    """Return the number of the key that this machine signs with; 0 if there is none or the secret no longer has it."""
    file = run.path(step["private"])
    text = file.read_text() if file.exists() else ""
    return next((number for number, each in signers(run, step).items() if each["private"] == text), 0)


def verifying(run: Run, step: Step) -> list[int]:
    """Return the numbers of the keys whose tokens this machine accepts."""
    file = run.path(step["public"])
    text = file.read_text() if file.exists() else ""
    return [number for number, each in signers(run, step).items() if each["public"] in text]


def signer_files(run: Run, step: Step, first: int = 0) -> dict[str, bytes]:
    """Return both files' content by path, the public keys first, with key number `first` as the one that signs.

    With 0 the current signing key stays, because only the agent changes it (agent/keys.py). On a new machine it is the
    oldest key, whose tokens every other API server accepts, even during a rotation.
    """
    found = signers(run, step)
    first = first or signing(run, step) or min(found)
    order = sorted(found, key=lambda number: (number != first, -number))
    public = "".join(found[number]["public"] for number in order)
    return {step["public"]: public.encode(), step["private"]: found[first]["private"].encode()}


def signers_hold(run: Run, step: Step) -> bool:
    """Return whether the private files have the keys that the store has now, whichever signs."""
    return all(written(run.path(name), text, MODES["private"]) for name, text in signer_files(run, step).items())


def make_signers(run: Run, step: Step) -> None:
    """Write both files with mode 0600."""
    for name, text in signer_files(run, step).items():
        write_whole(run.path(name), text, MODES["private"])
