"""A Kubernetes API in memory that checks requests: resource versions, immutable fields, verbs."""

import base64
import copy
import importlib
import re
from typing import Any

KEY = "a2V5IG9mIHRoZSBwb2ludGVy"
"""Secret desired-state, the key of signed documents."""
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
KINDS = {
    "/api/v1/nodes": ("v1", "Node"),
    "/api/v1/namespaces/kube-system/configmaps": ("v1", "ConfigMap"),
    "/api/v1/namespaces/kube-public/configmaps": ("v1", "ConfigMap"),
    "/api/v1/namespaces/kube-system/pods": ("v1", "Pod"),
    "/apis/apps/v1/namespaces/kube-system/deployments": ("apps/v1", "Deployment"),
    "/apis/policy/v1/namespaces/kube-system/poddisruptionbudgets": ("policy/v1", "PodDisruptionBudget"),
    "/api/v1/secrets": ("v1", "Secret"),
    "/api/v1/namespaces/default/secrets": ("v1", "Secret"),
    "/api/v1/namespaces/kube-system/secrets": ("v1", "Secret"),
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases": ("coordination.k8s.io/v1", "Lease"),
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases": ("coordination.k8s.io/v1", "Lease"),
    "/apis/certificates.k8s.io/v1/certificatesigningrequests": ("certificates.k8s.io/v1", "CertificateSigningRequest"),
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    f"{ADMISSION}/validatingadmissionpolicies": ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
    f"{ADMISSION}/validatingadmissionpolicybindings": (
        *("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
    ),
}
MERGE = "application/merge-patch+json"
TAINT = {"key", "value", "effect", "timeAdded"}


class Cluster:
    """Objects by path. asked: writes as texts. unready: addresses of API servers that are not ready."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.unready: set[str] = set()
        self.revision = 0

    def add(self, folder: str, name: str, **fields: Any) -> dict[str, Any]:
        """Add an object."""
        version, kind = KINDS[folder]
        metadata = {"name": name, **fields.pop("metadata", {})}
        return self._store(f"{folder}/{name}", {"apiVersion": version, "kind": kind, "metadata": metadata, **fields})

    def node(self, name: str, ready: bool = True, instance: str = "", **fields: Any) -> dict[str, Any]:
        """Add a Node."""
        condition = {"type": "Ready", "status": str(ready)}
        spec = {"providerID": f"aws:///eu-west-1a/{instance}"} if instance else {}
        spec |= fields.pop("spec", {})
        return self.add("/api/v1/nodes", name, spec=spec, status={"conditions": [condition]}, **fields)

    def beat(self, name: str, moment: float) -> None:
        """Renew a Node's Lease, as its kubelet does; moment: seconds since 1970."""
        self.add(
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", name, spec={"renewTime": f"{moment}"}
        )

    def at(self, address: str) -> Any:
        """Return the API server of one machine."""
        return _Server(self, address)

    def find(self, path: str) -> Any:
        """Stands in for Api.find."""
        return copy.deepcopy(self.objects.get(path))

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Stands in for Api.call."""
        if method != "GET":
            self.asked.append(f"{method} {path}")
        path = path.partition("?")[0]
        if path in KINDS:
            return self._folder(method, path, body)
        if found := re.fullmatch(r"(.+)/approval", path):
            return self._approve(method, found[1], body)
        folder, _, name = path.rpartition("/")
        assert folder in KINDS, f"{method} {path} is not known here"
        if path not in self.objects:
            raise self._refused(404, f"{name} not found")
        return {"GET": self._get, "PUT": self._put, "PATCH": self._patch, "DELETE": self._delete}[method](
            path, body, kind
        )

    def _folder(self, method: str, path: str, body: Any) -> Any:
        if method == "GET":
            head, _, last = path.rpartition("/")
            inside = [one for place, one in self.objects.items() if lies_in(place.rpartition("/")[0], head, last)]
            return {"items": copy.deepcopy(inside)}
        assert method == "POST", f"{method} of {path}"
        place = f"{path}/{body['metadata']['name']}"
        assert (body["apiVersion"], body["kind"]) == KINDS[path]
        if place in self.objects:
            raise self._refused(409, "already exists")
        return self._store(place, body)

    def _get(self, path: str, body: Any, kind: str) -> Any:
        return copy.deepcopy(self.objects[path])

    def _put(self, path: str, body: Any, kind: str) -> Any:
        assert (body["apiVersion"], body["kind"]) == KINDS[path.rpartition("/")[0]]
        self._same(path, body["metadata"].get("resourceVersion"))
        return self._store(path, body)

    def _patch(self, path: str, body: Any, kind: str) -> Any:
        assert kind == MERGE, kind
        self._same(path, body.get("metadata", {}).get("resourceVersion"))
        before = self.objects[path]
        after = merged(before, body)
        for field in ("podCIDR", "podCIDRs", "providerID"):
            if before["spec"].get(field) and before["spec"][field] != after["spec"].get(field):
                raise self._refused(422, f"spec.{field}: Forbidden: it cannot change")
        if after["spec"].get("podCIDR"):
            assert after["spec"]["podCIDRs"] == [after["spec"]["podCIDR"]]
        marks = [(each["key"], each["effect"]) for each in after["spec"].get("taints") or []]
        assert len(marks) == len(set(marks)), "taints must be unique by key and effect"
        assert all(set(each) <= TAINT for each in after["spec"].get("taints") or [])
        assert all(isinstance(each, str) for each in after["metadata"].get("labels", {}).values())
        return self._store(path, after)

    def _delete(self, path: str, body: Any, kind: str) -> Any:
        uid = ((body or {}).get("preconditions") or {}).get("uid")
        if uid not in (None, self.objects[path]["metadata"]["uid"]):
            raise self._refused(409, "the UID in the precondition does not match")
        del self.objects[path]
        return {"kind": "Status"}

    def _approve(self, method: str, path: str, body: Any) -> Any:
        assert method == "PUT"
        self._same(path, body["metadata"].get("resourceVersion"))
        assert body["spec"] == self.objects[path]["spec"], "an approval changes the status alone"
        (condition,) = body["status"]["conditions"]
        assert condition["type"] in ("Approved", "Denied")
        assert condition["status"] == "True"
        assert condition["reason"]
        return self._store(path, body)

    def _same(self, path: str, version: str | None) -> None:
        if version not in (None, self.objects[path]["metadata"]["resourceVersion"]):
            raise self._refused(409, "the object has been modified")

    def _store(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        self.revision += 1
        if texts := document.pop("stringData", None):
            encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
            document["data"] = {**document.get("data", {}), **encoded}
        metadata = {"uid": f"uid-{self.revision}", **document["metadata"], "resourceVersion": f"{self.revision}"}
        self.objects[path] = copy.deepcopy({**document, "metadata": metadata})
        return copy.deepcopy(self.objects[path])

    def _refused(self, status: int, message: str) -> Exception:
        return importlib.import_module("agent.api").Refused(status, message)


def lies_in(folder: str, head: str, last: str) -> bool:
    """Return whether an object is listed at head/last: that is its folder, or lists the folder in all namespaces."""
    return bool(re.fullmatch(rf"{re.escape(head)}(/namespaces/[^/]+)?/{last}", folder))


class _Server:
    """One API server of the control plane."""

    def __init__(self, cluster: Cluster, address: str) -> None:
        self.cluster, self.address = cluster, address

    def call(self, method: str, path: str) -> str:
        """Return "ok", or raise if the API server is not ready."""
        assert (method, path) == ("GET", "/readyz")
        if self.address in self.cluster.unready:
            raise importlib.import_module("agent.api").Refused(500, "etcd failed")
        return "ok"


def merged(document: Any, patch: Any) -> Any:
    """Return the document with a merge patch applied (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    kept = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            kept.pop(key, None)
        else:
            kept[key] = merged(kept.get(key), value)
    return kept
