"""Kubelets' certificate requests: approves those that come from the member's present machine, denies others.

docs/node-identity.md says what proves it. kubeadm has kube-controller-manager approve any Node name for a bootstrap
token, and every renewal: its approver does not run, and both bindings are removed.
"""

import re
from datetime import datetime
from typing import Any, Literal, NamedTuple

from failure import Failure
from report import say

from agent.announcements import TOKENS, owner
from agent.api import Api, Refused
from agent.machines import FINGERPRINT, Issued
from agent.requests import Malformed, Request, parsed
from agent.seen import Seen

PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
AUTOMATIC = ("kubeadm:node-autoapprove-bootstrap", "kubeadm:node-autoapprove-certificate-rotation")
CLIENT, SERVING = "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"
USAGES = {CLIENT: {"digital signature", "client auth"}, SERVING: {"digital signature", "server auth"}}
ALSO = {"key encipherment"}
"""Usage that kubelets omit for keys that cannot encipher."""
NODE, NODES = "system:node:", "system:nodes"
TOKEN_ID = re.compile(r"[a-z0-9]{6}")
BOOTSTRAPPER, BOOTSTRAPPERS = "system:bootstrap:", "system:bootstrappers"
CREDENTIAL = "authentication.kubernetes.io/credential-id"
"""Key of a requester's `extra` with its certificate; the API server adds it from Kubernetes 1.32 on."""


class Verdict(NamedTuple):
    """approve; replace (delete the old machine's Node first, then approve); deny; or wait for a later round."""

    action: Literal["approve", "replace", "deny", "wait"]
    reason: str


class Known(NamedTuple):
    """What the agent knows about the machine with the requested name."""

    present: str = ""
    """Id of the machine that has the name in the cloud now; empty if none has."""
    announced: str = ""
    """Id of the machine that made the requester's bootstrap token; empty for a token that no machine made."""
    issued: Issued = Issued()
    gone: bool = False
    """Whether the cloud has deleted the machine of the Node of this name."""


def decide(spec: dict[str, Any], members: dict[str, Any], known: Known, created: float) -> Verdict:
    """Return the verdict on a kubelet's request.

    spec: of the CertificateSigningRequest, with `request` decoded. members: by name. created: when the request was
    made, seconds since 1970.
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
        return serving(request, members[name], own, foreign(name, spec, known))
    if request.names or request.addresses:
        return Verdict("deny", "a client certificate must have no subjectAltName")
    return renewal(name, spec, known, created) if own else joining(name, spec, known)


def joining(name: str, spec: dict[str, Any], known: Known) -> Verdict:
    """Return the verdict on the first certificate of a member's machine: its token must be the machine's own."""
    user = spec.get("username", "")
    if BOOTSTRAPPERS not in (spec.get("groups") or []) or not user.startswith(BOOTSTRAPPER):
        return Verdict("deny", f"{user} is neither {NODE}{name} nor a bootstrapper")
    if not known.present:
        return Verdict("deny", f"the cloud has no machine {name}")
    if known.announced != known.present:
        return Verdict("deny", f"the token is not of machine {known.present}, which has the name {name}")
    if known.issued.revoked and known.issued.instance == known.present:
        return Verdict("deny", f"machine {known.present} is revoked")
    if known.gone or known.issued.instance not in ("", known.present):
        return Verdict("replace", f"machine {known.present} takes over the name {name}")
    return Verdict("approve", f"machine {known.present} has the name {name}")


def foreign(name: str, spec: dict[str, Any], known: Known) -> Verdict | None:
    """Return the verdict on a requester with a node's certificate that is not the member's present machine, else None.

    Kubernetes before 1.32 does not tell with which certificate a request was made; there the certificate of an earlier
    machine passes.
    """
    issued, used = known.issued, (spec.get("extra") or {}).get(CREDENTIAL) or []
    if not known.present:
        return Verdict("deny", f"the cloud has no machine {name}")
    if issued.instance not in ("", known.present):
        return Verdict("deny", f"machine {issued.instance} had the name {name}, and {known.present} has it now")
    if issued.revoked:
        return Verdict("deny", f"machine {known.present} is revoked")
    marks = {each.removeprefix(FINGERPRINT).lower() for each in used}
    if not used or issued.certificates is None or marks & set(issued.certificates):
        return None
    if issued.asked:
        return Verdict("wait", f"a certificate of machine {known.present} is not recorded yet")
    return Verdict("deny", f"the requester's certificate was not issued to machine {known.present}")


def renewal(name: str, spec: dict[str, Any], known: Known, created: float) -> Verdict:
    """Return the verdict on a further client certificate of a node."""
    if wrong := foreign(name, spec, known):
        return wrong
    older = max(known.issued.before.values(), default=0.0)
    if not (spec.get("extra") or {}).get(CREDENTIAL) and created < older:
        return Verdict("deny", f"certificates of an earlier machine {name} are valid: {name} can renew once they end")
    return Verdict("approve", f"{name} renews its own certificate")


def asked_for(subject: tuple[tuple[str, str], ...]) -> str | None:
    """Return the Node's name if the subject is exactly a node's, else None."""
    wanted = [value for kind, value in subject if kind == "CN"]
    name = wanted[0].removeprefix(NODE) if len(wanted) == 1 else ""
    return name if name and subject == (("CN", NODE + name), ("O", NODES)) else None


def serving(request: Request, member: dict[str, Any], own: bool, wrong: Verdict | None) -> Verdict:
    """Return the verdict on a serving certificate: only for the member's name and address, only requested by itself.

    wrong: the verdict if the requester is not the member's present machine.
    """
    if not own:
        return Verdict("deny", f"only {NODE}{member['name']} may request it")
    if wrong:
        return wrong
    asked = {*request.names, *request.addresses}
    others = asked - {member["name"], member["address"]}
    if others or not asked:
        has = f"{member['name']} and {member['address']}"
        return Verdict("deny", f"it is for {', '.join(sorted(others)) or 'nothing'}, and the member has {has}")
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
    requests = seen.api.call("GET", PATH)["items"]
    seen.machines.collect(requests)
    for request in requests:
        if request["spec"].get("signerName") in USAGES and not (request.get("status") or {}).get("conditions"):
            try:
                judge(seen, request)
            except (Failure, Refused, RuntimeError) as error:
                wrong.append(f"{request['metadata']['name']}: {error}")
    if wrong:
        raise RuntimeError("; ".join(wrong))


def judge(seen: Seen, request: dict[str, Any]) -> None:
    """Decide on one request and send the decision."""
    name, spec = request["metadata"]["name"], seen.decoded(request["spec"])
    wanted = requested(spec)
    node = seen.nodes().get(wanted)
    created = moment(request["metadata"].get("creationTimestamp"))
    verdict = decide(spec, seen.members or {}, known(seen, wanted, spec, node), created)
    if verdict.action == "wait" or (verdict.action == "deny" and not seen.members_current):
        return
    if verdict.action == "replace" and node:
        seen.remove(node)
    if verdict.action != "deny" and spec["signerName"] == CLIENT:
        joins = spec.get("username") != NODE + wanted
        seen.machines.approved(wanted, name, joins)
    word = "Denied" if verdict.action == "deny" else "Approved"
    condition = {"type": word, "status": "True", "reason": "MullionAgent", "message": verdict.reason}
    request["status"] = {**(request.get("status") or {}), "conditions": [condition]}
    seen.api.call("PUT", f"{PATH}/{name}/approval", request)
    say(f"request {name} of {spec.get('username')}: {word}: {verdict.reason}")


def known(seen: Seen, name: str, spec: dict[str, Any], node: dict[str, Any] | None) -> Known:
    """Return what is known about the machine of a planned member. Raise Failure if the cloud does not answer."""
    if name not in (seen.members or {}):
        return Known()
    user = spec.get("username", "")
    token = user.removeprefix(BOOTSTRAPPER) if user.startswith(BOOTSTRAPPER) else ""
    announced = owner(seen.api.find(f"{TOKENS}{token}"), name) if TOKEN_ID.fullmatch(token) else ""
    gone = seen.gone(node) if node and token else False
    return Known(seen.machines.present(name), announced, seen.machines.issued(name), gone)


def moment(text: str | None) -> float:
    """Return the seconds since 1970 of the API's time; 0 for none."""
    return datetime.strptime(text.replace("Z", "+0000"), "%Y-%m-%dT%H:%M:%S%z").timestamp() if text else 0.0


def requested(spec: dict[str, Any]) -> str:
    """Return the Node name that a request is for; empty if it is malformed."""
    try:
        return asked_for(parsed(spec["request"]).subject) or ""
    except Malformed:
        return ""
