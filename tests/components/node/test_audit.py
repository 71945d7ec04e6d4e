"""Which requests the API server's audit log has: the first rule that matches decides (audit.k8s.io/v1, Policy)."""

from typing import Any

import pytest

from components.node.control_plane import AUDIT_POLICY

NODE = {"user": "system:node:web-0", "groups": ["system:nodes", "system:authenticated"]}
MANAGER = {"user": "system:kube-controller-manager", "groups": ["system:authenticated"]}
AGENT = {"user": "system:serviceaccount:kube-system:flannel", "groups": ["system:serviceaccounts:kube-system"]}
PERSON = {"user": "jo@example.com", "groups": ["system:authenticated"]}
APP = {"user": "system:serviceaccount:shop:default", "groups": ["system:serviceaccounts:shop"]}


def level(who: dict[str, Any], verb: str, resource: str, group: str = "") -> str:
    """Return the level of a request for a resource."""
    for rule in AUDIT_POLICY["rules"]:
        named = [each for each in rule.get("resources", []) if each["group"] == group]
        resources = not rule.get("resources") or any(resource in each.get("resources", [resource]) for each in named)
        users = who["user"] in rule.get("users", [who["user"]])
        groups = "userGroups" not in rule or bool(set(rule["userGroups"]) & set(who["groups"]))
        if "nonResourceURLs" not in rule and resources and users and groups and verb in rule.get("verbs", [verb]):
            return rule["level"]
    return "None"


@pytest.mark.parametrize(
    ("who", "verb", "resource", "wanted"),
    [
        (NODE, "watch", "pods", "None"),
        (NODE, "patch", "nodes/status", "Metadata"),
        (NODE, "get", "secrets", "Metadata"),
        (NODE, "create", "serviceaccounts/token", "Metadata"),
        (NODE, "get", "nodes/proxy", "Metadata"),
        (MANAGER, "list", "pods", "None"),
        (MANAGER, "list", "secrets", "Metadata"),
        (MANAGER, "delete", "pods", "Metadata"),
        (AGENT, "watch", "nodes", "None"),
        (AGENT, "patch", "nodes", "Metadata"),
        (PERSON, "get", "pods", "Metadata"),
        (PERSON, "list", "secrets", "Metadata"),
        (AGENT, "get", "pods/exec", "Metadata"),
        (AGENT, "get", "pods/portforward", "Metadata"),
        (APP, "list", "configmaps", "Metadata"),
    ],
)
def test_reads_of_kubernetes_programs_are_not_audited_but_changes_people_and_secrets_are(
    who: dict[str, Any], verb: str, resource: str, wanted: str
) -> None:
    assert level(who, verb, resource) == wanted
