"""Ends the power of machines that were replaced or revoked, as far as Kubernetes can: it cannot revoke certificates.

Each round removes the Node and the tokens of revoked machines. From Kubernetes 1.30 on, an admission policy refuses
all their writes. From 1.32 on also those with a certificate of a replaced machine, whose user is its successor's too:
it accepts only the successor's certificates, because whoever has the key can write other forms of the certificate
(authorization.py). With the same list the API servers refuse every request (agent/refusals.py).
"""

import itertools
import random
from typing import Any

from authorization import CREDENTIAL, FINGERPRINT, ONLY
from failure import Failure

from agent.announcements import SECRETS, owner
from agent.api import Api, Refused
from agent.etcd import CONTROL_PLANE
from agent.machines import Issued, valid
from agent.memory import Memory
from agent.seen import Seen

NAME = "mullion-revoked"
"""Name of the policy, its binding, and the ConfigMap of kube-system with what it refuses."""
FOLDER = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = f"{FOLDER}/validatingadmissionpolicies", f"{FOLDER}/validatingadmissionpolicybindings"
_USER = "request.userInfo.username.replace(':', '.')"
_EXTRA = f"request.userInfo.extra['{CREDENTIAL}']"
_LISTED = f"{_EXTRA}.exists(each, each.replace('=', '.') in params.data)"
_FOREIGN = (
    f"('{ONLY}' + {_USER}) in params.data && !{_EXTRA}.exists(each, params.data['{ONLY}' + {_USER}].contains(each))"
)
EXPRESSION = (
    f"!has(params.data) || !({_USER} in params.data || (has(request.userInfo.extra)"
    f" && '{CREDENTIAL}' in request.userInfo.extra && ({_LISTED} || ({_FOREIGN}))))"
)
"""Keys of the ConfigMap: users and certificates that are refused; and for users with ONLY before them, the certificates
that are not, as a text. A key has no colon and no equals sign."""
MARKS = 5000
"""Certificates of replaced machines on the list; a line has at most about 130 bytes, and a ConfigMap 1 MiB."""
REVOKED = "the machine is revoked"
"""Why a user is on the list after `mullion revoke`."""
ONLY_NODE = f"{ONLY}system.node."
"""Begin of the keys whose value has the only certificates of a node."""
MARK = f"{FINGERPRINT[:-1]}."
"""Begin of a certificate's key on the list."""
ASKED = 10
"""Machines about which one round asks the cloud: hundreds may leave at once, and accounts limit requests."""
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
    """Keep the policy and its list, and remove Nodes and tokens of revoked machines. Raise RuntimeError at the end."""
    if seen.members is None:
        return
    # also names that are no longer planned: their certificates are valid until they end
    issued = {name: seen.machines.issued(name) for name in seen.machines.memory.values}
    revoked = {name: each.instance for name, each in issued.items() if each.revoked}
    wrong = list_refused(seen, issued)
    for folder, document in ((POLICIES, POLICY), (BINDINGS, BINDING)):
        keep(seen.api, folder, document)
    for name, instance in revoked.items():
        try:
            node = seen.nodes().get(name)
            if node and seen.machines.present(name) in ("", instance):
                seen.remove(node)
        except (Failure, Refused, RuntimeError) as error:
            wrong.append(f"{name}: {error}")
    if revoked:
        for secret in seen.api.call("GET", SECRETS)["items"]:
            if any(owner(secret, name) == instance for name, instance in revoked.items()):
                seen.api.call("DELETE", f"{SECRETS}/{secret['metadata']['name']}")
    if wrong:
        raise RuntimeError("; ".join(wrong))


def list_refused(seen: Seen, issued: dict[str, Issued]) -> list[str]:
    """Write the list; if it is too large, the revoked machines alone. Return errors.

    A user stays on the list until the agent has admitted a successor: the user is also the thief's, and the machine may
    be deleted or its name no longer planned. If the cloud does not answer, listed certificates stay on the list.
    """
    users = {f"system.node.{name}": REVOKED for name, each in issued.items() if each.revoked}
    memory, wrong = Memory(seen.api, NAME), list[str]()
    before = {key: text for key, text in memory.values.items() if text != REVOKED}
    try:
        found, gone = refused(seen, issued, before, wrong)
        listed = marks(found) | {f"system.node.{name}": "the machine is deleted" for name in gone}
        only = {f"{ONLY_NODE}{name}": accepted(each) for name, each in guarded(seen, issued, memory.values).items()}
    except Failure as error:
        listed, names = before, (key.removeprefix(ONLY_NODE) for key in before if key.startswith(ONLY_NODE))
        # certificates of machines on the list are renewed meanwhile
        only = {f"{ONLY_NODE}{name}": accepted(issued.get(name, Issued())) for name in names}
        wrong.append(f"{error}")
    try:
        memory.become(listed | only | users)
    except Refused as error:
        if error.status not in (413, 422):  # too large
            raise
        wrong.append(f"{error}")
        Memory(seen.api, NAME).become(users)
    return wrong


def refused(
    seen: Seen, issued: dict[str, Issued], listed: dict[str, str], wrong: list[str]
) -> tuple[dict[str, dict[str, float]], set[str]]:
    """Return the end of certificates of machines that no longer have their name, by sha256, by name; and the names of
    those that are deleted and have no successor.

    listed: certificates and users on the list whose machines were found deleted in an earlier round. wrong: gets the
    errors of single machines.
    """
    found, gone = {name: dict(each.before) for name, each in issued.items()}, set[str]()
    asked = 0
    # in random order, so that ASKED keeps no name off the list for ever
    for name in random.sample(sorted(issued), len(issued)):
        ends, instance, present = valid(issued[name].certificates or {}), issued[name].instance, ""
        # the user of a name that is not planned is refused, if only for certificates of machines before its last one
        matters = ends or (name not in (seen.members or {}) and valid(issued[name].before))
        if not matters or (present := seen.machines.present(name)) == instance:
            continue
        # a machine that is not planned, or shuts down, still drains: its kubelet must be able to write
        known = bool(present) or any(f"{MARK}{mark}" in listed for mark in ends) or f"system.node.{name}" in listed
        if not known and asked < ASKED:
            asked += 1
            try:
                known = seen.deleted(instance)
            except Failure as error:
                wrong.append(f"{name}: {error}")
        if known:
            found[name] |= ends
            gone |= set() if present else {name}
    return found, gone


def guarded(seen: Seen, issued: dict[str, Issued], listed: dict[str, str]) -> dict[str, Issued]:
    """Return the workers of whose names only certificates on record are accepted: earlier machines' are still valid. A
    machine that the cloud has and that is not entered yet has none.

    Not control planes: whoever had root on one has the cluster's authorities, and kubeadm signs certificates there that
    the record may lack. Nor workers that have not joined by a token since the last restore (Issued.founding).
    listed: the present list; it stays while the founding's number is not known.
    """
    now, present = seen.machines.founding, seen.machines.present

    def is_listed(name: str) -> bool:
        return f"{ONLY_NODE}{name}" in listed

    def is_worker(name: str) -> bool:
        """A name that is no longer planned is one if it is listed: its machine drains."""
        member = (seen.members or {}).get(name)
        return member["pool"] != CONTROL_PLANE if member else is_listed(name)

    return {
        name: each if present(name) in ("", each.instance) else Issued()
        for name, each in issued.items()
        if is_worker(name)
        and each.certificates is not None
        and (valid(each.before) or present(name) not in ("", each.instance))
        and (each.founding == now if now >= 0 else is_listed(name))
    }


def accepted(issued: Issued) -> str:
    """Return the certificates of the present machine of a name, with a space between them."""
    return " ".join(f"{FINGERPRINT}{mark}" for mark in sorted(valid(issued.certificates or {})))


def marks(ends: dict[str, dict[str, float]]) -> dict[str, str]:
    """Return why writes are refused, by credential; at most MARKS, of all names in turn, so that one name's many
    certificates keep no other name's off the list. Of one name, those that end last come first.
    """
    listed: list[list[tuple[str, str]]] = []
    for name, before in ends.items():
        latest = sorted(before, key=lambda mark: (-before[mark], mark))
        listed.append([(f"{MARK}{mark}", f"of an earlier machine {name}") for mark in latest])
    in_turn = (line for row in itertools.zip_longest(*listed) for line in row if line)
    return dict(itertools.islice(in_turn, MARKS))


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
