"""gMSA: what the control plane applies, what Windows machines get, and what clusters without it keep."""

import base64
import json
from typing import Any

import pytest

from components.node import gmsa, gmsa_plugin
from components.node.plan import NodePlan
from tests.components.spec.gmsa_values import CLSID, CONTENTS, PLUGIN, PREINSTALLED, named
from tools.golden.samples import content, one, phase, plan, position

NEW, OLD = "1.36.4", "1.35.4"
USED = named(users=["web/default", "shop/iis"])


def objects(kubernetes: str = NEW) -> list[dict[str, Any]]:
    return content(plan(None, kubernetes=kubernetes, **USED), "addon-gmsa")["items"]


def test_sec_03_without_credential_specs_nothing_of_gmsa_is_in_a_plan(control_plane: NodePlan) -> None:
    assert "addon-gmsa" not in {each.name for each in control_plane.steps}
    assert "gmsa-plugin" not in {each.name for each in plan("windows-2022").phases}


def test_sec_03_a_credential_spec_comes_with_its_kind_its_right_and_its_users() -> None:
    found = {each["kind"]: each for each in objects()}
    spec, role, binding = found["GMSACredentialSpec"], found["ClusterRole"], found["ClusterRoleBinding"]
    assert spec["credspec"] == CONTENTS
    assert json.loads(spec["metadata"]["annotations"][gmsa.CONTENTS]) == CONTENTS
    assert role["rules"] == [
        {
            "apiGroups": ["windows.k8s.io"],
            "resources": ["gmsacredentialspecs"],
            "resourceNames": ["web"],
            "verbs": ["use", "get"],
        }
    ]
    assert [(each["namespace"], each["name"]) for each in binding["subjects"]] == [("web", "default"), ("shop", "iis")]
    assert next(iter(found)) == "CustomResourceDefinition"


def test_sec_03_the_contents_are_filled_in_from_the_minor_that_has_mutating_policies() -> None:
    kinds = {minor: {each["kind"] for each in objects(minor)} for minor in (OLD, NEW)}
    assert kinds[NEW] - kinds[OLD] == {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
    assert {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} <= kinds[OLD]


@pytest.mark.parametrize("used", [PLUGIN, {"gmsa": {"keep_policy": True}}], ids=["plug-in", "policy kept"])
def test_sec_03_a_plug_in_without_credential_specs_has_the_policy_that_refuses_every_gmsa(used: dict[str, Any]) -> None:
    made = content(plan(None, kubernetes=NEW, **used), "addon-gmsa")["items"]
    kinds = [each["kind"] for each in made]
    assert kinds == ["CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]
    assert made[1]["spec"]["variables"][0]["expression"] == "{}"


def test_sec_03_text_beyond_ascii_is_escaped_as_json_and_cel_read_it() -> None:
    spec = named(contents={"CmsPlugins": ['"\\ \u00e4 \U0001f600']})["gmsa"]["credential_specs"]
    made = content(plan(None, kubernetes=NEW, gmsa={"credential_specs": spec}), "addon-gmsa")["items"]
    (policy,) = (each for each in made if each["kind"] == "ValidatingAdmissionPolicy")
    variable = policy["spec"]["variables"][0]["expression"]
    assert variable.isascii()
    assert json.loads(json.loads(variable)["web"]) == {"CmsPlugins": ['"\\ \u00e4 \U0001f600']}


@pytest.mark.parametrize(
    ("os", "runtime", "dsr", "least"),
    [
        ("windows-2019", "containerd", False, 1817),
        ("windows-2019", "containerd", True, 1935),
        ("windows-2019", "docker", False, 379),
        ("windows-2022", "containerd", False, None),
    ],
)
def test_sec_04_pods_of_containerd_on_2019_need_an_update_and_those_of_docker_do_not(
    os: str, runtime: str, dsr: bool, least: int | None
) -> None:
    pool = {"runtime": runtime, "kube_proxy": {"dsr": dsr}}
    assert one(plan(os, pool, **USED), "build").fields.get("minimum_ubr") == least
    if not dsr:
        assert one(plan(os, pool), "build").fields.get("minimum_ubr") == (379 if os == "windows-2019" else None)


@pytest.mark.parametrize("os", ["windows-2019", "windows-2022"])
def test_sec_04_credential_specs_after_the_plug_in_change_nothing_on_windows_machines(os: str) -> None:
    assert plan(os, **USED).document() == plan(os, **PLUGIN).document()


def test_sec_03_a_windows_machine_gets_the_plug_in_and_its_registration_before_a_pod_can_start() -> None:
    made = plan("windows-2022", **PLUGIN)
    download = one(made, "download-ccg-plugin").fields
    assert download["path"] == gmsa_plugin.DLL
    assert download["digest"] == "sha256:" + 64 * "1"
    values = {(each.fields["key"], each.fields["value"]): each.fields for each in phase(made, "gmsa-plugin")}
    server = rf"HKLM\SOFTWARE\Classes\CLSID\{CLSID}"
    assert values[rf"{server}\InprocServer32", ""]["data"] == gmsa_plugin.DLL
    assert values[server, "AppID"]["data"] == CLSID
    assert values[rf"HKLM\SOFTWARE\Classes\AppID\{CLSID}", "DllSurrogate"]["data"] == ""
    allowed = values[rf"HKLM\SYSTEM\CurrentControlSet\Control\CCG\COMClasses\{CLSID}", ""]
    assert allowed["data"] == ""
    assert all(each["owned"] is True for each in values.values()), "the interface may be Windows' own too"
    assert position(made, "download-ccg-plugin") < position(made, "gmsa-plugin-class") < position(made, "kubelet")
    assert "download-ccg-plugin" not in {each.name for each in plan("ubuntu-24.04", **PLUGIN).steps}


def test_sec_03_an_image_with_the_plug_in_is_only_looked_at() -> None:
    made = plan("windows-2022", **PREINSTALLED)
    [looked] = phase(made, "gmsa-plugin")
    assert (looked.kind, looked.fields["argv"][:2]) == ("probe", ["reg.exe", "query"])
    assert looked.fields["argv"][2].endswith(rf"\COMClasses\{CLSID}")
    assert "download-ccg-plugin" not in {each.name for each in made.steps}
    assert position(made, "gmsa-plugin-installed") < position(made, "kubelet")


def test_sec_03_only_services_may_start_the_plug_in_as_azures_registration_has_it() -> None:
    """The bytes are AccessPermission in registerplugin.reg of microsoft/Azure-Key-Vault-Plugin-gMSA, 432b719."""
    published = (
        "01000480440000005400000000000000140000000200300002000000000014000b000000010100000000000512000000"
        "000014000b0000000101000000000005060000000102000000000005200000002002000001020000000000052000000020020000"
    )
    made = one(plan("windows-2022", **PLUGIN), "gmsa-plugin-LaunchPermission").fields["data"]
    assert base64.b64decode(made).hex() == published
