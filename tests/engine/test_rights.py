"""Rights of machines on stores, secrets and other machines: the whole table, as the sandbox's services enforce it.

The services call the same functions: sandbox/services/{access,gcp,azure} (tests/sandbox/services).
"""

from collections.abc import Callable

import pytest

from operations.engine.locate import Engine
from sandbox.aws import policies, private_ways
from sandbox.aws.iam import PROFILE, ROLE
from sandbox.aws.machine import policy_documents
from sandbox.azure import rights as azure
from sandbox.boot.cloud_services import services_of
from sandbox.cloud_state import CloudState
from sandbox.gcp import rights as gcp
from sandbox.records import Record
from sandbox.services.azure.machine import group, identities
from sandbox.services.gcp.machine import account

from . import sampling
from .clone import Clone

pytestmark = pytest.mark.engine

CONTROL_PLANE, POOL = "control-plane-0", "windows"
WORKER, OTHER = f"{POOL}-0", f"{POOL}-1"
ALL, NOBODY = {CONTROL_PLANE, WORKER, OTHER}, set[str]()

OBJECTS = {
    "bundles/any.zip": (ALL, NOBODY),
    "ca.crt": (ALL, NOBODY),
    "epoch.json": (ALL, {CONTROL_PLANE}),
    "founded.json": ({CONTROL_PLANE}, {CONTROL_PLANE}),
    "desired-state.json": ({CONTROL_PLANE}, NOBODY),
    "members.json": ({CONTROL_PLANE}, NOBODY),
    f"status/{CONTROL_PLANE}": ({CONTROL_PLANE}, {CONTROL_PLANE}),
    f"status/{WORKER}": ({CONTROL_PLANE}, {WORKER}),
    f"status/{OTHER}": ({CONTROL_PLANE}, {OTHER}),
    f"logs/{CONTROL_PLANE}": (NOBODY, {CONTROL_PLANE}),
    f"logs/{WORKER}": (NOBODY, {WORKER}),
    f"logs/{OTHER}": (NOBODY, {OTHER}),
    f"join/{CONTROL_PLANE}": ({CONTROL_PLANE}, {CONTROL_PLANE}),
    f"join/{WORKER}": ({CONTROL_PLANE}, {WORKER}),
    f"join/{OTHER}": ({CONTROL_PLANE}, {OTHER}),
    f"requests/{CONTROL_PLANE}": ({CONTROL_PLANE}, NOBODY),
    f"requests/{WORKER}": ({WORKER}, NOBODY),
    "founding/0": (NOBODY, NOBODY),
    "another": (NOBODY, NOBODY),
}
"""Readers and writers of each path in the bundle store; the last part of a machine's own path is its instance id."""

OF_POOLS = {"gcp": {f"requests/{WORKER}": ({WORKER, OTHER}, NOBODY)}}
"""By cloud, rows that differ: on GCP the requests to a pool's workers are one right (components/gcp/identity.py)."""

SECRETS = {
    "join": (ALL, {CONTROL_PLANE}),
    "pki": ({CONTROL_PLANE}, NOBODY),
    "desired-state": ({CONTROL_PLANE}, NOBODY),
}
"""Readers and writers of each secret."""


def on_aws(cloud_state: CloudState, machine: Record, action: str, secret: str) -> str:
    """Return why an access is refused; empty if allowed. secret: its logical name, or empty for listing machines."""
    profile = cloud_state.find(PROFILE, machine.inputs["iamInstanceProfile"])
    role = cloud_state.find(ROLE, profile.inputs["role"] if profile else "")
    assert role is not None
    wanted = {"read": "secretsmanager:GetSecretValue", "write": "secretsmanager:PutSecretValue"}
    asked = wanted.get(action, "ec2:DescribeInstances")
    context = {**policies.MACHINE, "aws:userid": f"{role.outputs['uniqueId']}:{machine.id}"}
    context |= private_ways.source(cloud_state, machine, asked)
    thing = named(cloud_state, "aws:secretsmanager/secret:Secret", secret) if secret else "*"
    return policies.refused(policy_documents(cloud_state, role, ""), asked, thing, role.outputs["arn"], context)


def on_gcp(cloud_state: CloudState, machine: Record, action: str, secret: str) -> str:
    wanted = {"read": "secretmanager.versions.access", "write": "secretmanager.versions.add"}
    asked = wanted.get(action, "compute.instances.list")
    project = f"projects/{machine.outputs['project']}"
    thing = named(cloud_state, "gcp:secretmanager/secret:Secret", secret) if secret else project
    return gcp.refused(cloud_state, f"serviceAccount:{account(machine)[0]}", asked, thing)


def on_azure(cloud_state: CloudState, machine: Record, action: str, secret: str) -> str:
    wanted = {"read": azure.GET, "write": azure.SET}
    [identity], [vault] = identities(cloud_state, machine), cloud_state.resources("azure-native:keyvault:Vault")
    principal, asked = identity.outputs["principalId"], wanted.get(action, "Microsoft.Compute/virtualMachines/read")
    if secret:
        return azure.refused(cloud_state, principal, asked, f"{vault.id}/secrets/{secret.rpartition('/')[2]}")
    inside = machine.id.partition(f"/{group(machine)}/")[0]
    return azure.refused(cloud_state, principal, asked, f"{inside}/{group(machine)}", data=False)


def named(cloud_state: CloudState, kind: str, secret: str) -> str:
    """Return the id of a secret by its logical name, without the stack's: STACK/NAME."""
    [found] = [each.id for each in cloud_state.resources(kind) if each.name == secret.replace("/", "-")]
    return found


ASKED: dict[str, Callable[[CloudState, Record, str, str], str]] = {"aws": on_aws, "gcp": on_gcp, "azure": on_azure}


@pytest.fixture(scope="module", params=sampling.one(sampling.FOR_CI))
def clone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    """A built cluster with two workers in its pool."""
    made = Clone(tmp_path_factory.mktemp("clone"), engine, sampling.drawn(request.param, sampling.FOR_CI, "rights"))
    document = made.document()
    document["pools"][POOL]["count"] = 2
    made.write(document)
    return made.built()


def machines(clone: Clone, cloud_state: CloudState) -> dict[str, Record]:
    """Return the sandbox's machines by planned name."""
    return {each.name.removeprefix(f"{clone.stack}-"): each for each in services_of(cloud_state).records(cloud_state)}


def test_machines_have_the_rights_on_stores_that_their_role_needs_and_no_others(clone: Clone) -> None:
    with clone.cloud_state() as cloud_state:
        known, there = services_of(cloud_state).machines, machines(clone, cloud_state)
        assert there.keys() == ALL
        told = {name: known.document(each.inputs) or {} for name, each in there.items()}
        status = {name: known.status_url(told[name], known.instance(each)) for name, each in there.items()}
        store, snapshots = (told[CONTROL_PLANE]["facts"][f"{each}_store"] for each in ("bundle", "snapshot"))
        assert "snapshot_store" not in told[WORKER]["facts"]
        for key, (readers, writers) in {**OBJECTS, **OF_POOLS.get(clone.cloud.name, {})}.items():
            folder, _, whose = key.partition("/")
            url = status[whose].replace("/status/", f"/{folder}/") if whose in status else f"{store}/{key}"
            assert may(cloud_state, there, known.read, url) == readers, f"read {key}"
            assert may(cloud_state, there, known.write, url) == writers, f"write {key}"
        for action in (known.read, known.write):
            assert may(cloud_state, there, action, f"{snapshots}/founding/0") == {CONTROL_PLANE}


def test_rights_on_stores_end_at_the_clusters_own_network(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoints of a network of the user are its owner's, so rights there have no condition on them."""
    if clone.cloud.name != "aws":
        pytest.skip("only AWS tells from which network a request comes")
    elsewhere = ALL if "existing" in clone.document()["network"] else NOBODY
    with clone.cloud_state() as cloud_state:
        known, there = services_of(cloud_state).machines, machines(clone, cloud_state)
        urls = {name: (known.document(each.inputs) or {})["bundle"]["url"] for name, each in there.items()}
        for inside in (True, False):
            if not inside:  # from elsewhere, with copied credentials
                monkeypatch.setattr(private_ways, "source", lambda *_: {})
            for name in ALL:
                assert may(cloud_state, there, known.read, urls[name]) == (ALL if inside else elsewhere)


def may(cloud_state: CloudState, there: dict[str, Record], action: str, url: str) -> set[str]:
    """Return the names of the machines that have the right."""
    not_allowed = services_of(cloud_state).machines.not_allowed
    return {name for name, record in there.items() if not not_allowed(cloud_state, record, action, url)}


def test_only_roles_that_need_it_read_secrets_and_list_machines(clone: Clone) -> None:
    asked = ASKED[clone.cloud.name]
    with clone.cloud_state() as cloud_state:
        there = machines(clone, cloud_state)
        for secret, allowed in SECRETS.items():
            for action, wanted in zip(("read", "write"), allowed, strict=True):
                found = {
                    name
                    for name, machine in there.items()
                    if not asked(cloud_state, machine, action, f"{clone.stack}/{secret}")
                }
                assert found == wanted, f"{action} {secret}"
        assert {name for name, each in there.items() if not asked(cloud_state, each, "look", "")} == {CONTROL_PLANE}
