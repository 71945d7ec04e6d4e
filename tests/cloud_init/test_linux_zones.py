"""Requests of the executor to Compute Engine while zones do not answer."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sandbox.services.gcp.compute import UNREACHABLE
from tests.cloud_init.accounts import ADDRESS, GCP_ZONE
from tests.cloud_init.cloud import FakeCloud

pytestmark = pytest.mark.parametrize("cloud", ["gcp"], indirect=True)
OTHER_ZONE = f"{GCP_ZONE[:-1]}c"


def test_zones_of_other_regions_need_not_answer_and_a_silent_zone_of_this_one_hides_no_machine(
    node: ModuleType, cloud: FakeCloud, root: Path
) -> None:
    told = {"machine": {"name": "web-0"}, "facts": cloud.facts}
    run: Any = importlib.import_module("run").Run(root, told, {})
    run.try_for(60)
    compute, failure = importlib.import_module("compute"), importlib.import_module("failure").Failure
    own, cloud_state = cloud.account.instance, cloud.services.cloud_state
    named = [run.cloud.MACHINE.fullmatch(each)[1] for each in (cloud.account.provider_id, cloud.account.other)]
    cloud_state.set_setting(f"{UNREACHABLE}us-central1-a", "1")
    assert compute.machines(run, {"web-0": ADDRESS}) == {"web-0": own}
    assert [compute.gone(run, each) for each in (own, "77", *named)] == [False, True, False, True]
    cloud_state.set_setting(f"{UNREACHABLE}{OTHER_ZONE}", "1")
    assert [compute.gone(run, each) for each in (own, *named)] == [False, False, True], "in a zone that answers"
    elsewhere = named[1].replace(GCP_ZONE, OTHER_ZONE)
    for asked in (lambda: compute.gone(run, "77"), lambda: compute.gone(run, elsewhere)):
        with pytest.raises(failure, match=r"no list of instances of europe-west1-c|503") as silent:
            asked()
        assert silent.value.name == "store-failed"
    with pytest.raises(failure, match="no list of instances of europe-west1-c"):
        compute.machines(run, {"web-0": ADDRESS})
