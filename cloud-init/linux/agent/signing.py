"""Kubelets' certificate requests: approves those that come from the member's present machine, denies others.

docs/node-identity.md says what proves it. kubeadm has kube-controller-manager approve any Node name for a bootstrap
token, and every renewal: its approver does not run, and both bindings are removed.
"""

import random
from collections import Counter
from datetime import datetime
from typing import Any, Literal, NamedTuple

from failure import Failure
from report import say

from agent.announcements import machine_group
from agent.api import Api, Refused
from agent.machines import HELD, HOURLY, Issued, credentials, crowded
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
BOOTSTRAPPER, BOOTSTRAPPERS = "system:bootstrap:", "system:bootstrappers"
LONGEST_NAME = 63
"""Characters of a request's name; kubelets' have at most 52 (node-csr- and a sha256 in base64)."""
LONGEST_REASON = 500
TOO_MANY = f"the machine got {HOURLY} certificates within an hour, or has {HELD} valid ones"
LISTED = 5
"""Names in the reason of a denial."""
AT_ONCE, WAITING = 20, 2
"""Requests of one requester that one round judges, and that may wait for later rounds. A kubelet has one at a time,
and one more after a restart.
"""


class Verdict(NamedTuple):
    """approve; replace (delete the old machine's Node first, then approve); deny; or wait for a later round.

    Every node can read the reason of other nodes' requests, so it has no id of a machine.
    """

    action: Literal["approve", "replace", "deny", "wait"]
    reason: str


class Known(NamedTuple):
    """What the agent knows about the machine with the requested name."""

    present: str = ""
    """Id of the machine that has the name in the cloud now; empty if none has."""
    issued: Issued = Issued()
    gone: bool = False
    """Whether the cloud has deleted the machine of the Node of this name."""
    names: frozenset[str] = frozenset()
    """DNS names and addresses, besides the planned ones, that the cloud gives to the present machine."""


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
        return serving(request, members[name], own, spec, known)
    if request.names or request.addresses:
        return Verdict("deny", "a client certificate must have no subjectAltName")
    return renewal(name, spec, known, created) if own else joining(name, spec, known)


def joining(name: str, spec: dict[str, Any], known: Known) -> Verdict:
    """Return the verdict on the first certificate of a member's machine: its token must be the machine's own.

    The API server writes the token's groups into the request, which cannot change: a later token of the same id does
    not count.
    """
    user, groups = spec.get("username", ""), spec.get("groups") or []
    if BOOTSTRAPPERS not in groups or not user.startswith(BOOTSTRAPPER):
        return Verdict("deny", f"{user} is neither {NODE}{name} nor a bootstrapper")
    if not known.present:
        return Verdict("deny", f"the cloud has no machine {name}")
    if machine_group(name, known.present) not in groups:
        return Verdict("deny", f"the token is not of the machine that has the name {name} now")
    if known.issued.revoked and known.issued.instance == known.present:
        return Verdict("deny", f"the machine {name} is revoked")
    if known.issued.instance == known.present and crowded(known.issued):
        return Verdict("wait", TOO_MANY)
    if known.gone or known.issued.instance not in ("", known.present):
        return Verdict("replace", f"a new machine takes over the name {name}")
    return Verdict("approve", f"the machine has the name {name}")


def foreign(name: str, spec: dict[str, Any], known: Known) -> Verdict | None:
    """Return the verdict on a requester with a node's certificate that is not the member's present machine, else None.

    Kubernetes before 1.32 does not tell with which certificate a request was made; there the certificate of an earlier
    machine passes.
    """
    issued, used = known.issued, credentials(spec)
    if not known.present:
        return Verdict("deny", f"the cloud has no machine {name}")
    if issued.instance not in ("", known.present):
        return Verdict("deny", f"another machine has the name {name} now")
    if issued.revoked:
        return Verdict("deny", f"the machine {name} is revoked")
    if not used or issued.certificates is None or used & set(issued.certificates):
        return None
    if issued.asked:
        return Verdict("wait", f"a certificate of the machine {name} is not recorded yet")
    return Verdict("deny", f"the requester's certificate was not issued to the machine that has the name {name} now")


def renewal(name: str, spec: dict[str, Any], known: Known, created: float) -> Verdict:
    """Return the verdict on a further client certificate of a node."""
    if wrong := foreign(name, spec, known):
        return wrong
    if crowded(known.issued):
        return Verdict("wait", TOO_MANY)
    older = max(known.issued.before.values(), default=0.0)
    if not credentials(spec) and created < older:
        return Verdict("deny", f"certificates of an earlier machine {name} are valid: {name} can renew once they end")
    return Verdict("approve", f"{name} renews its own certificate")


def asked_for(subject: tuple[tuple[str, str], ...]) -> str | None:
    """Return the Node's name if the subject is exactly a node's, else None."""
    wanted = [value for kind, value in subject if kind == "CN"]
    name = wanted[0].removeprefix(NODE) if len(wanted) == 1 else ""
    return name if name and subject == (("CN", NODE + name), ("O", NODES)) else None


def serving(request: Request, member: dict[str, Any], own: bool, spec: dict[str, Any], known: Known) -> Verdict:
    """Return the verdict on a serving certificate: for the names of the member alone, requested by itself alone."""
    if not own:
        return Verdict("deny", f"only {NODE}{member['name']} may request it")
    if wrong := foreign(member["name"], spec, known):
        return wrong
    asked = {*request.names, *request.addresses}
    others = asked - {member["name"], member["address"], *known.names}
    if others or not asked:
        has = f"{member['name']} and {member['address']}"
        named = ", ".join(sorted(others)[:LISTED]) or "nothing"
        more = f" and {len(others) - LISTED} more" if len(others) > LISTED else ""
        return Verdict("deny", f"it is for {named}{more}, and the member has {has}")
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
    requests = seen.api.call("GET", PATH)["items"]
    wrong = seen.machines.collect(requests)
    judged, waiting = Counter[str](), Counter[str]()
    for request in random.sample(requests, len(requests)):  # a flood of one requester keeps no other one out
        user = request["spec"].get("username", "")
        undecided = not (request.get("status") or {}).get("conditions")
        if request["spec"].get("signerName") in USAGES and undecided and judged[user] < AT_ONCE:
            judged[user] += 1
            try:
                judge(seen, request, waiting)
            except (Failure, Refused, RuntimeError) as error:
                wrong.append(f"{request['metadata']['name']}: {error}")
    if wrong:
        raise RuntimeError("; ".join(wrong))


def judge(seen: Seen, request: dict[str, Any], waiting: Counter[str]) -> None:
    """Decide on one request and send the decision. waiting: this round's waiting requests by user."""
    name, spec = request["metadata"]["name"], seen.decoded(request["spec"])
    wanted = requested(spec)
    node = seen.nodes().get(wanted)
    created = moment(request["metadata"].get("creationTimestamp"))
    verdict = decide(spec, seen.members or {}, known(seen, wanted, spec, node), created)
    if len(name) > LONGEST_NAME:  # the record of machines keeps names
        verdict = Verdict("deny", f"the request's name has more than {LONGEST_NAME} characters")
    if verdict.action == "wait":
        waiting[spec.get("username", "")] += 1
        if waiting[spec.get("username", "")] > WAITING:
            verdict = Verdict("deny", f"{WAITING} requests wait already: {verdict.reason}")
    if verdict.action == "wait" or (verdict.action == "deny" and not seen.members_current):
        return
    if verdict.action == "replace" and node:
        seen.remove(node)
    if verdict.action != "deny" and spec["signerName"] == CLIENT:
        joins = spec.get("username") != NODE + wanted
        seen.machines.approved(wanted, name, None if joins else credentials(spec))
    word = "Denied" if verdict.action == "deny" else "Approved"
    condition = {"type": word, "status": "True", "reason": "MullionAgent", "message": verdict.reason[:LONGEST_REASON]}
    request["status"] = {**(request.get("status") or {}), "conditions": [condition]}
    seen.api.call("PUT", f"{PATH}/{name}/approval", request)
    say(f"request {name} of {spec.get('username')}: {word}: {condition['message']}")


def known(seen: Seen, name: str, spec: dict[str, Any], node: dict[str, Any] | None) -> Known:
    """Return what is known about the machine of a planned member. Raise Failure if the cloud does not answer."""
    if not seen.members or name not in seen.members:
        return Known()
    joins = spec.get("username", "").startswith(BOOTSTRAPPER)
    gone = seen.gone(node) if node and joins else False
    present = seen.machines.present(name)
    # with a cloud controller a kubelet asks for all addresses of its Node, which that controller reads in the cloud
    names = seen.machines.names(present) if present and further(spec, seen.members[name]) else frozenset[str]()
    return Known(present, seen.machines.issued(name), gone, names)


def further(spec: dict[str, Any], member: dict[str, Any]) -> bool:
    """Return whether the member itself asks for a serving certificate with more than its name and address."""
    if spec.get("signerName") != SERVING or spec.get("username") != NODE + member["name"]:
        return False
    try:
        request = parsed(spec["request"])
    except Malformed:
        return False
    return not {*request.names, *request.addresses} <= {member["name"], member["address"]}


def moment(text: str | None) -> float:
    """Return the seconds since 1970 of the API's time; 0 for none."""
    return datetime.strptime(text.replace("Z", "+0000"), "%Y-%m-%dT%H:%M:%S%z").timestamp() if text else 0.0


def requested(spec: dict[str, Any]) -> str:
    """Return the Node name that a request is for; empty if it is malformed."""
    try:
        return asked_for(parsed(spec["request"]).subject) or ""
    except Malformed:
        return ""
