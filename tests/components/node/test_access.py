"""Pod Security Standards and sign-in of people in the control plane's plan."""

from typing import Any

import pytest
from pydantic import ValidationError

from components.node.plan import NodePlan
from components.spec.access import Oidc
from tools.golden.samples import content, init_documents, one, plan

OIDC = {"issuer": "https://login.example.com", "client": "kubernetes"}


def _server(node_plan: NodePlan) -> dict[str, Any]:
    server = init_documents(node_plan)["ClusterConfiguration"]["apiServer"]
    given = server["extraArgs"]
    return {
        **server,
        "extraArgs": given if isinstance(given, dict) else {each["name"]: each["value"] for each in given},
    }


def test_the_api_server_reads_the_file_with_the_levels_of_the_stack() -> None:
    node_plan = plan(None, pod_security={"enforce": "restricted", "exempt_namespaces": ["monitoring"]})
    assert (
        _server(node_plan)["extraArgs"]["admission-control-config-file"] == one(node_plan, "admission").fields["path"]
    )
    assert [each["hostPath"] for each in _server(node_plan)["extraVolumes"]].count("/etc/kubernetes/admission") == 1
    (plugin,) = content(node_plan, "admission")["plugins"]
    standards = plugin["configuration"]
    assert (standards["defaults"]["enforce"], standards["defaults"]["warn"]) == ("restricted", "baseline")
    assert standards["exemptions"]["namespaces"] == ["kube-system", "monitoring"]


def test_other_levels_have_another_file_so_that_the_api_server_restarts() -> None:
    paths = {
        one(plan(None, pod_security={"enforce": level}), "admission").fields["path"]
        for level in ("privileged", "baseline", "restricted")
    }
    assert len(paths) == 3


def test_minors_without_the_plugin_have_no_file_and_no_flag() -> None:
    node_plan = plan(None, kubernetes="1.22.17", pools={})
    assert "admission" not in [each.name for each in node_plan.steps]
    assert "admission-control-config-file" not in _server(node_plan)["extraArgs"]


def test_groups_get_roles_under_the_names_that_the_api_server_gives_them() -> None:
    node_plan = plan(None, api={"oidc": {**OIDC, "prefix": "acme:", "admins": ["ops"], "viewers": ["web", "data"]}})
    assert _server(node_plan)["extraArgs"]["oidc-groups-prefix"] == "acme:"
    bound = {
        binding["roleRef"]["name"]: [subject["name"] for subject in binding["subjects"]]
        for binding in content(node_plan, "addon-sign-in")["items"]
    }
    assert bound == {"cluster-admin": ["acme:ops"], "view": ["acme:web", "acme:data"]}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("issuer", "http://login.example.com"),
        ("issuer", "https://login.example.com?tenant=1"),
        ("issuer", "https://user:word@login.example.com"),
        ("prefix", ""),
        ("prefix", "system:"),
        ("prefix", "s"),
        ("prefix", "system"),
        ("prefix", "-"),
        ("client", "two\nlines"),
        ("admins", [" ops"]),
        ("required_claims", {"hd": "a,b=c"}),
    ],
)
def test_values_that_the_api_server_would_refuse_or_misread_are_errors(option: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        Oidc.model_validate({**OIDC, option: value})
