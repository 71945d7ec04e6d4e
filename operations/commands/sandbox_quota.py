"""`mullion sandbox quota`: show and change the quotas of the account in a stack's sandbox."""

import importlib
from contextlib import nullcontext

from operations.commands.sandbox_faults import created, opened
from operations.console.exits import Exit, Stop
from operations.console.table import table
from operations.stacks import stack_files, target
from sandbox.clouds import CLOUDS
from sandbox.quotas import Quotas


def show(name: str) -> None:
    """Print the quotas, with the limit of a new account and that of this sandbox."""
    quotas = _quotas(name)
    with opened(name) if target.cloud_state_file(name).exists() else nullcontext() as cloud_state:
        rows = [
            (each, row.default, quotas.limit(cloud_state, each) if cloud_state else row.granted or row.default)
            for each, row in quotas.rows.items()
        ]
    print(table(("quota", "new account", "here"), rows))


def change(name: str, quota: str, limit: int) -> None:
    """Set a quota of the sandbox's account. Raises Stop if it is unknown."""
    quotas = _quotas(name)
    if quota not in quotas.rows:
        known = "\n  ".join(quotas.rows)
        raise Stop(Exit.USAGE, f"the sandbox has no quota {quota!r}; its quotas are:\n  {known}")
    with created(name) as cloud_state, cloud_state.transaction():
        cloud_state.set_setting(f"quota/{quota}", f"{limit}")
    print(f"the account in the sandbox of {name} has the quota {quota}: {limit}")


def _quotas(name: str) -> Quotas:
    cloud = stack_files.load(name).spec.cloud.value
    return importlib.import_module(f"{CLOUDS[cloud].package}.quotas").QUOTAS
