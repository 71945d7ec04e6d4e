"""Cloud states with machines, for tests of the supervisor."""

from sandbox.aws.network import INSTANCE
from sandbox.cloud_state import CloudState
from sandbox.records import Record

DOCUMENT = '{{"bundle": {{}}, "machine": {{"name": "{}", "pool": "{}"}}, "facts": {{}}}}'


def has(cloud_state: CloudState, **machines: str) -> None:
    """Let the cloud state hold exactly these machines of AWS: name=instance."""
    with cloud_state.transaction():
        for record in cloud_state.resources(INSTANCE):
            cloud_state.remove(record.sequence)
        for number, (name, id) in enumerate(machines.items()):
            inputs = {"userData": DOCUMENT.format(name, name.rpartition("-")[0])}
            outputs = {**inputs, "privateIp": f"10.20.0.{number}"}
            cloud_state.put(Record(number, INSTANCE, id, name, f"urn::{name}", "eu-west-1", inputs, outputs, ""))
