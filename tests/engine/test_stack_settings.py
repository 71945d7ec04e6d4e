"""The settings of a test's stack are its own: no change of them reaches the tables that they were made of."""

from copy import deepcopy
from typing import Any

from tests import existing_networks

from .variants import merge


def test_a_change_of_a_stack_leaves_the_table_of_existing_networks_as_it_was() -> None:
    before = deepcopy(existing_networks.EXISTING)
    settings: dict[str, Any] = {"network": {"nodes": "10.0.0.0/22"}}
    merge(settings, existing_networks.fields("gcp"))
    merge(settings, {"network": {"existing": existing_networks.SERVICE_ZONES["gcp"]}})
    assert settings["network"]["existing"]["service_zones"]
    assert before == existing_networks.EXISTING
