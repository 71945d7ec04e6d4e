"""Key files of the API server: encryption at rest, and service-account tokens."""

import json
import re
from pathlib import Path
from typing import Any

from run import Run, Step
from writing import write_whole

from kinds.files import MODES, written


def encryption_keys(run: Run, step: Step) -> dict[int, str]:
    """The keys of encryption at rest by their number, which is their age: so that a new one renumbers none."""
    found: list[str] = json.loads(run.secret(step["secret"], step["member"]))
    for each in found:
        run.keep_unsaid(each)
    return {len(found) - place: key for place, key in enumerate(found)}  # the secret has the newest first


def numbers(file: Path) -> list[int]:
    """Numbers of the keys that a configuration has, in its order: the first is written with. Empty where none is."""
    return [int(each) for each in re.findall(r'"name": "key(\d+)"', file.read_text())] if file.exists() else []


def encryption(run: Run, step: Step, first: int = 0) -> bytes:
    """The API server's EncryptionConfiguration: `first` is the number of the key that it shall write with.

    0: the one that it writes with now, because the agent alone changes that (agent/keys.py); on a new machine the
    newest but one, which every other API server reads whatever is under way.
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
    """The private file has the keys that the store has now; which is first, is the agent's to say."""
    return written(run.path(step["path"]), encryption(run, step), MODES["private"])


def make_encryption(run: Run, step: Step) -> None:
    """Writes it for root alone."""
    write_whole(run.path(step["path"]), encryption(run, step), MODES["private"])


def signers(run: Run, step: Step) -> dict[int, dict[str, Any]]:
    """The keys of service-account tokens by their number, which is their age."""
    found = json.loads(run.secret(step["secret"], step["member"]))
    for each in found:
        run.keep_unsaid(each["private"])
    return {each["number"]: each for each in found}


def signing(run: Run, step: Step) -> int:
    """Number of the key that this machine signs with; 0 where the secret has it no more, or there is none."""
    file = run.path(step["private"])
    text = file.read_text() if file.exists() else ""
    return next((number for number, each in signers(run, step).items() if each["private"] == text), 0)


def verifying(run: Run, step: Step) -> list[int]:
    """Numbers of the keys whose tokens this machine takes."""
    file = run.path(step["public"])
    text = file.read_text() if file.exists() else ""
    return [number for number, each in signers(run, step).items() if each["public"] in text]


def signer_files(run: Run, step: Step, first: int = 0) -> dict[str, bytes]:
    """Both files by their place, the public keys first: `first` is the number of the key that shall sign.

    0: the one that signs now, because the agent alone changes that (agent/keys.py); on a new machine the oldest, whose
    tokens every other API server takes whatever is under way.
    """
    found = signers(run, step)
    first = first or signing(run, step) or min(found)
    order = sorted(found, key=lambda number: (number != first, -number))
    public = "".join(found[number]["public"] for number in order)
    return {step["public"]: public.encode(), step["private"]: found[first]["private"].encode()}


def signers_hold(run: Run, step: Step) -> bool:
    """The private files have the keys that the store has now; which of them signs, is the agent's to say."""
    return all(written(run.path(name), text, MODES["private"]) for name, text in signer_files(run, step).items())


def make_signers(run: Run, step: Step) -> None:
    """Writes them for root alone."""
    for name, text in signer_files(run, step).items():
        write_whole(run.path(name), text, MODES["private"])
