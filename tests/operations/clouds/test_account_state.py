"""What an account allows, as the clouds' command lines print it and as the sandbox has it."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.catalogue.account_limits import ADDRESSES, ENDPOINTS, SSD, STATIC, VCPUS
from components.plan import plan_cluster
from components.spec.pod_identity import PodIdentity
from components.stack_files.stack import read_stack
from operations.clouds import account_state, cloud_tables
from operations.clouds.account_limits import account_limits
from operations.clouds.account_state import Quota
from operations.clouds.identity import Identity, of_stack
from operations.commands import account_check
from operations.console.exits import Exit, Stop
from operations.stacks import account, stack_files, target
from sandbox.cloud_state import CloudState
from tests.components.recorded_wiring import plan
from tools.golden.cases import without_egress

REGIONS = {"aws": "eu-west-1", "azure": "westeurope", "gcp": "europe-west1"}

ANSWERS: dict[str, Any] = {
    # AWS CLI reference, service-quotas get-service-quota
    "L-1216C47A": {"Quota": {"QuotaCode": "L-1216C47A", "Value": 32.0, "Unit": "None"}},
    "L-0263D0A3": {"Quota": {"QuotaCode": "L-0263D0A3", "Value": 5.0, "Unit": "None"}},
    # Azure CLI reference, vm list-usage, network list-usages: numbers of the first are texts
    "vm list-usage": [
        {"currentValue": "0", "limit": "2500", "name": {"value": "availabilitySets"}},
        {"currentValue": "4", "limit": "20", "name": {"localizedValue": "Total Regional vCPUs", "value": "cores"}},
    ],
    "network list-usages": [
        {"currentValue": 1, "limit": 20, "name": {"value": "IPv4StandardSkuPublicIpAddresses"}, "unit": "Count"}
    ],
    # Compute Engine API, regions: quotas
    "regions describe": {
        "name": "europe-west1",
        "quotas": [
            {"limit": 24.0, "metric": "CPUS", "usage": 0.0},
            {"limit": 72.0, "metric": "N2_CPUS", "usage": 8.0},
            {"limit": 8.0, "metric": "IN_USE_ADDRESSES", "usage": 0.0},
            {"limit": 500.0, "metric": "SSD_TOTAL_GB", "usage": 100.0},
            {"limit": 8.0, "metric": "STATIC_ADDRESSES", "usage": 7.0},
        ],
    },
    "provider list": ["Microsoft.Compute", "microsoft.network", "Microsoft.Storage", "Microsoft.ManagedIdentity"],
    "services list": [{"config": {"name": f"{name}.googleapis.com"}} for name in ("compute", "iam", "storage", "dns")],
}
"""By words of the command: what it prints."""

PROJECT = Identity(("--project", "our-project"), "our-project")
ANOTHER = "22222222-0000-4000-8000-000000000000"

FOUND = {
    "aws": {VCPUS: Quota(32, None), ADDRESSES: Quota(5, None)},
    "azure": {VCPUS: Quota(20, 4), ADDRESSES: Quota(20, 1)},
    "gcp": {VCPUS: Quota(72, 8), ADDRESSES: Quota(8, 0), SSD: Quota(500, 100), STATIC: Quota(8, 7)},
}


def answer(patch: pytest.MonkeyPatch, answers: Mapping[str, Any]) -> list[str]:
    """Let every command line print its answer, or fail; return the commands that were asked."""
    asked: list[str] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(" ".join(command))
        text = next((json.dumps(value) for words, value in answers.items() if words in asked[-1]), None)
        return subprocess.CompletedProcess(command, 1 if text is None else 0, text or "", "")

    patch.setattr(account_state.shutil, "which", lambda name: f"/bin/{name}")
    patch.setattr(account_state.subprocess, "run", run)
    return asked


@pytest.mark.parametrize("cloud", FOUND)
def test_limits_are_read_as_the_command_line_prints_them(cloud: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch, ANSWERS)
    assert (
        account_state.quotas(plan(f"{cloud}-prod"), REGIONS[cloud], PROJECT if cloud == "gcp" else Identity())
        == FOUND[cloud]
    )
    assert all(REGIONS[cloud] in command or "project-info" in command for command in asked)


def test_interface_endpoints_are_asked_about_if_the_cluster_has_some(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch, {"--service-code vpc --quota-code L-29B6F2EB": {"Quota": {"Value": 1.0}}})
    closed = plan_cluster("aws-prod", read_stack("aws-prod", without_egress("aws")).spec)
    found = account_state.quotas(closed, "eu-west-1", Identity())
    assert found == {ENDPOINTS: Quota(1, None)}
    faults = [fault for line, fault in account_state.compared(closed, found, built=False) if fault]
    assert ["'Interface VPC endpoints per VPC' (Service Quotas)" in each for each in faults] == [True]
    asked.clear()
    account_state.quotas(plan("aws-prod"), "eu-west-1", Identity())
    assert not any("L-29B6F2EB" in each for each in asked)


@pytest.mark.parametrize("cloud", FOUND)
def test_a_command_line_that_fails_or_prints_another_form_gives_no_limit(
    cloud: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, {})
    assert account_state.quotas(plan(f"{cloud}-prod"), REGIONS[cloud], PROJECT if cloud == "gcp" else Identity()) == {}
    answer(monkeypatch, {words: {"message": "denied"} for words in ANSWERS})
    assert account_state.quotas(plan(f"{cloud}-prod"), REGIONS[cloud], PROJECT if cloud == "gcp" else Identity()) == {}
    assert account_state.disabled(cloud, PROJECT) == []


def test_a_service_that_is_not_enabled_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, ANSWERS)
    azure = "az provider register --namespace Microsoft.KeyVault"
    assert account_state.disabled("azure", Identity()) == [azure]
    chosen = of_stack("azure", {"azure-native:subscriptionId": ANOTHER})
    assert account_state.disabled("azure", chosen) == [f"{azure} --subscription {ANOTHER}"]
    gcp = [
        f"gcloud services enable {name}.googleapis.com --project our-project"
        for name in ("cloudresourcemanager", "secretmanager", "iap", "sts")
    ]
    assert account_state.disabled("gcp", PROJECT) == gcp[:2]
    assert account_state.disabled("gcp", PROJECT, sessions=True) == gcp[:3]
    assert account_state.disabled("gcp", PROJECT, pods=True) == [*gcp[:2], gcp[3]]
    assert account_state.disabled("gcp", PROJECT, sessions=True, pods=True) == gcp
    assert account_state.disabled("aws", Identity()) == []


def test_an_older_project_has_cloud_storage_under_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [*account_state.SERVICES["gcp"].needed[:-1], "storage-api.googleapis.com"]
    answer(monkeypatch, {"services list": [{"config": {"name": name}} for name in names]})
    assert account_state.disabled("gcp", PROJECT) == []


@pytest.mark.parametrize(
    ("cloud", "config", "options"),
    [
        ("aws", {"aws:profile": "team"}, "--profile team"),
        ("azure", {"azure-native:subscriptionId": ANOTHER}, f"--subscription {ANOTHER}"),
        ("gcp", {"gcp:project": "our-project"}, "--project our-project"),
    ],
)
def test_the_account_that_the_stack_file_names_is_asked(
    cloud: str, config: dict[str, str], options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answer(monkeypatch, ANSWERS)
    account_state.quotas(plan(f"{cloud}-prod"), REGIONS[cloud], of_stack(cloud, config))
    assert asked and all(options in command for command in asked)


def test_the_subscription_of_the_environment_is_asked_unless_the_stack_file_names_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARM_SUBSCRIPTION_ID", ANOTHER)
    assert of_stack("azure", {}) == Identity(("--subscription", ANOTHER), ANOTHER)
    assert of_stack("azure", {"azure-native:subscriptionId": "11-22"}).account == "11-22"


def test_the_account_shown_is_that_of_the_stack_file_and_none_if_it_may_be_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer(monkeypatch, {"account show": {"id": "default"}, "get-caller-identity": {"Account": "111122223333"}})
    chosen = of_stack("azure", {"azure-native:subscriptionId": ANOTHER})
    assert account.account(cloud_tables.AZURE, chosen) == ANOTHER
    assert account.account(cloud_tables.AZURE, Identity()) == "default"
    assert account.account(cloud_tables.AWS, Identity()) == "111122223333"
    assert account.account(cloud_tables.AWS, of_stack("aws", {"aws:assumeRoles": [{"roleArn": "x"}]})) == ""


@pytest.mark.parametrize(
    ("config", "acknowledge", "refused"),
    [
        ({}, {}, True),
        ({}, {"account-limits": "more are on their way"}, False),
        ({"aws:assumeRoles": [{"roleArn": "arn:aws:iam::111122223333:role/build"}]}, {}, False),
        ({"aws:accessKey": {"secure": "v1:xx"}}, {}, False),
    ],
    ids=["plain", "acknowledged", "role", "key"],
)
def test_short_limits_are_a_warning_if_acknowledged_or_of_an_account_that_may_be_another(
    config: dict[str, Any],
    acknowledge: dict[str, str],
    refused: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer(monkeypatch, {"L-1216C47A": {"Quota": {"Value": 1.0}}})
    monkeypatch.setattr(stack_files, "config", lambda _: config)
    planned = plan("aws-prod")
    planned = replace(planned, spec=planned.spec.model_copy(update={"acknowledge": acknowledge}))
    if refused:
        with pytest.raises(Stop, match=r"acknowledge: \{account-limits: WHY\}"):
            account_check.refuse_short("mine", planned, "eu-west-1", sandbox=False, built=False)
        return
    account_check.refuse_short("mine", planned, "eu-west-1", sandbox=False, built=False)
    assert "warning: vCPU: the cluster takes" in capsys.readouterr().err


def test_a_cluster_with_pod_identity_is_refused_in_a_project_without_the_exchange_of_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    enabled = [{"config": {"name": name}} for name in account_state.SERVICES["gcp"].needed]
    answer(monkeypatch, {"services list": enabled})
    monkeypatch.setattr(stack_files, "config", lambda _: {"gcp:project": "our-project"})
    planned = plan("gcp-prod")
    account_check.refuse_short("mine", planned, "europe-west1", sandbox=False, built=False)
    planned = replace(planned, spec=planned.spec.model_copy(update={"pod_identity": PodIdentity()}))
    with pytest.raises(Stop, match=r"run: gcloud services enable sts\.googleapis\.com --project our-project"):
        account_check.refuse_short("mine", planned, "europe-west1", sandbox=False, built=False)


def test_a_limit_counts_what_others_use_until_the_cluster_is_built() -> None:
    planned = plan("azure-prod")
    needed = {row["what"]: row["needed"] for row in account_limits(planned)}[VCPUS]
    [(line, fault)] = account_state.compared(planned, {VCPUS: Quota(needed + 3, 4)}, built=False)
    assert line == f"vCPU: the cluster takes {needed}, the account has {needed + 3}, 4 in use"
    assert "Total Regional vCPUs" in fault
    assert account_state.compared(planned, {VCPUS: Quota(needed + 4, 4)}, built=False)[0][1] == ""
    assert account_state.compared(planned, {VCPUS: Quota(needed, needed)}, built=True)[0][1] == ""


@pytest.mark.parametrize(
    ("cloud", "quota"),
    [
        ("aws", "Running On-Demand Standard vCPUs"),
        ("azure", "Total Regional Cores"),
        ("gcp", "CPUs per region"),
        ("gcp", "CPUs in all regions"),
    ],
)
def test_a_new_cluster_that_the_sandboxs_account_does_not_allow_is_refused_before_it_begins(
    cloud: str, quota: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "cloud_state_file", lambda _: tmp_path / "world.db")
    cloud_state, planned = CloudState(tmp_path / "world.db"), plan(f"{cloud}-prod")
    account_check.refuse_short("mine", planned, REGIONS[cloud], sandbox=True, built=False)
    with cloud_state.transaction():
        cloud_state.set_setting(f"quota/{quota}", "4")
    with pytest.raises(
        Stop, match=r"vCPU( in all regions)?: the cluster takes \d+, the account has 4, 0 in use"
    ) as refused:
        account_check.refuse_short("mine", planned, REGIONS[cloud], sandbox=True, built=False)
    assert refused.value.code is Exit.REFUSED
    account_check.refuse_short("mine", planned, REGIONS[cloud], sandbox=True, built=True)
    cloud_state.close()
