"""Kubelets' certificate requests: approves those of planned members, denies others with a reason, or waits.

kubeadm has kube-controller-manager approve any Node name for a bootstrap token, and every renewal. Both bindings are
removed: a bootstrap token only gets the certificate of a planned member that has not joined yet, and a node that is no
longer planned cannot renew.
"""

from typing import Any, Literal, NamedTuple

from failure import Failure
from report import say

from agent.api import Api, Refused
from agent.requests import Malformed, Request, parsed
from agent.seen import Seen, is_ready

PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
AUTOMATIC = ("kubeadm:node-autoapprove-bootstrap", "kubeadm:node-autoapprove-certificate-rotation")
CLIENT, SERVING = "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"
USAGES = {CLIENT: {"digital signature", "client auth"}, SERVING: {"digital signature", "server auth"}}
ALSO = {"key encipherment"}
"""Usage that kubelets omit for keys that cannot encipher."""
NODE, NODES = "system:node:", "system:nodes"
BOOTSTRAPPER, BOOTSTRAPPERS = "system:bootstrap:", "system:bootstrappers"


class Verdict(NamedTuple):
    """approve; replace (delete the old machine's Node first, then approve); deny; or wait."""

    action: Literal["approve", "replace", "deny", "wait"]
    reason: str


def decide(spec: dict[str, Any], members: dict[str, Any], node: dict[str, Any] | None, machine_gone: bool) -> Verdict:
    """Return the verdict on a kubelet's request.

    spec: of the CertificateSigningRequest, with `request` decoded. members: by name. node: the Node of the requested
    name, or None. machine_gone: whether the cloud has deleted that Node's machine.
    """
    try:
        request = parsed(spec["request"])
    except Malformed as malformed:
        return Verdict("deny", f"{malformed}")
    name, usages, needed = asked_for(request.subject), set(spec.get("usages") or []), USAGES[spec["signerName"]]
    if name is None:
        return Verdict("deny", f"the subject is not exactly O={NODES}, CN={NODE}<name>")
    if name not in members:
        return Verdict("deny", f"{name} is no planned member")
    if not needed <= usages <= needed | ALSO:
        return Verdict("deny", f"the usages are {', '.join(sorted(usages))}")
    own = spec.get("username") == NODE + name and NODES in (spec.get("groups") or [])
    if spec["signerName"] == SERVING:
        return serving(request, members[name], own)
    if request.names or request.addresses:
        return Verdict("deny", "a client certificate must have no subjectAltName")
    return Verdict("approve", f"{name} renews its own certificate") if own else joining(name, spec, node, machine_gone)


def joining(name: str, spec: dict[str, Any], node: dict[str, Any] | None, machine_gone: bool) -> Verdict:
    """Return the verdict on the first certificate of a planned member or of a replacement machine."""
    user = spec.get("username", "")
    if BOOTSTRAPPERS not in (spec.get("groups") or []) or not user.startswith(BOOTSTRAPPER):
        return Verdict("deny", f"{user} is neither {NODE}{name} nor a bootstrapper")
    if node is None:
        return Verdict("approve", f"{name} is planned and has no Node yet")
    if is_ready(node):
        return Verdict("wait", f"Node {name} is Ready: another machine uses the name")
    if machine_gone:
        return Verdict("replace", f"{name} is planned, and its Node's machine is deleted")
    return Verdict("approve", f"{name} is planned, and its Node is not Ready")


def asked_for(subject: tuple[tuple[str, str], ...]) -> str | None:
    """Return the Node's name if the subject is exactly a node's, else None."""
    wanted = [value for kind, value in subject if kind == "CN"]
    name = wanted[0].removeprefix(NODE) if len(wanted) == 1 else ""
    return name if name and subject == (("CN", NODE + name), ("O", NODES)) else None


def serving(request: Request, member: dict[str, Any], own: bool) -> Verdict:
    """Return the verdict on a serving certificate: only for the member's name and address, only requested by itself."""
    if not own:
        return Verdict("deny", f"only {NODE}{member['name']} may request it")
    asked = {*request.names, *request.addresses}
    foreign = asked - {member["name"], member["address"]}
    if foreign or not asked:
        has = f"{member['name']} and {member['address']}"
        return Verdict("deny", f"it is for {', '.join(sorted(foreign)) or 'nothing'}, and the member has {has}")
    return Verdict("approve", f"{member['name']} serves at its own name and address")


def close(api: Api) -> None:
    """Delete the bindings that approve kubelets' requests automatically; kubeadm recreates them at each upgrade."""
    for name in AUTOMATIC:
        try:
            api.call("DELETE", f"{BINDINGS}/{name}")
        except Refused as error:
            if error.status != 404:
                raise


def reconcile(seen: Seen) -> None:
    """Judge every undecided request of a kubelet. A failure does not stop the others; all are raised at the end."""
    if seen.members is None:
        return  # the members are unknown: requests wait
    wrong: list[str] = []
    for request in seen.api.call("GET", PATH)["items"]:
        if request["spec"].get("signerName") in USAGES and not (request.get("status") or {}).get("conditions"):
            try:
                judge(seen, request)
            except (Failure, Refused) as error:
                wrong.append(f"{request['metadata']['name']}: {error}")
    if wrong:
        raise RuntimeError("; ".join(wrong))


def judge(seen: Seen, request: dict[str, Any]) -> None:
    """Decide on one request and send the decision."""
    name, spec = request["metadata"]["name"], seen.decoded(request["spec"])
    node = seen.nodes().get(requested(spec))
    machine_gone = seen.gone(node) if node and not is_ready(node) else False
    verdict = decide(spec, seen.members or {}, node, machine_gone)
    if verdict.action == "wait" or (verdict.action == "deny" and not seen.members_current):
        return
    if verdict.action == "replace" and node:
        seen.remove(node)
    word = "Denied" if verdict.action == "deny" else "Approved"
    condition = {"type": word, "status": "True", "reason": "MullionAgent", "message": verdict.reason}
    request["status"] = {**(request.get("status") or {}), "conditions": [condition]}
    seen.api.call("PUT", f"{PATH}/{name}/approval", request)
    say(f"request {name} of {spec.get('username')}: {word}: {verdict.reason}")


def requested(spec: dict[str, Any]) -> str:
    """Return the Node name that a request is for; empty if it is malformed."""
    try:
        return asked_for(parsed(spec["request"]).subject) or ""
    except Malformed:
        return ""
