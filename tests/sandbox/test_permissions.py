"""The tables of permissions: complete for the sandbox's types, without dead rows, with names that the clouds have."""

from pathlib import Path
from typing import Any

import botocore.session
import pytest

from components.plan import plan_cluster
from components.rollout import session_commands
from components.rollout.session_commands import MachinePlace
from components.spec.models import Cloud
from components.stack_files.stack import read_stack
from operations.clouds import (
    account_offers,
    account_state,
    aws_account,
    cloud_tables,
    google_ways,
    organisation_policies,
    run_command,
)
from operations.clouds.identity import Identity
from sandbox import clouds
from sandbox.permissions import REST, uses
from tests.components.official_models import aws_table, azure_models, azure_requests, gcp_models, gcp_requests
from tools.golden import cases
from tools.permissions.recorded import recorded, table

CLOUDS = ("aws", "azure", "gcp")
ON_PAGES = ("az keyvault list-deleted",)
"""Commands that only docs/azure.md names."""
NAMES_OF_S3 = {
    "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
    "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
    "PutBucketEncryption": "PutEncryptionConfiguration",
}
"""Actions of IAM whose names are not those of the request ("Required permissions for Amazon S3 API operations")."""
ONLY_ACTIONS = {
    "s3": "DeleteObjectVersion ListBucket ListBucketVersions GetBucketCORS GetBucketObjectLockConfiguration"
    " GetBucketPublicAccessBlock GetAccelerateConfiguration GetEncryptionConfiguration GetLifecycleConfiguration"
    " GetReplicationConfiguration ListTagsForResource TagResource UntagResource",
}
"""Further actions that no request has the name of, from the same page."""
SERVICES = {
    "elasticloadbalancing": ("elbv2", "elb"),
    "servicequotas": ("service-quotas",),
    "tag": ("resourcegroupstaggingapi",),
}
VERBS = {
    "insert": "create",
    "patch": "update",
    "addInstances": "update",
}
"""Last part of a permission of Google Cloud, by the name of the method."""


def given(type_: str) -> list[dict[str, Any]]:
    cloud = type_.partition(":")[0].removesuffix("-native")
    return [body.inputs for body in cases.bodies(cloud) if body.type == type_]


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_type_and_function_of_the_sandbox_has_a_row(cloud: str) -> None:
    found = clouds.of(cloud)
    assert set(table(cloud).types) == set(found.types)
    assert set(table(cloud).functions) == {*found.functions, *found.reads}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_row_about_an_input_is_of_a_registered_input(cloud: str) -> None:
    seen = {(use.of, use.operation, use.inputs) for use in recorded(cloud).cases}
    for type_, row in table(cloud).types.items():
        named = {name for inputs in given(type_) for name in inputs}
        dead = [path for path in row.given if (type_, "create", path) not in seen]
        dead += [path for path in row.given_up if (type_, "delete", path) not in seen]
        dead += [name for name in (*row.update, *row.fixed) if name not in named and name != REST]
        assert not (named and dead), type_


def test_a_changed_input_without_permissions_is_refused() -> None:
    types, type_ = clouds.of("aws").types, "aws:ec2/eip:Eip"
    assert next(use.permission for use in uses(table("aws"), type_, types[type_], {"domain": "vpc"})) == (
        "ec2:AllocateAddress"
    )
    with pytest.raises(LookupError, match="instance can change"):
        list(uses(table("aws"), type_, types[type_], {"domain": "vpc", "instance": "i-1"}))


@pytest.mark.parametrize("type_", aws_table.ROWS)
def test_the_requests_of_aws_that_create_a_type_are_allowed(type_: str) -> None:
    row = table("aws").types[f"aws:{type_}"]
    allowed = " ".join((row.create, *row.given.values(), *row.update.values())).split()
    for call in aws_table.ROWS[type_].calls:
        service, _, name = call.operation.partition("/")
        service = next((action for action, models in SERVICES.items() if service in models), service)
        assert f"{service}:{NAMES_OF_S3.get(name, name) if service == 's3' else name}" in allowed


def test_every_action_of_aws_is_a_request_or_has_a_reason() -> None:
    session = botocore.session.Session()
    for action in recorded("aws").permissions - table("aws").without_call.keys():
        service, _, name = action.partition(":")
        models: list[Any] = [session.get_service_model(each) for each in SERVICES.get(service, (service,))]
        others = {*NAMES_OF_S3.values(), *ONLY_ACTIONS.get(service, "").split()}
        assert any(name in each.operation_names for each in models) or name in others, action


@pytest.mark.parametrize("type_", azure_requests.ROWS)
def test_operations_of_azure_have_the_name_of_the_path_that_the_request_has(type_: str) -> None:
    _, _, path = azure_models.path(azure_requests.ROWS[type_]).rpartition("/providers/")
    namespace, *parts = path.split("/")
    kind = "/".join((namespace, *parts[::2])) if namespace else "Microsoft.Resources/subscriptions/resourceGroups"
    row = table("azure").types[f"azure-native:{type_}"]
    assert row.create.split()[0] == f"{kind}/write" and row.read == f"{kind}/read"
    assert row.delete.split()[:1] in ([], [f"{kind}/delete"])


def test_every_other_operation_of_azure_has_a_reason_or_a_command() -> None:
    types = table("azure").types.values()
    own = {name for row in types for name in (row.create.split() + row.read.split() + row.delete.split())}
    asked = (*table("azure").commands.values(), *table("azure").functions.values())
    commands = {name for text in asked for name in text.split()}
    others = recorded("azure").permissions - own - commands
    assert others <= table("azure").without_call.keys()


@pytest.mark.parametrize("type_", gcp_requests.ROWS)
def test_permissions_of_google_cloud_have_the_name_of_the_method(type_: str) -> None:
    api, _, path = gcp_requests.ROWS[type_].method.partition("/")
    *above, method = path.split(".")
    of = ".".join(above).removeprefix("projects.")
    if method == "addVersion":
        of, method = "versions", "add"
    # IAM, "Permissions reference": a provider's permissions are not below its pool's
    of = of.removeprefix("locations.").replace("Pools.providers", "PoolProviders")
    service = api.partition(".")[0].removeprefix("cloud")
    row = table("gcp").types[f"gcp:{type_}"]
    assert f"{service}.{of}.{VERBS.get(method, method)}" in row.create.split()


@pytest.mark.parametrize("type_", ["instanceGroup:InstanceGroup", "instanceGroupMembership:InstanceGroupMembership"])
def test_members_of_instance_groups_are_read_by_the_permission_to_list_groups(type_: str) -> None:
    """Source: gcloud, "compute instance-groups list-instances", required permission."""
    _, method = gcp_models.method("compute.v1/instanceGroups.listInstances")
    assert method["path"].endswith("/listInstances"), "the request of the provider's read"
    row = table("gcp").types[f"gcp:compute/{type_}"]
    assert "compute.instanceGroups.list" in row.read.split()


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_reason_is_of_a_permission_that_something_needs(cloud: str) -> None:
    assert table(cloud).without_call.keys() <= recorded(cloud).permissions


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_command_that_mullion_starts_or_prints_has_a_row_and_every_row_a_command(
    cloud: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(account_state, "asked", lambda command, *_: started.append(command))
    for name in cases.on_file():
        if name.startswith(cloud):
            plan, who = plan_cluster(name, read_stack(name, cases.config(name)).spec), Identity(account="a")
            account_state.quotas(plan, "region", who)
            account_offers.offered(plan, "region", who)
            account_state.disabled(cloud, who)
            list(organisation_policies.rows(plan, who))
            aws_account.account_plan(plan, who)
            aws_account.default_key(plan, "region", who)
            if plan.spec.cloud is Cloud.AWS:
                aws_account.endpoint_zones(
                    plan_cluster(name, read_stack(name, cases.without_egress("aws")).spec), "r", who
                )
    closed = read_stack("closed", cases.closed_in_existing(cloud)).spec
    google_ways.rows(plan_cluster("closed", closed), google_ways.by_command_line(Identity()))
    place = MachinePlace(cloud, "machine", "/subscriptions/a/resourceGroups/b/providers/c/bastionHosts/d", "zone")
    printed = cloud_tables.CLOUDS[cloud]
    searches = (printed.search, printed.search_all, *printed.searches.values(), printed.versions)
    starts = [*started, session_commands.forward(place, 6443, 1), printed.account[0]]
    starts += [run_command.words("vm", Path("script"), is_windows=False)] if cloud == "azure" else []
    commands = [*(" ".join(each) for each in starts), *filter(None, searches)]
    rows = table(cloud).commands.keys()
    assert [each for each in commands if not any(f"{each} ".startswith(f"{row} ") for row in rows)] == []
    unused = [row for row in rows if not any(f"{each} ".startswith(f"{row} ") for each in commands)]
    assert unused == [each for each in ON_PAGES if each in rows]
