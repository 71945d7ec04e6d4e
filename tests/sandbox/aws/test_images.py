"""Images of one's own: CreateImage, machines from them, and machines that bake them."""

import hashlib
import json
import zipfile
from typing import Any

import pytest

from components.machine import user_data
from sandbox.aws.images import source
from sandbox.aws.regions import WINDOWS, image
from tests.sandbox.account import Account, Thing
from tests.sandbox.aws.account import REGION
from tests.sandbox.aws.test_simulated_boot import STORE, Resources, _machine, resources  # noqa: F401

STOCK = {year: image(REGION, f"{WINDOWS}Windows_Server-{year}-English-Core-Base") for year in (2019, 2022)}
BUILD = {2019: "10.0.17763", 2022: "10.0.20348"}
BAKING = ("bake.json", "image/bake.ps1", "image/generalize.ps1")


@pytest.fixture
def put(account: Account, tmp_path: Any) -> Any:
    """Store a bundle, and return its document's member."""

    def store(name: str, *files: str, build: str = BUILD[2022]) -> dict[str, str]:
        path = tmp_path / f"{name}.zip"
        plan = {"phases": [{"steps": [{"kind": "build", "build": build}]}]}
        with zipfile.ZipFile(path, "w") as bundle:
            bundle.writestr("plan.json", json.dumps(plan))
            for each in files:
                bundle.writestr(each, "{}")
        content, key = path.read_bytes(), f"bundles/{name}.zip"
        with account.cloud_state.transaction():
            account.cloud_state.put_object("bundles", key, content, "application/zip", versioned=False)
        return {"url": f"{STORE}/{key}", "sha256": hashlib.sha256(content).hexdigest()}

    return store


def machine(account: Account, made: Resources, bundle: dict[str, str], year: int, ami: str = "", **facts: str) -> Thing:
    document = user_data.document(bundle["url"], bundle["sha256"], {"name": "web-0"}, {"cloud": "aws", **facts})
    text = user_data.user_data("windows", document, "aws") if facts else user_data.image_user_data(document, "aws")
    return _machine(account, made, userData=text, ami=ami or STOCK[year])


def member(role: str) -> dict[str, str]:
    return {"status_url": f"{STORE}/status/{role}%3A", "bundle_store": STORE}


def state(account: Account, made: Thing) -> Any:
    found = account.provider.invoke("aws:ec2/getInstance:getInstance", {"instanceId": made.id})
    return found["instanceState"], next(each.reason for each in account.cloud_state.boots() if each.instance == made.id)


def test_a_builder_stops_once_nothing_keeps_it_from_baking(account: Account, resources: Resources, put: Any) -> None:  # noqa: F811
    account.delete(resources["out"])
    made = machine(account, resources, put("image", *BAKING), 2022)
    assert state(account, made)[0] == "running"
    assert "lets tcp 443 out" in state(account, made)[1]
    out = {"ipProtocol": "tcp", "fromPort": 443, "toPort": 443, "cidrIpv4": "0.0.0.0/0"}
    account.create("SecurityGroupEgressRule", "out", securityGroupId=resources["group"].id, **out)
    assert state(account, made) == ("stopped", "")
    assert not [key for key in account.cloud_state.objects("bundles") if key.startswith("status/")]


@pytest.mark.parametrize("lacks", BAKING)
def test_a_builder_whose_bundle_bakes_nothing_runs_on(
    account: Account,
    resources: Resources,  # noqa: F811
    put: Any,
    lacks: str,
) -> None:
    made = machine(account, resources, put("image", *(each for each in BAKING if each != lacks)), 2022)
    assert state(account, made) == ("running", f"its bundle bakes no image: it lacks {lacks}")


def test_a_builder_of_another_windows_runs_on(account: Account, resources: Resources, put: Any) -> None:  # noqa: F811
    made = machine(account, resources, put("image", *BAKING), 2019)
    found, why = state(account, made)
    assert (found, why) == ("running", "error 501: the image has build 10.0.17763, the plan needs 10.0.20348")


def test_a_clone_of_another_build_does_not_become_ready(account: Account, resources: Resources, put: Any) -> None:  # noqa: F811
    """As the executor refuses it on the machine (cloud-init/errors.json, 501)."""
    builder = machine(account, resources, put("image", *BAKING, build=BUILD[2019]), 2019)
    ami = account.create("AmiFromInstance", "one", sourceInstanceId=builder.id)
    account.delete(builder)
    facts = member(resources["role"].outputs["uniqueId"])
    for year, ready in ((2019, True), (2022, False)):
        clone = machine(account, resources, put(f"web-{year}", build=BUILD[year]), year, ami.id, **facts)
        assert (state(account, clone)[1] == "") is ready, year
        account.delete(clone)


def test_an_image_outlives_its_instance_and_machines_need_its_size_and_architecture(
    account: Account,
    resources: Resources,  # noqa: F811
    put: Any,
) -> None:
    builder = _machine(account, resources, ami=STOCK[2022], rootBlockDevice={"volumeSize": 50})
    ami = account.create("AmiFromInstance", "one", sourceInstanceId=builder.id)
    assert (ami.outputs["platform"], source(account.cloud_state, REGION, ami.id)) == (
        "windows",
        f"{WINDOWS}Windows_Server-2022-English-Core-Base",
    )
    account.delete(builder)
    assert account.update(ami, tags={"Name": "one"}).id == ami.id, "a change needs no instance"
    for refused, inputs in (
        ("InvalidBlockDeviceMapping", {"rootBlockDevice": {"volumeSize": 49}}),
        ("InvalidParameterValue", {"instanceType": "m6g.large"}),
    ):
        assert account.refused(lambda inputs=inputs: _machine(account, resources, ami=ami.id, **inputs)).code == refused
    account.delete(ami)
    assert account.refused(lambda: _machine(account, resources, ami=ami.id)).code == "InvalidAMIID.NotFound"


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"sourceInstanceId": "i-00000000000000000"}, "InvalidInstanceID.NotFound"),
        ({"name": "ab"}, "InvalidAMIName.Malformed"),
        ({"name": "web: one"}, "InvalidAMIName.Malformed"),
        ({"name": "taken"}, "InvalidAMIName.Duplicate"),
    ],
)
def test_create_image_refuses(account: Account, resources: Resources, inputs: dict[str, str], code: str) -> None:  # noqa: F811
    made = _machine(account, resources)
    account.create("AmiFromInstance", "first", sourceInstanceId=made.id, name="taken")
    known = {"sourceInstanceId": made.id, "name": "web-20261128"}
    assert account.refused(lambda: account.create("AmiFromInstance", "x", **(known | inputs))).code == code
