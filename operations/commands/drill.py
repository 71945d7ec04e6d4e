"""`mullion restore STACK --drill`: have the control plane restore a snapshot beside the running etcd, and read it.

The active control-plane agent does it (cloud-init/linux/agent/drills.py). Nothing of the cluster is changed.
"""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from components.rollout.plain_text import HUGE, plain
from operations.commands.configmap_requests import asked
from operations.commands.snapshot_keys import age
from operations.console.exits import Exit, Stop
from operations.console.table import table

NAME = "mullion-drill"
"""Name of the ConfigMap with the request."""

Count = Annotated[int, Field(ge=0, lt=int(HUGE))]
Text = Annotated[str, Field(min_length=1, max_length=300)]


class Answer(BaseModel):
    """What an agent writes after a drill. Others can write the ConfigMap too."""

    model_config = ConfigDict(strict=True)

    snapshot: Text
    machine: Text
    seconds: Count
    keys: Count
    readable: Count
    counts: dict[str, Annotated[list[Count], Field(min_length=2, max_length=2)]]
    """Numbers of objects by kind, in the snapshot and in the cluster now."""

    @field_validator("counts")
    @classmethod
    def _is_whole(cls, counts: dict[str, list[int]]) -> dict[str, list[int]]:
        """Refuse counts without the kinds that decide whether the snapshot is usable."""
        if missing := {"namespaces", "secrets"} - counts.keys():
            raise ValueError(f"{min(missing)} is missing")
        return counts


def drill(name: str, snapshot: str | None, place: str, kubeconfig: Path | None) -> None:
    """Request a drill, wait for the agent, and print what the restored etcd has. Raises Stop if it is not usable."""
    answer = asked(name, kubeconfig, NAME, {"from": place, "snapshot": snapshot or ""}, "a drill")
    if "error" in answer:
        raise Stop(Exit.FAILED, f"the control plane of {name} could not restore a snapshot: {plain(answer['error'])}")
    found = checked(name, answer, snapshot)
    print(text(name, place, found))
    if faults := problems(found):
        raise Stop(Exit.FAILED, "\n".join([f"{name}: the snapshot is restored, but not usable:", *faults]))


def refuse_mixed(*, drill: bool, listed: bool, confirmed: bool, kubeconfig: Path | None) -> None:
    """Raise Stop if options of a drill and of a restore are mixed: one of them would have no effect."""
    if drill and (listed or confirmed):
        raise Stop(Exit.USAGE, "--drill changes nothing and lists nothing: leave out --list and --confirm")
    if kubeconfig and not drill:
        raise Stop(Exit.USAGE, "--kubeconfig is for --drill: a restore does not use the API")


def checked(name: str, answer: dict[str, Any], snapshot: str | None) -> Answer:
    """Return the answer. Raise Stop if no agent can have written it, or if it is about another snapshot."""
    try:
        found = Answer.model_validate(answer)
    except ValidationError as error:
        field = ".".join(str(each) for each in error.errors()[0]["loc"])
        why = f"{plain(field)[:100]}: {error.errors()[0]['msg']}"
    else:
        if snapshot in (None, found.snapshot):
            return found
        why = f"it is about {plain(found.snapshot)}"
    raise Stop(
        Exit.FAILED,
        f"the answer in the ConfigMap kube-system/{NAME} of {name} is not one of an agent ({why}). Find out who else"
        " writes ConfigMaps of kube-system, and run the command again",
    )


def text(name: str, place: str, answer: Answer) -> str:
    """Return the result for people."""
    key, machine = plain(answer.snapshot), plain(answer.machine)
    rows = [(plain(kind)[:100], f"{old}", f"{now}") for kind, (old, now) in sorted(answer.counts.items())]
    where = "the copies" if place == "copy" else "the snapshot store"
    return (
        f"{name}: {key} ({age(key)} old) of {where} was restored on {machine} in {answer.seconds} s, read, and"
        f" removed\n{table(('objects', 'in the snapshot', 'in the cluster now'), rows)}\n"
        f"{answer.keys} keys in all; {answer.readable} of {_secrets(answer)} Secrets have an encryption key that"
        " the control plane has"
    )


def problems(answer: Answer) -> list[str]:
    """Return why the restored data would make no cluster; empty if nothing speaks against it."""
    found = list[str]()
    if not answer.counts["namespaces"][0]:
        found.append("it has no namespace")
    if answer.readable < _secrets(answer):
        found.append(
            f"{_secrets(answer) - answer.readable} Secrets are encrypted with keys that the secret store does not"
            " have: restore the state or the secret `pki` that had them (docs/pki.md)"
        )
    return found


def _secrets(answer: Answer) -> int:
    return answer.counts["secrets"][0]
