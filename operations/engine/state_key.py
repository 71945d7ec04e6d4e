"""The key that encrypts a stack's state: what the stack file names, against what the built state has.

The engine encrypts the state's secrets anew with the key of the stack file at each run that writes the state, so
whoever may change the file could name a key of their own.
"""

import os
from collections.abc import Mapping
from typing import Any, cast

from operations.console.exits import Exit, Stop
from operations.stacks import stack_files

OVERRIDE = "PULUMI_CLOUD_SECRET_OVERRIDE"
"""Variable with which an operator names the provider. The engine then ignores the stack file's, and its key of another
provider (pulumi pkg/secrets/cloud/manager.go)."""

_OF_BACKEND = ("", "default", "passphrase")
"""Values of `secretsprovider` with which the backend's own key or the operator's passphrase is used."""


def is_named(name: str) -> bool:
    """Return whether the file of a stack decides which key encrypts the state."""
    return name in stack_files.names() and stack_files.secrets_provider(name) not in _OF_BACKEND and not _overridden()


def refuse_other(name: str, deployment: Mapping[str, Any]) -> None:
    """Raise Stop if the stack file names another key than the state has, or one for a state without a key.

    deployment: of an exported state; empty for a new stack.
    """
    if name not in stack_files.names() or _overridden():
        return
    provider, key = stack_files.secrets_provider(name), stack_files.encrypted_key(name)
    of_state = cast(Mapping[str, Any], deployment.get("secrets_providers") or {})
    built: Mapping[str, Any] = (of_state.get("state") or {}) if of_state.get("type") == "cloud" else {}
    named = "" if provider in _OF_BACKEND else provider
    # without a data key in the file the engine makes a new one, which the same provider encrypts
    if named == str(built.get("url") or "") and (not named or key in ("", built.get("encryptedkey"))):
        return
    file = f"stacks/Pulumi.{name}.yaml"
    if built:
        raise Stop(
            Exit.REFUSED,
            f"{file} names another key for the secrets of the state than the built state has: whoever holds that key"
            f" could read every key of the cluster; nothing was changed. Write secretsprovider: {built.get('url')}"
            " and the encryptedkey of before, or change the key of file and state together:"
            f" pulumi stack change-secrets-provider -s {name} PROVIDER",
        )
    raise Stop(
        Exit.REFUSED,
        f"{file} names a key for the secrets of the state (secretsprovider), which the state does not have: whoever"
        " holds that key could read every key of the cluster; nothing was changed. If the key is yours, name it once in"
        f" the environment too: {OVERRIDE}='{provider}'; otherwise remove secretsprovider and encryptedkey",
    )


def _overridden() -> bool:
    return bool(os.environ.get(OVERRIDE))
