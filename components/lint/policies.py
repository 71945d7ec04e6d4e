"""The rules as ValidatingAdmissionPolicies: the API server judges pods, and the templates of workloads, by them."""

import json
from collections.abc import Iterable
from typing import Any

from components.lint import RULES
from components.lint.rule import Context, Level, Rule, Scope
from components.lint.targets import VARIABLES

Manifest = dict[str, Any]

REFUSED, ADVISED = "mullion-windows-refused", "mullion-windows-advised"
"""Policies with the rules of level error, and of level warning."""
NAMES = {Level.ERROR: REFUSED, Level.WARNING: ADVISED}

_RESOURCES = (
    ("", ("pods", "replicationcontrollers")),
    ("apps", ("deployments", "daemonsets", "statefulsets", "replicasets")),
    ("batch", ("jobs", "cronjobs")),
)
_POD = (
    'request.kind.kind == "Pod" ? dyn(object).spec : request.kind.kind == "CronJob" '
    "? dyn(object).spec.jobTemplate.spec.template.spec : dyn(object).spec.template.spec"
)
CONTROLLERS = ("cronjob", "daemon-set", "deployment", "job", "replicaset", "replication", "statefulset")
"""Controllers that create pods, or workloads that create pods, from a template that was judged when it was written.
Names of their service accounts: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go of 1.37.1."""
_USERS = [
    *(f"system:serviceaccount:kube-system:{name}-controller" for name in CONTROLLERS),
    "system:kube-controller-manager",
]
"""Users of these controllers: their service accounts (kubeadm sets --use-service-account-credentials), or one user."""
_BY_PEOPLE = f"!(request.userInfo.username in {json.dumps(_USERS)})"
_CHANGED = (
    'request.operation == "CREATE" || (request.kind.kind == "CronJob" '
    "? dyn(object).spec.jobTemplate != dyn(oldObject).spec.jobTemplate "
    ": dyn(object).spec.?template != dyn(oldObject).spec.?template)"
)
"""Updates of pods, and of workloads that keep their template, are not judged, so that existing ones stay usable."""


def manifests(context: Context, actions: dict[Level, list[str]], exempt: Iterable[str]) -> list[Manifest]:
    """Return a policy and a binding for each level.

    actions: validationActions by level. exempt: namespaces that the policies do not judge.
    """
    return [
        manifest
        for level, action in actions.items()
        for manifest in (_policy(level, context), _binding(NAMES[level], action, sorted(exempt)))
    ]


def _policy(level: Level, context: Context) -> Manifest:
    rows = [each for each in RULES if each.level is level and each.judge == "policy"]
    validations = [made for each in rows if (made := _validation(each, context))]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAMES[level]},
        "spec": {
            # an error in an expression must not block pods
            "failurePolicy": "Ignore",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [group],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": list(resources),
                    }
                    for group, resources in _RESOURCES
                ]
            },
            "matchConditions": [
                {"name": "by-people", "expression": _BY_PEOPLE},
                {"name": "changed", "expression": _CHANGED},
            ],
            "variables": [
                {"name": "pod", "expression": _POD},
                {
                    "name": "containers",
                    "expression": "variables.pod.containers + variables.pod.?initContainers.orValue([])",
                },
                *({"name": name, "expression": each.cel("variables.pod", 0)} for name, each in VARIABLES.items()),
            ],
            "validations": validations,
        },
    }


def _validation(rule: Rule, context: Context) -> Manifest | None:
    condition = rule.applies(context)
    if condition is None:
        return None
    scope = "variables.windows" if rule.scope is Scope.WINDOWS else "variables.undeclared"
    kinds = f" && request.kind.kind in {json.dumps(list(rule.kinds))}" if rule.kinds else ""
    return {
        "expression": f"!({scope}{kinds} && {condition.cel('variables.pod', 0)})",
        "message": f"[{rule.id}] {rule.what}: {rule.fix}",
    }


def _binding(name: str, actions: list[str], exempt: list[str]) -> Manifest:
    others = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": exempt}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": actions,
            "matchResources": {"namespaceSelector": {"matchExpressions": [others]}},
        },
    }
