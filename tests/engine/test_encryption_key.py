"""A stack with a key of the user on the real engine: refused without its key, built with it, never given another."""

from typing import Any

import pytest

from operations.clouds import cloud_tables
from sandbox import keys
from sandbox.keys import Key

pytestmark = pytest.mark.engine

KEYS = {
    "aws-ci": "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
    "gcp-ci": "projects/keys-of-ours/locations/europe-west1/keyRings/ring/cryptoKeys/disks",
}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_is_refused_disabled_and_used_once_it_is_enabled_and_stays(name: str, new_stack: Any) -> None:
    stack, key = new_stack(name), KEYS[name]
    stack.edit(encryption_key=key)
    keys.put(stack.cloud_state, key, Key(enabled=False))
    with pytest.raises(Exception, match=r"DISABLED|Disabled|InvalidState|EncryptionFailure"):
        stack.up()
    keys.put(stack.cloud_state, key)
    stack.up()
    assert stack.up().steps == {}
    machines = stack.cloud_state.resources(cloud_tables.CLOUDS[name.partition("-")[0]].machine)
    assert len(machines) > 1
    assert all(key in str(each.inputs) for each in machines)
    before = [each.inputs for each in stack.cloud_state.resources()]
    for another in (key[:-1] + "0", None):
        stack.edit(encryption_key=another)
        with pytest.raises(Exception, match="encryption key of a cluster cannot change"):
            stack.up()
        assert [each.inputs for each in stack.cloud_state.resources()] == before
    stack.edit(encryption_key=key)
    stack.down()
