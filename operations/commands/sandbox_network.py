"""`mullion sandbox network`: create in a stack's sandbox the networks of the user that its stack file names."""

from components import naming
from operations.commands.sandbox_faults import created
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files
from sandbox import existing_network
from sandbox.cloud import Refusal


def create(name: str) -> None:
    """Create the networks in the sandbox. Raises Stop if the stack names none, or if they exist already."""
    stack = stack_files.load(name)
    named = existing_network.named(stack.spec)
    if not named:
        raise Stop(Exit.USAGE, f"stack {name} has no network.existing: its network is created by `mullion up`")
    with created(name) as cloud_state:
        if any(existing_network.is_yours(each.urn) for each in cloud_state.resources()):
            raise Stop(Exit.REFUSED, f"the sandbox of {name} has a network of yours already; nothing was changed")
        try:
            existing_network.create(cloud_state, stack.spec, stack.region, naming.zone_name(name))
        except Refusal as refusal:
            raise Stop(Exit.FAILED, f"the sandbox refuses the network of {name}: {refusal}") from refusal
        made = [each for each in cloud_state.resources() if existing_network.is_yours(each.urn)]
    print(f"{len(made)} resources of your network are in the sandbox of {name}: {', '.join(named)}")
