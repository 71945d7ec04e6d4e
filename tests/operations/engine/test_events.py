"""Counts, lines and short errors made from the engine's events."""

import time
from typing import Any

import pytest
from pulumi import automation as auto

from components.rollout.upgrade import SECOND_RUN
from operations.clouds import cloud_tables
from operations.engine import failures, progress
from operations.engine.events import Tally

URN = "urn:pulumi:dev::mullion::mullion:index:MixedCluster$aws:ec2/vpc:Vpc::dev-vpc"
STACK = "urn:pulumi:dev::mullion::pulumi:pulumi:Stack::mullion-dev"


def metadata(op: str, urn: str = URN, *, retain: bool = False) -> dict[str, Any]:
    type_ = urn.split("::")[2].rpartition("$")[2]
    old = {"type": type_, "urn": urn, "id": "", "parent": "", "provider": "", "inputs": {}, "outputs": {}}
    return {"op": op, "urn": urn, "type": type_, "provider": "", "old": old | {"retainOnDelete": retain}}


def event(kind: str, **content: Any) -> auto.EngineEvent:
    return auto.EngineEvent.from_json({"sequence": 1, "timestamp": 1, kind: content})


def begun(op: str, urn: str = URN) -> auto.EngineEvent:
    return event("resourcePreEvent", metadata=metadata(op, urn))


def finished(op: str, urn: str = URN, *, retain: bool = False) -> auto.EngineEvent:
    return event("resOutputsEvent", metadata=metadata(op, urn, retain=retain))


def of_type(type_: str, name: str) -> str:
    return f"urn:pulumi:dev::mullion::mullion:index:MixedCluster${type_}::{name}"


def warned(message: str) -> auto.EngineEvent:
    return event("diagnosticEvent", message=message, color="never", severity="warning", urn=STACK)


def fault(message: str, urn: str = URN) -> auto.EngineEvent:
    return event("diagnosticEvent", message=message, color="never", severity="error", urn=urn)


@pytest.fixture
def tally() -> Tally:
    return Tally(total=5)


def test_a_finished_resource_is_shown_in_one_line_with_counts(tally: Tally) -> None:
    assert tally.hear(begun("create")) is None
    assert progress.waiting(tally, None) == "waiting for dev-vpc"
    step = tally.hear(finished("create"))
    assert step
    assert progress.line(tally, step, None) == "[1/5] created dev-vpc (aws:ec2/vpc:Vpc)"
    assert progress.waiting(tally, None) == ""
    assert tally.summary() == "1 created"


def test_the_time_on_the_real_cloud_is_shown_if_it_is_known(tally: Tally) -> None:
    tally.hear(begun("create"))
    assert progress.waiting(tally, lambda _: 125).endswith("(about 2 min 5 s on the real cloud)")
    step = tally.hear(finished("create"))
    assert step
    assert progress.line(tally, step, lambda _: 125).endswith("(about 2 min 5 s on the real cloud)")


def test_a_machine_on_aws_that_is_created_for_minutes_is_shown_with_the_likely_cause(
    tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider retries a creation without capacity for most of an hour, and says nothing."""
    urn = of_type(cloud_tables.AWS.machine, "dev-web-0")
    tally.hear(begun("create-replacement", urn))
    assert progress.waiting(tally, None) == "waiting for dev-web-0"
    monkeypatch.setattr(progress, "LATE_SECONDS", -1)
    hint = "; if EC2 has no capacity for dev-web-0, its creation is retried for up to 50 min (docs/aws.md)"
    assert progress.waiting(tally, None) == f"waiting for dev-web-0{hint}"
    tally.hear(finished("create-replacement", urn))
    tally.hear(begun("create"))
    assert progress.waiting(tally, None) == "waiting for dev-vpc"


def test_a_retained_resource_is_not_called_deleted(tally: Tally) -> None:
    step = tally.hear(finished("delete", retain=True))
    assert step
    assert "kept in the cloud" in progress.line(tally, step, None)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (["delete-replaced", "create-replacement", "delete", "update"], "1 updated, 1 replaced, 1 deleted"),
        (["delete-replaced"], "1 deleted"),
        (["create-replacement", "retain"], "1 replaced, 1 kept in the cloud"),
    ],
)
def test_a_replaced_resource_is_counted_once(steps: list[str], says: str, tally: Tally) -> None:
    tally.done.update(steps)
    assert tally.summary() == says


def test_objects_that_go_with_their_bucket_count_as_deleted_when_the_cluster_is_removed() -> None:
    tally = Tally(removal=True)
    tally.hear(finished("delete", of_type("aws:s3/bucketObjectv2:BucketObjectv2", "dev-bundle-web"), retain=True))
    tally.hear(finished("delete", of_type("aws:s3/bucket:Bucket", "dev-snapshots"), retain=True))
    assert tally.summary() == "1 deleted, 1 kept in the cloud"


def test_a_value_in_the_state_is_not_shown_as_a_resource_of_a_cloud(tally: Tally) -> None:
    step = tally.hear(finished("create", of_type("pulumi:index:Stash", "dev-members-serial")))
    assert step
    assert progress.line(tally, step, None) == "[1/5] created dev-members-serial (in the Pulumi state only)"


def test_the_warning_that_asks_for_a_second_run_is_left_out_because_mullion_runs_it(tally: Tally) -> None:
    tally.hear(warned(f"pools stay at Kubernetes 1.35.8 in this run: ... {SECOND_RUN}"))
    tally.hear(warned("another warning"))
    assert tally.warnings == ["another warning"]


def test_a_run_without_output_for_15_s_names_the_resource_it_waits_for(
    tally: Tally, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A gate of a roll waits up to 30 minutes for a machine."""
    monkeypatch.setattr(progress, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr("operations.console.heartbeat.EVERY_SECONDS", 0.0)
    lines, end = "", time.monotonic() + 10
    with progress.shown(tally) as watch:
        watch(begun("create"))
        while "mullion: waiting for dev-vpc (0 s)\n" not in lines and time.monotonic() < end:
            lines += capsys.readouterr().err
    assert "mullion: waiting for dev-vpc (0 s)\n" in lines


@pytest.mark.parametrize("op", ["same", "refresh", "replace"])
def test_steps_that_change_nothing_print_no_line(op: str, tally: Tally) -> None:
    assert tally.hear(finished(op)) is None
    assert tally.count == "1/5"
    assert tally.summary() == "no changes"


def test_components_and_the_stack_are_not_counted(tally: Tally) -> None:
    tally.hear(finished("create", STACK))
    tally.hear(finished("create", URN.replace("$aws:ec2/vpc:Vpc", "")))
    assert tally.count == "0/5"


@pytest.mark.parametrize(
    ("message", "urn", "shown"),
    [
        (
            "<{%fg 1%}>creating Vpc: VpcLimitExceeded: 5<{%reset%}>\n",
            URN,
            "dev-vpc (aws:ec2/vpc:Vpc): creating Vpc: VpcLimitExceeded: 5",
        ),
        ("the spec is wrong", STACK, "the spec is wrong"),
        ("Traceback (most recent call last):\n  File x\nKeyError: 'a'", STACK, "KeyError: 'a'"),
        ("beep \x07\x1b[31mred", URN, "dev-vpc (aws:ec2/vpc:Vpc): beep   [31mred"),
    ],
)
def test_errors_name_the_resource_and_are_plain_text(message: str, urn: str, shown: str, tally: Tally) -> None:
    tally.hear(fault(message, urn))
    tally.hear(fault("update failed", STACK))
    assert tally.errors == [shown]


def test_a_repeated_error_is_reported_once(tally: Tally) -> None:
    tally.hear(fault("no"))
    tally.hear(fault("no", STACK))
    assert len(tally.errors) == 1


def failure(stderr: str, code: int = 255) -> auto.CommandError:
    return auto.errors.create_command_error(auto.CommandResult("", stderr, code))


@pytest.mark.parametrize(
    ("stderr", "says"),
    [
        ("error: the stack is currently locked by 1 lock(s)", "pulumi cancel --yes --stack dev"),
        (
            "error: the stack is currently locked by 1 lock(s)\n  s3://b/l.json: created by ann@ci (pid 7) at noon",
            "stack dev is locked by ann@ci (pid 7) at noon. Wait",
        ),
        ("error: PULUMI_ACCESS_TOKEN must be set for login", "pulumi login"),
        ("error: disk on fire", "the engine ended with: disk on fire"),
    ],
)
def test_an_error_of_the_engine_before_a_run_names_the_command_that_fixes_it(stderr: str, says: str) -> None:
    assert says in failures.message("dev", failure(stderr), None)


def test_a_killed_engine_is_reported_with_its_signal() -> None:
    text = failures.message("dev", failure("", -9), None)
    assert text == "stack dev: the engine was killed (signal 9); `mullion up dev` recovers and continues"


def test_errors_of_resources_replace_the_error_of_the_engine(tally: Tally) -> None:
    tally.hear(fault("AccessDenied: no"))
    text = failures.message("dev", failure("error: update failed"), tally)
    assert "dev-vpc (aws:ec2/vpc:Vpc): AccessDenied: no" in text
    assert "stderr" not in text


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0 s"), (59, "59 s"), (60, "1 min"), (125, "2 min 5 s"), (3780, "1 h 3 min")]
)
def test_durations_are_shown_in_two_units(seconds: float, shown: str) -> None:
    assert progress.duration(seconds) == shown


def test_warnings_are_reported_once_without_those_of_the_stack_file_and_the_policy_pack(tally: Tally) -> None:
    """The command prints the warnings of the stack file before the run."""
    cluster = "urn:pulumi:dev::mullion::mullion:index:MixedCluster::dev"
    starter = "using pulumi-analyzer-policy-python from $PATH at policies/bin/pulumi-analyzer-policy-python"
    for text, urn in (("not drained", STACK), ("not drained", URN), ("old version", cluster), (starter, "")):
        tally.hear(
            event("diagnosticEvent", message=f"<{{%fg 3%}}>{text}\n", color="never", severity="warning", urn=urn)
        )
    assert tally.warnings == ["not drained"]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("azure-native:storage:BlobContainer", "ContainerNotFound"),
        ("azure-native:storage:ManagementPolicy", "ManagementPolicyNotFound"),
        ("azure-native:authorization:RoleDefinition", "RoleDefinitionDoesNotExist"),
    ],
)
def test_a_refresh_that_ends_because_azure_no_longer_has_a_resource_says_how_to_go_on(
    kind: str, code: str, tally: Tally
) -> None:
    urn = of_type(kind, "dev-it")
    tally.hear(fault(f'Preview failed: Status=404 Code="{code}" Message="It does not exist."', urn))
    [error] = tally.errors
    assert f"pulumi state delete --stack dev '{urn}'" in error and "Create it again in Azure" in error
    other = Tally()
    other.hear(fault(f'Status=404 Code="{code}" Message="no."', of_type("azure-native:storage:Blob", "dev-it")))
    other.hear(fault('Status=403 Code="AuthorizationFailed" Message="no."', urn))
    assert not any("state delete" in each for each in other.errors) and len(other.errors) == 2


def test_a_group_that_holds_a_vault_of_backups_names_the_page(tally: Tally) -> None:
    text = (
        'Code="ResourceGroupDeletionBlocked" Message="Deletion of resource group \'dev\' failed as resources with '
        "identifiers 'Microsoft.RecoveryServices/vaults/defaultVault' could not be deleted.\""
    )
    tally.hear(fault(text, of_type("azure-native:resources:ResourceGroup", "dev")))
    assert "Recovery Services vault" in tally.errors[0] and "docs/azure.md" in tally.errors[0]


def test_an_account_that_lets_no_bucket_be_public_names_the_page(tally: Tally) -> None:
    text = (
        "putting S3 Bucket (dev-issuer) Policy: api error AccessDenied: User is not authorized to perform:"
        " s3:PutBucketPolicy because public policies are prevented by the BlockPublicPolicy setting"
    )
    policy = "aws:s3/bucketPolicy:BucketPolicy"
    tally.hear(fault(text, of_type(policy, "dev-issuer")))
    assert "Run it again" in tally.errors[0]
    assert "get-public-access-block" in tally.errors[0] and "docs/pod-identity.md" in tally.errors[0]
    other = Tally()
    other.hear(fault("api error AccessDenied: no", of_type(policy, "dev-issuer")))
    assert "get-public-access-block" not in other.errors[0]


def test_a_policy_of_azure_that_closes_the_issuers_account_names_the_page() -> None:
    of_pods = "mullion:azure:PodIdentity$azure-native:storage:StorageAccount"
    text = 'Code="RequestDisallowedByPolicy" Message="Resource was disallowed by policy."'
    credential = "mullion:azure:PodIdentity$azure-native:managedidentity:FederatedIdentityCredential"
    for kind, expected in ((of_pods, True), (of_pods.replace("PodIdentity", "Storage"), False), (credential, True)):
        tally = Tally()
        tally.hear(fault(text, of_type(kind, "dev-issuer")))
        assert ("docs/pod-identity.md#on-azure" in tally.errors[0]) is expected
