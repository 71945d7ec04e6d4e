"""Worlds with machines, for tests of what boots and keeps them."""

from sandbox.aws.network import INSTANCE
from sandbox.cloud_state import World
from sandbox.records import Record

DOCUMENT = '{{"bundle": {{}}, "machine": {{"name": "{}", "pool": "{}"}}, "facts": {{}}}}'


def has(world: World, **machines: str) -> None:
    """Let the world have these machines of AWS and no others: name=instance."""
    with world.transaction():
        for record in world.resources(INSTANCE):
            world.remove(record.sequence)
        for number, (name, id) in enumerate(machines.items()):
            inputs = {"userData": DOCUMENT.format(name, name.rpartition("-")[0])}
            outputs = {**inputs, "privateIp": f"10.20.0.{number}"}
            world.put(Record(number, INSTANCE, id, name, f"urn::{name}", "eu-west-1", inputs, outputs, ""))
