"""The gate "control plane first" while the bundle store cannot be read: it stays closed on every cloud."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest

from components.aws.records import Records as AwsRecords
from components.azure.records import Records as AzureRecords
from components.gcp.records import Records as GcpRecords
from components.rollout import upgrade
from components.rollout.provider_calls import ControlPlaneRecords, ProviderCalls, ProviderError
from components.rollout.signed_documents import pointer_document
from components.rollout.upgrade import Unreadable
from tests.components.rollout.test_upgrade import OLD, WANTED, upgrade_of, warned

__all__ = ["warned"]
KEY = "aGVsbG8="
CONTAINER = (
    "/subscriptions/s/resourceGroups/c/providers/Microsoft.Storage/storageAccounts/cbabcdef/blobServices/default"
    "/containers/bundles"
)
POINTER = pointer_document(KEY, "https://store/bundles/1.zip", "1" * 64, OLD, 5, OLD)

REFUSALS = {
    "aws": "reading S3 Bucket (c-bundles-1) Object (desired-state.json): operation error S3: HeadObject, https "
    "response error StatusCode: 403, RequestID: 404, HostID: a/404/b=, api error Forbidden: Forbidden",
    "aws, no time left": "reading S3 Bucket (c-bundles-1) Object (x): request send failed: context deadline exceeded",
    "aws, credentials": "operation error S3: HeadObject, get identity: get credentials: failed to refresh cached "
    "credentials, no EC2 IMDS role found, operation error ec2imds: GetMetadata, http response error StatusCode: 404",
    "aws, profile": "failed to get shared config profile, ci: profile not found",
    "azure": "https://cbabcdef.blob.core.windows.net/bundles/desired-state.json: AuthorizationFailure",
    "azure, signing": 'Status=403 Code="AuthorizationFailed" Message="The client does not have authorization to '
    "perform action 'Microsoft.Storage/storageAccounts/listServiceSas/action'\"",
    "azure, no time left": "https://cbabcdef.blob.core.windows.net/bundles/desired-state.json: timed out",
    "azure, subscription": 'Status=404 Code="SubscriptionNotFound" Message="The subscription was not found."',
    "azure, identity": "AADSTS700016: Application with identifier '1' was not found in the directory",
    "gcp": "Error retrieving object: googleapi: Error 403: ci@p.iam.gserviceaccount.com does not have "
    "storage.objects.get access, forbidden",
    "gcp, identity": "oauth2/google: status code 404: Not found; Gaia id not found for email ci@p",
}
"""Answers that do not say whether an object exists."""
MISSING = {
    "aws": "reading S3 Bucket (c-bundles-1) Object (desired-state.json): couldn't find resource",
    "azure": "https://cbabcdef.blob.core.windows.net/bundles/desired-state.json: BlobNotFound",
    "azure, account": 'Status=404 Code="ResourceNotFound" Message="The Resource was not found."',
    "azure, group": 'Status=404 Code="ResourceGroupNotFound" Message="Resource group \'c\' could not be found."',
    "gcp": "Error retrieving object: googleapi: Error 404: No such object: c-bundles/desired-state.json, notFound",
    "aws, head": "operation error S3: HeadObject, https response error StatusCode: 404, RequestID: 1, NotFound",
    "gcp, instance": "projects/p/zones/europe-west1-b/instances/gcp-dev-web-0 not found",
    "gcp, plain": "Error downloading object: googleapi: got HTTP response code 404 with body: No such object: c/d.json",
}
"""Answers about an object that does not exist."""


class Known:
    """A stand-in of an Output with a known value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    async def future(self) -> Any:
        return self.value


def records(cloud: str, store: str | None = "c-bundles-1") -> Any:
    """Return a cloud's real reader of records. store: None: it is not built yet."""
    parent: Any = SimpleNamespace(get_provider=lambda token: None)
    known: Any = Known
    match cloud.partition(",")[0]:
        case "aws":
            return AwsRecords(parent, known("vpc-1"), known(store), {})
        case "azure":
            return AzureRecords(parent=parent, container=known(CONTAINER if store else None))
        case _:
            return GcpRecords(parent=parent, bucket=known(store))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the provider's message for every function; change it to change the answer."""
    said: dict[str, str] = {}

    async def invoke(self: ProviderCalls, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise ProviderError(said["message"])

    class Ids:
        @staticmethod
        def all(*ids: Any) -> Any:
            return Known([each.value for each in ids])

    monkeypatch.setattr(ProviderCalls, "__init__", lambda self, *_: None)
    monkeypatch.setattr(ProviderCalls, "invoke", invoke)
    monkeypatch.setattr("components.rollout.provider_calls.Output", Ids)
    monkeypatch.setattr(upgrade, "PATIENCE_SECONDS", 0)
    return said


def decided(source: Any) -> str:
    upgraded = upgrade_of(source, simulated=False)
    decide: Any = upgraded.version
    return asyncio.run(decide(False))


def source(cloud: str, machines: int, store: str | None = "c-bundles-1") -> Any:
    ids: Any = [Known(f"i-{index}") for index in range(machines)]
    key: Any = Known(KEY)
    return ControlPlaneRecords(records(cloud, store), ids, key)


@pytest.mark.parametrize("machines", [0, 1, 3])
@pytest.mark.parametrize("refusal", REFUSALS)
def test_up_stops_if_the_store_refuses(refusal: str, machines: int, answers: dict[str, str]) -> None:
    """machines: control-plane machines whose ids are known; none in a preview that replaces one."""
    answers["message"] = REFUSALS[refusal]
    with pytest.raises(pulumi.RunError) as stopped:
        decided(source(refusal, machines))
    assert REFUSALS[refusal] in str(stopped.value)
    assert "the bundle store cannot be read" in str(stopped.value)


@pytest.mark.parametrize("refusal", ["aws", "azure", "gcp"])
def test_a_preview_says_that_it_may_show_a_newer_version_than_up(
    refusal: str, answers: dict[str, str], warned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)
    answers["message"] = REFUSALS[refusal]
    assert decided(source(refusal, 3)) == WANTED
    assert [REFUSALS[refusal] in text and "`up` would stop here" in text for text in warned] == [True]


@pytest.mark.parametrize("missing", MISSING)
def test_a_cluster_whose_first_run_was_interrupted_gets_the_version(missing: str, answers: dict[str, str]) -> None:
    answers["message"] = MISSING[missing]
    assert decided(source(missing, 0)) == WANTED


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_a_store_that_is_not_built_yet_has_no_objects(cloud: str, answers: dict[str, str]) -> None:
    answers["message"] = "no call is made"
    assert decided(source(cloud, 0, store=None)) == WANTED


class Failing:
    """A store that fails for some reads, and has the pointer and no records afterwards."""

    def __init__(self, fails: int) -> None:
        self.fails = fails

    async def text(self, key: str) -> str:
        if self.fails:
            self.fails -= 1
            raise ProviderError("timed out")
        return POINTER

    async def record(self, identity: str, instance: str) -> dict[str, Any]:
        return {"state": "ready", "kubernetes": OLD}


def test_up_waits_for_a_store_whose_rules_are_not_yet_in_force(
    answers: dict[str, str], monkeypatch: pytest.MonkeyPatch, warned: list[str]
) -> None:
    monkeypatch.setattr(upgrade, "PATIENCE_SECONDS", 60)
    store: Any = Failing(fails=2)
    one: Any = [Known("i-0")]
    known: Any = Known(KEY)
    with pytest.raises(pulumi.RunError, match="1 of the control plane's 3 machines report"):
        decided(ControlPlaneRecords(store, one, known))
    assert store.fails == 0


class Interrupted:
    """Versions whose reads fail between the decision and the end of the upgrade."""

    def __init__(self, *reported: list[str] | Unreadable) -> None:
        self.looks = list(reported)

    async def reported(self) -> list[str]:
        look = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(look, Unreadable):
            raise look
        return look

    async def desired(self) -> None:
        """Return no pointer."""


def reach(versions: Any) -> None:
    upgraded = upgrade_of(versions, simulated=False)
    decide: Any = upgraded.version
    asyncio.run(decide(False))
    hooks: Any = upgraded.hooks
    asyncio.run(hooks["after_update"][0](None))


def test_the_wait_for_the_control_plane_outlasts_a_failed_read() -> None:
    versions = Interrupted([OLD] * 3, Unreadable("timed out"), [WANTED] * 3)
    reach(versions)
    assert versions.looks == [[WANTED] * 3]


def test_the_end_of_the_wait_names_the_failed_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrade, "MACHINE_UPGRADE_SECONDS", 0)
    with pytest.raises(RuntimeError, match="report nothing, because the bundle store cannot be read: timed out"):
        reach(Interrupted([OLD] * 3, Unreadable("timed out")))


@pytest.mark.parametrize("refusal", ["azure, identity", "gcp"])
def test_a_machine_that_cannot_be_looked_up_is_not_taken_for_deleted(refusal: str, answers: dict[str, str]) -> None:
    answers["message"] = REFUSALS[refusal]
    calls: Any = ProviderCalls(None, "")  # type: ignore[arg-type]
    with pytest.raises(ProviderError):
        asyncio.run(calls.find("azure-native:compute:getVirtualMachine", {}))
    answers["message"] = MISSING["azure, account"]
    assert asyncio.run(calls.find("azure-native:compute:getVirtualMachine", {})) == {}
