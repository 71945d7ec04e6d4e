"""Admission policies of credential specs: pods get the contents by name, and only with the right to them.

They do what the webhook of kubernetes-sigs/windows-gmsa does, without a program in the cluster, and judge ephemeral
containers too. The contents are in the policies themselves, so no object that somebody changes has an effect on pods.
"""

import json
from collections.abc import Mapping
from typing import Any

Manifest = dict[str, Any]

FILL, JUDGE = "mullion-gmsa-contents", "mullion-gmsa"
"""Names of the policy that fills in contents, and of the one that refuses pods."""
GROUP, RESOURCE, VERB = "windows.k8s.io", "gmsacredentialspecs", "use"
"""What a pod's service account must be allowed to do, as in Kubernetes' guide, "Configure GMSA for Windows Pods"."""
API = "admissionregistration.k8s.io/v1"

_CREATED = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
_DEBUGGED = {**_CREATED, "operations": ["UPDATE"], "resources": ["pods/ephemeralcontainers"]}

_NAME, _CONTENTS = "gmsaCredentialSpecName", "gmsaCredentialSpec"
_HERE = "each.?securityContext.?windowsOptions"


def _options(place: str) -> str:
    """Return the list of windowsOptions of containers, or of a list with the pod's spec."""
    return f"{place}.filter(each, {_HERE}.hasValue()).map(each, dyn(each.securityContext.windowsOptions))"


def _ephemeral() -> str:
    """Return the options of ephemeral containers that are new: others were judged when they came."""
    new = (
        "object.spec.?ephemeralContainers.orValue([]).filter(each, !oldObject.spec.?ephemeralContainers.orValue([])"
        ".exists(before, before.name == each.name))"
    )
    return _options(new)


_POD = " + ".join(
    _options(place) for place in ("[object.spec]", "object.spec.containers", "object.spec.?initContainers.orValue([])")
)
_ALL = f'request.operation == "UPDATE" ? {_ephemeral()} : {_POD}'
_GMSA = f"({_ALL}).filter(each, has(each.{_NAME}) || has(each.{_CONTENTS}))"
"""Options with a credential spec: of new ephemeral containers, or of a new pod and its containers."""
_CONDITIONS = [{"name": "gmsa", "expression": f"{_GMSA}.size() > 0"}]
_ACCOUNT = 'object.spec.?serviceAccountName.orValue("default")'


def judging(contents: Mapping[str, str]) -> list[Manifest]:
    """Return the policy that refuses pods without the right to a credential spec, or with other contents than its own.

    contents: the JSON of each credential spec, by name.
    """
    known = f"each.?{_NAME}.orValue('') in variables.contents"
    validations = [
        {
            "expression": f"variables.gmsa.all(each, {known})",
            # without the other names, which tenants need not know
            "message": f"{_NAME} must be a credential spec of gmsa.credential_specs in the stack file",
            "reason": "Invalid",
        },
        {
            "expression": f"variables.gmsa.all(each, !({known})"
            f" || each.?{_CONTENTS}.orValue('') == variables.contents[each.{_NAME}])",
            "message": f"{_CONTENTS} must be the annotation mullion.dev/contents of the GMSACredentialSpec",
            "reason": "Invalid",
        },
        *(_right(name) for name in sorted(contents)),
    ]
    spec = {
        # a policy that does not answer must let no pod have an identity
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [_CREATED, _DEBUGGED]},
        "matchConditions": _CONDITIONS,
        "variables": [_variable(contents), {"name": "gmsa", "expression": _GMSA}],
        "validations": validations,
    }
    policy = {"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": JUDGE}, "spec": spec}
    binding = {**_binding("Validating", JUDGE), "spec": {"policyName": JUDGE, "validationActions": ["Deny"]}}
    return [policy, binding]


def filling(contents: Mapping[str, str]) -> list[Manifest]:
    """Return the policy that writes the contents into pods and containers that have the name only."""
    system = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}
    spec = {
        # it meets every pod, so a fault in it must stop none: the judge refuses a pod that was not filled in
        "failurePolicy": "Ignore",
        # another policy or webhook may add containers or names. Without conditions: the API server calls a policy again
        # only if it called it before, and one with an unmet condition was not called (mutating/dispatcher.go of
        # k8s.io/apiserver)
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {"resourceRules": [_CREATED], "namespaceSelector": {"matchExpressions": [system]}},
        "variables": [_variable(contents)],
        "mutations": [
            _mutation(_pod()),
            *(_mutation(_containers(place)) for place in ("containers", "initContainers")),
        ],
    }
    policy = {"apiVersion": API, "kind": "MutatingAdmissionPolicy", "metadata": {"name": FILL}, "spec": spec}
    return [policy, {**_binding("Mutating", FILL), "spec": {"policyName": FILL}}]


def _right(name: str) -> dict[str, str]:
    """Return the rule about the right to one credential spec; it asks the authorizer only for pods that name it."""
    asked = (
        f"authorizer.serviceAccount(request.namespace, {_ACCOUNT}).group('{GROUP}').resource('{RESOURCE}')"
        f".namespace(request.namespace).name('{name}').check('{VERB}').allowed()"
    )
    return {
        "expression": f"!variables.gmsa.exists(each, each.?{_NAME}.orValue('') == '{name}') || {asked}",
        "message": f"the pod's service account may not use the credential spec {name}: add it to"
        f" gmsa.credential_specs.{name}.users, or bind it to a role with the verb {VERB}",
        "reason": "Forbidden",
    }


def literal(contents: Mapping[str, str]) -> str:
    """Return the expression with all contents by name. JSON of ASCII letters is a literal of CEL."""
    return json.dumps(dict(sorted(contents.items())))


def _variable(contents: Mapping[str, str]) -> dict[str, str]:
    return {"name": "contents", "expression": literal(contents)}


def _binding(kind: str, name: str) -> Manifest:
    return {"apiVersion": API, "kind": f"{kind}AdmissionPolicyBinding", "metadata": {"name": name}}


def _mutation(expression: str) -> dict[str, Any]:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


_UNFILLED = f"{_HERE}.?{_NAME}.orValue('') in variables.contents && !{_HERE}.?{_CONTENTS}.hasValue()"
"""Whether a container, or the pod's spec, has the name of a credential spec alone."""


def _pod() -> str:
    """Return the change of the pod's own options."""
    wanted = f"[object.spec].exists(each, {_UNFILLED})"
    return f"{wanted} ? Object{{spec: Object.spec{{{_filled('Object.spec', 'object.spec')}}}}} : Object{{}}"


def _containers(place: str) -> str:
    """Return the change of a list of containers, which the API server merges by their names."""
    kind, found = f"Object.spec.{place}", f"object.spec.?{place}.orValue([]).filter(each, {_UNFILLED})"
    changed = f"{found}.map(each, {kind}{{name: each.name, {_filled(kind, 'each')}}})"
    return f"{found}.size() > 0 ? Object{{spec: Object.spec{{{place}: {changed}}}}} : Object{{}}"


def _filled(kind: str, source: str) -> str:
    """Return the field of a container, or of the pod's spec, with the contents for its name."""
    contents = f"variables.contents[{source}.securityContext.windowsOptions.{_NAME}]"
    context = f"{kind}.securityContext"
    return f"securityContext: {context}{{windowsOptions: {context}.windowsOptions{{{_CONTENTS}: {contents}}}}}"
