"""From a malicious stack file that names a key for the state: a change that a reviewer may overlook.

Seen in: the standard error of the command, with the stack file's name and what its key could read.
"""

from pathlib import Path
from typing import Any

import pytest
from pulumi import automation as auto

from operations.console.exits import Stop
from operations.engine import state_key, workspace
from operations.engine.locate import Engine, Origin
from operations.engine.process import EngineCommand
from operations.recovery import recovery
from tests import clones
from tests.operations.conftest import STACK

ENGINE = EngineCommand(Engine(Path("/nowhere/pulumi"), "3.230.0", Origin.PATH))
"""An engine that the tests do not start."""

OURS, THEIRS = "awskms://alias/ours?region=eu-west-1", "awskms://arn:aws:kms:eu-west-1:999999999999:key/evil"
KMS = {"secrets_providers": {"type": "cloud", "state": {"url": OURS, "encryptedkey": "b3Vycw=="}}}
PASSPHRASE = {"secrets_providers": {"type": "passphrase", "state": {"salt": "v1:a:v1:b:c"}}}
SERVICE = {"secrets_providers": {"type": "service", "state": {"url": "https://api.pulumi.com"}}}


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that writes the stack file with these lines before `config`."""
    clones.work_in(tmp_path, monkeypatch)
    monkeypatch.delenv(state_key.OVERRIDE, raising=False)
    return lambda lines: clones.write(tmp_path, "small", f"{lines}{STACK}")


def _key(provider: str, key: str = "b3Vycw==") -> str:
    return f"secretsprovider: {provider}\nencryptedkey: {key}\n"


@pytest.mark.parametrize("deployment", [KMS, PASSPHRASE, SERVICE, {}], ids=["kms", "passphrase", "service", "new"])
def test_the_state_is_not_encrypted_with_a_key_of_the_stack_file(
    deployment: dict[str, Any], written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Name your key in the stack file, so that the next `up` encrypts every key of the cluster with it.

    Refused by: commands that start the engine, unless the state has that key or the operator's environment names it.
    """
    written(_key(THEIRS))
    with pytest.raises(Stop, match="could read every key") as stop:
        state_key.refuse_other("small", deployment)
    assert str(stop.value).startswith("stacks/Pulumi.small.yaml names")
    monkeypatch.setenv(state_key.OVERRIDE, THEIRS)
    state_key.refuse_other("small", deployment)


@pytest.mark.parametrize("lines", [_key(OURS, "ZXZpbA=="), ""], ids=["other-data-key", "removed"])
def test_a_data_key_of_the_stack_file_is_not_taken(lines: str, written: Any) -> None:
    """Write a data key that you know under the operator's provider, or remove the provider.

    Refused by: commands that start the engine, which compare both with the state.
    """
    written(lines)
    with pytest.raises(Stop, match="another key for the secrets of the state"):
        state_key.refuse_other("small", KMS)


def test_the_file_is_compared_before_the_engine_opens_its_key(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `mullion preview` send the operator's credentials to the server of your key.

    Refused by: commands that start the engine, before anything but the selection and export of the stack.
    """
    written(_key(THEIRS))
    monkeypatch.setattr(workspace, "Run", lambda *_: object())
    monkeypatch.setattr(workspace, "export", lambda _: {"deployment": KMS})
    with pytest.raises(Stop, match="another key"):
        workspace.existing("small", auto.LocalWorkspace(work_dir=str(workspace.REPOSITORY), pulumi_command=ENGINE))


@pytest.mark.parametrize("run", [None, object()], ids=["new", "built"])
def test_up_and_down_compare_the_key_before_they_write(
    run: object, written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let `mullion up` create a stack with your key, or remove the key of a built one.

    Refused by: `up` and `down`, before they create the stack or write its state.
    """
    written("" if run else _key(THEIRS))
    monkeypatch.setattr(recovery.locks, "cancel_dead", lambda *_: [])
    monkeypatch.setattr(recovery, "existing", lambda *_: run)
    monkeypatch.setattr(recovery, "export", lambda _: {"deployment": KMS})
    with pytest.raises(Stop, match="key for the secrets of the state"):
        recovery.ready("small", auto.LocalWorkspace(work_dir="/", pulumi_command=ENGINE), None)


@pytest.mark.parametrize(
    ("lines", "deployment"),
    [
        ("", {}), ("", PASSPHRASE), ("", SERVICE), ("encryptionsalt: v1:a:v1:b:c\n", PASSPHRASE),
        ("secretsprovider: passphrase\n", {}), ("secretsprovider: default\n", SERVICE), (_key(OURS), KMS),
        (f"secretsprovider: {OURS}\n", KMS),
    ],
)  # fmt: skip
def test_keys_of_the_backend_and_of_the_state_stay_possible(
    lines: str, deployment: dict[str, Any], written: Any
) -> None:
    """Not an attack: Pulumi Cloud, passphrases, and a stack that was made with a key."""
    written(lines)
    state_key.refuse_other("small", deployment)
