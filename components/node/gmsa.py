"""Group managed service accounts (gMSA): credential specs, the rights to them, and the update that they need."""

import json
from collections.abc import Mapping
from typing import Any

from components import releases
from components.node import gmsa_policies
from components.node.manifests import Manifest, manifests_of
from components.node.role import Role
from components.spec.choices import Runtime
from components.spec.gmsa import NamedGmsa

CONTENTS = "mullion.dev/contents"
"""Annotation of a GMSACredentialSpec: its contents as pods must have them, to the byte."""


def manifests(role: Role) -> list[Manifest]:
    """Return the kind, the credential specs, the rights to them, and the policies; empty if nothing of gMSA is used.

    A plug-in alone has the policy that refuses pods: machines with a plug-in give every gMSA that its account may read
    to a pod with contents of its own. Before Kubernetes 1.36 nothing fills in contents, so pods have them beside the
    name.
    """
    specs = role.spec.gmsa.credential_specs
    if not role.spec.gmsa.judges_pods:
        return []
    contents = texts(specs)
    policies = gmsa_policies.judging(contents)
    if specs and role.release.mutating_policies:
        policies += gmsa_policies.filling(contents)
    objects = [each for name, spec in sorted(specs.items()) for each in _objects(name, spec)]
    return [*manifests_of("gmsa.yaml"), *objects, *policies]


def text(spec: NamedGmsa) -> str:
    """Return the contents of a credential spec as pods have them."""
    return json.dumps(spec.contents, sort_keys=True, separators=(",", ":"))


def texts(specs: Mapping[str, NamedGmsa]) -> dict[str, str]:
    """Return the contents of credential specs as pods have them, by name."""
    return {name: text(each) for name, each in specs.items()}


def minimum_ubr(role: Role) -> int | None:
    """Return the smallest update revision for pods with a gMSA; None without a plug-in, and with Docker (SEC-04).

    Credential specs need a plug-in, and are no part of it: the first one replaces no machine.
    """
    if not role.spec.gmsa.plugin or role.runtime is not Runtime.CONTAINERD:
        return None
    return releases.windows(role.os).gmsa_ubr


def _objects(name: str, spec: NamedGmsa) -> list[Manifest]:
    """Return the credential spec, the role that may use it, and its binding to the service accounts."""
    known = f"mullion-gmsa-{name}"
    rule = {
        "apiGroups": [gmsa_policies.GROUP],
        "resources": [gmsa_policies.RESOURCE],
        "resourceNames": [name],
        # get: before Kubernetes 1.36 whoever writes the pod needs the object's annotation
        "verbs": [gmsa_policies.VERB, "get"],
    }
    return [
        {
            "apiVersion": f"{gmsa_policies.GROUP}/v1",
            "kind": "GMSACredentialSpec",
            "metadata": {"name": name, "annotations": {CONTENTS: text(spec)}},
            "credspec": spec.contents,
        },
        {**_rbac("ClusterRole", known), "rules": [rule]},
        {
            **_rbac("ClusterRoleBinding", known),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": known},
            "subjects": [_account(each) for each in spec.users],
        },
    ]


def _rbac(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}}


def _account(user: str) -> dict[str, str]:
    namespace, _, name = user.partition("/")
    return {"kind": "ServiceAccount", "namespace": namespace, "name": name}
