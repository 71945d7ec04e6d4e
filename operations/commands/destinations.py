"""Where a stack is built: the sandbox, or an account and a region of its cloud, and by which identity."""

import sys

from components.spec.report import SpecError
from operations.clouds import cloud_tables
from operations.clouds.identity import Identity, of_stack
from operations.stacks import account as identity
from operations.stacks import stack_files, target
from operations.stacks.target import SANDBOX, Target


def of(name: str, cloud: str, region: str, *, sandbox: bool) -> Target:
    """Return the sandbox, or the cloud with the account that the stack file's identity reaches, and the region."""
    if sandbox:
        return Target(SANDBOX)
    return Target(cloud, identity.account(cloud_tables.CLOUDS[cloud], _used(name, cloud)), region)


def _used(name: str, cloud: str) -> Identity:
    """Return the identity that a stack file chooses; the default one if the file is invalid, so that `down` works."""
    try:
        return of_stack(cloud, stack_files.config(name))
    except SpecError:
        return Identity()


def known(name: str) -> tuple[str, str, bool]:
    """Return cloud, region and protection of the stack file.

    If the file is invalid, return the recorded cloud, so that `down` still works.
    """
    remembered = target.recall(name)
    cloud = remembered.name if remembered and remembered.name in cloud_tables.CLOUDS else cloud_tables.AWS.name
    if stack_files.gone(name):
        return cloud, "", False
    try:
        stack = stack_files.load(name)
    except SpecError as error:
        print(f"mullion: {error}", file=sys.stderr)
        return cloud, "", False
    return stack.spec.cloud.value, stack.region, stack.spec.protect


def where(name: str, destination: Target) -> str:
    """Return account, identity and region in words."""
    cloud, used = cloud_tables.CLOUDS[destination.name], _used(name, destination.name)
    unknown = cloud.unknown if used.certain else "unknown (the stack file sets its own credentials)"
    account, profile = destination.account or unknown, "" if used.account else " ".join(used.options)
    return f"account {account} by {profile or identity.chosen(cloud)}, region {destination.region or 'unknown'}"
