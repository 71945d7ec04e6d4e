"""Ends the power of machines that were replaced or revoked, as far as Kubernetes can: it cannot revoke certificates.

Each round removes the Node and the tokens of revoked machines. From Kubernetes 1.30 on, an admission policy refuses
all their writes; from 1.32 on also writes with a certificate of a replaced machine, whose user is its successor's too.
"""

from typing import Any

from agent.announcements import SECRETS, owner
from agent.api import Api, Refused
from agent.machines import FINGERPRINT, Machines
from agent.memory import Memory
from agent.seen import Seen
from agent.signing import CREDENTIAL

NAME = "mullion-revoked"
"""Name of the policy, its binding, and the ConfigMap of kube-system with what it refuses."""
FOLDER = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = f"{FOLDER}/validatingadmissionpolicies", f"{FOLDER}/validatingadmissionpolicybindings"
EXTRA = f"request.userInfo.extra['{CREDENTIAL}']"
EXPRESSION = (
    "!has(params.data) || !(request.userInfo.username.replace(':', '.') in params.data || (has(request.userInfo.extra)"
    f" && '{CREDENTIAL}' in request.userInfo.extra && {EXTRA}.exists(each, each.replace('=', '.') in params.data)))"
)
"""Keys of the ConfigMap are users and credentials; a key has no colon and no equals sign."""
MESSAGE = "the machine of this certificate is replaced or revoked"
POLICY: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": NAME},
    "spec": {
        # an error of evaluation must not take all nodes down
        "failurePolicy": "Ignore",
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": ["*"],
                    "apiVersions": ["*"],
                    "operations": ["CREATE", "UPDATE", "DELETE", "CONNECT"],
                    "resources": ["*/*"],
                }
            ]
        },
        "matchConditions": [
            {"name": "node", "expression": "request.userInfo.username.startsWith('system:node:')"},
        ],
        "validations": [{"expression": EXPRESSION, "message": MESSAGE}],
    },
}
BINDING: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": NAME},
    "spec": {
        "policyName": NAME,
        "validationActions": ["Deny"],
        "paramRef": {"name": NAME, "namespace": "kube-system", "parameterNotFoundAction": "Allow"},
    },
}


def reconcile(seen: Seen) -> None:
    """Remove Nodes and tokens of revoked machines, and keep the policy and its list."""
    if seen.members is None:
        return
    revoked = {name: seen.machines.issued(name).instance for name in seen.members if is_revoked(seen.machines, name)}
    for name in revoked:
        if node := seen.nodes().get(name):
            seen.remove(node)
    if revoked:
        for secret in seen.api.call("GET", SECRETS)["items"]:
            if any(owner(secret, name) == instance for name, instance in revoked.items()):
                seen.api.call("DELETE", f"{SECRETS}/{secret['metadata']['name']}")
    Memory(seen.api, NAME).become(refused(seen.machines, revoked))
    for folder, document in ((POLICIES, POLICY), (BINDINGS, BINDING)):
        keep(seen.api, folder, document)


def is_revoked(machines: Machines, name: str) -> bool:
    """Return whether the machine that has the name is revoked; its successor is not."""
    issued = machines.issued(name)
    return issued.revoked and issued.instance == machines.present(name)


def refused(machines: Machines, revoked: dict[str, str]) -> dict[str, str]:
    """Return the data of the ConfigMap: why, by user or credential."""
    listed = {f"system.node.{name}": f"machine {instance} is revoked" for name, instance in revoked.items()}
    for name in machines.members:
        for mark in machines.issued(name).before:
            listed[f"{FINGERPRINT[:-1]}.{mark}"] = f"of an earlier machine {name}"
    return listed


def keep(api: Api, folder: str, document: dict[str, Any]) -> None:
    """Create or replace an object; do nothing if this Kubernetes does not have its kind."""
    found = api.find(f"{folder}/{NAME}")
    if found and contains(found["spec"], document["spec"]):
        return
    try:
        if found:
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            api.call("PUT", f"{folder}/{NAME}", document | {"metadata": document["metadata"] | version})
        else:
            api.call("POST", folder, document)
    except Refused as error:
        if error.status not in (404, 409):  # no such kind before 1.30; another agent was first
            raise


def contains(found: Any, wanted: Any) -> bool:
    """Return whether the object has the wanted fields; the API server adds defaults of others."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(contains(found.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(contains, found, wanted))
    return found == wanted
