"""`mullion sandbox key`: create the key that encryption_key of a stack file names, in its sandbox."""

from operations.commands.sandbox_faults import created
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files
from sandbox import keys


def create(name: str, *, disabled: bool) -> None:
    """Create the key in the sandbox, or change it. Raises Stop if the stack names none."""
    spec = stack_files.load(name).spec
    key = spec.encryption_key
    if key is None:
        raise Stop(Exit.USAGE, f"stack {name} has no encryption_key: the cloud's own key encrypts its data")
    with created(name) as cloud_state, cloud_state.transaction():
        keys.put(cloud_state, key, keys.Key(enabled=not disabled, identity=spec.encryption_identity or ""))
    print(f"the sandbox of {name} has the key, {'disabled' if disabled else 'enabled'}: {key}")
