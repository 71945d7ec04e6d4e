"""`mullion sandbox quota`: show and change the quotas of the account in a stack's sandbox."""

import importlib

from operations.console.exits import Exit, Stop
from operations.console.table import table
from operations.engine.workspace import prepare
from operations.stacks import stack_files, target


def show(name: str) -> None:
    """Print the quotas, with the limit of a new account and that of this sandbox."""
    from sandbox.cloud_state import CloudState

    quotas, path = _quotas(name), target.cloud_state_file(name)
    cloud_state = CloudState(path) if path.exists() else None
    try:
        rows = [
            (each, row.default, quotas.limit(cloud_state, each) if cloud_state else row.granted or row.default)
            for each, row in quotas.rows.items()
        ]
    finally:
        if cloud_state:
            cloud_state.close()
    print(table(("quota", "new account", "here"), rows))


def change(name: str, quota: str, limit: int) -> None:
    """Set a quota of the sandbox's account. Raises Stop if it is unknown."""
    from sandbox.cloud_state import CloudState

    quotas = _quotas(name)
    if quota not in quotas.rows:
        known = "\n  ".join(quotas.rows)
        raise Stop(Exit.USAGE, f"the sandbox has no quota {quota!r}; its quotas are:\n  {known}")
    prepare(target.sandbox_folder(name))
    cloud_state = CloudState(target.cloud_state_file(name))
    try:
        with cloud_state.transaction():
            cloud_state.set_setting(f"quota/{quota}", f"{limit}")
    finally:
        cloud_state.close()
    print(f"the account in the sandbox of {name} has the quota {quota}: {limit}")


def _quotas(name: str):  # noqa: ANN202 - sandbox.quotas.Quotas, which only sandboxes import
    from sandbox.clouds import CLOUDS

    cloud = stack_files.load(name).spec.cloud.value
    return importlib.import_module(f"{CLOUDS[cloud].package}.quotas").QUOTAS
