"""Bootstrap tokens of machines that announced that they want to join: one for each machine, valid for an hour.

A machine's announcement is an object that only this machine may write, or has a token that names the machine
(announcing.py). The bootstrap token has a group of the member and the machine, which the API server writes into each
certificate request made with it.
"""

import dataclasses
import hashlib
import json
import random
import re
import time
from base64 import b64decode
from datetime import datetime, timezone
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

import announcing
import loader
from report import say

from agent.api import Refused
from agent.machines import successor
from agent.seen import AWAY, Seen

SECRETS = "/api/v1/namespaces/kube-system/secrets"
TOKENS = f"{SECRETS}/bootstrap-token-"
GROUP = "system:bootstrappers:kubeadm:default-node-token"
"""Group that kubeadm gives the rights that `kubeadm join` needs."""
MACHINE_GROUP = "system:bootstrappers:mullion:"
"""Prefix of a machine's group, which has no rights. Groups of tokens match
`\\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\\z` (Kubernetes, cluster-bootstrap/token/api), so a digest
follows: ids of Azure's machines have other characters.
"""
SECONDS, RENEW_SECONDS = 3600, 1200
"""Lifetime of a token, and what must be left of it; kube-controller-manager's tokencleaner deletes ended ones."""
NUMBER = re.compile(r"[0-9a-f]{32}")
LARGEST = 65536
"""Maximum bytes of an announcement."""
AT_ONCE = 50
"""Announcements read in one round, so that a round stays shorter than the agent's Lease."""
ABSENT = (403, 404)
"""Statuses for a missing object; stores answer 403 to clients that may not list."""


def owner(secret: dict[str, Any] | None, name: str) -> str:
    """Return the id of the machine that a token's Secret was made for; empty unless it has the member's name."""
    described = decoded(secret).get("description", "") if secret else ""
    member, _, instance = described.partition(" ")
    return instance if member == name else ""


def machine_group(name: str, instance: str) -> str:
    """Return the group that only bootstrap tokens of this machine, as this member, have."""
    return MACHINE_GROUP + hashlib.sha256(f"{name} {instance}".encode()).hexdigest()


def decoded(secret: dict[str, Any]) -> dict[str, str]:
    """Return the fields of a Secret."""
    return {key: b64decode(value).decode() for key, value in (secret.get("data") or {}).items()}


def reconcile(seen: Seen) -> None:
    """Create tokens for present machines that have no living Node, and end the rights of machines before them.

    A failure of one member does not stop the others; all are raised at the end. If the store does not answer or lacks
    the secret, fail at once: every member would fail.
    """
    if seen.members is None:
        return
    seen.machines.present("")  # an error of the cloud is one error, not one for each member
    seen.nodes()
    wrong: list[str] = []
    left = AT_ONCE
    # in random order, so that AT_ONCE keeps no member out for ever
    for name in random.sample(sorted(seen.members), len(seen.members)):
        try:
            if needs_token(seen, name) and left:
                left -= 1
                admit(seen, seen.members[name], seen.machines.present(name))
        except (Refused, HTTPError, loader.Oversized, RuntimeError) as error:
            wrong.append(f"{name}: {error}")
    if wrong:
        raise RuntimeError("; ".join(wrong))


def needs_token(seen: Seen, name: str) -> bool:
    """Return whether the member's machine can join and has not; end the rights of the machine before it."""
    instance = seen.machines.present(name)
    issued, node = seen.machines.issued(name), seen.nodes().get(name)
    if not instance or (issued.revoked and issued.instance == instance):
        return False
    if issued.instance not in ("", instance):
        # the Node of this agent's own machine is new: step restored-node has replaced and marked it
        if node and seen.run.told["machine"]["name"] != name:
            seen.remove(node)
        heir = successor(issued, instance)
        # the machine of this agent, which founded the restored cluster: kubeadm signed its first certificate
        own = {**(heir.certificates or {}), **seen.machines.own(name)}
        seen.machines.enter(name, dataclasses.replace(heir, certificates=own))
        say(f"machine {instance} has the name {name}: certificates of machine {issued.instance} are not renewed")
    if not issued.instance and lives(seen, name):
        seen.machines.enter(name, dataclasses.replace(issued, instance=instance))  # it joined before there was a record
    waits = not lives(seen, name) or seen.machines.issued(name).certificates == {}
    return waits and bool((seen.members or {})[name].get("records"))


def lives(seen: Seen, name: str) -> bool:
    """Return whether the member has a Node whose kubelet renews its Lease."""
    node = seen.nodes().get(name)
    return bool(node) and seen.silent_for(node) < AWAY


def admit(seen: Seen, member: dict[str, Any], instance: str) -> None:
    """Create the machine's token if it has announced itself and the token is missing or ends soon."""
    number = announced(seen, member, instance)
    if not number:
        return
    key = seen.run.secret(seen.run.value("facts.join_secret"))
    identifier, _, secret = announcing.token(key, number).partition(".")
    seen.run.keep_unsaid(f"{identifier}.{secret}")
    found = seen.api.find(f"{TOKENS}{identifier}")
    ends = moment(decoded(found).get("expiration", "")) if found else 0.0
    if found and owner(found, member["name"]) != instance:
        say(f"token {identifier} of machine {instance} of {member['name']} belongs to another machine", "failed")
        return  # with another owner, a pending request of that machine would count as this machine's
    groups = f"{GROUP},{machine_group(member['name'], instance)}"
    if found and ends - time.time() > RENEW_SECONDS and decoded(found).get("auth-extra-groups") == groups:
        return
    metadata = {"name": f"bootstrap-token-{identifier}", "namespace": "kube-system"}
    wanted = {"apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token", "metadata": metadata}
    wanted["stringData"] = {
        "token-id": identifier,
        "token-secret": secret,
        "expiration": datetime.fromtimestamp(time.time() + SECONDS, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": groups,
        "description": f"{member['name']} {instance}",
    }
    try:
        seen.api.call("PUT" if found else "POST", f"{TOKENS}{identifier}" if found else SECRETS, wanted)
    except Refused as error:
        if error.status != 409:
            raise


def announced(seen: Seen, member: dict[str, Any], instance: str) -> str:
    """Return the number that the machine announced; empty if it announced nothing that can be used."""
    store = seen.run.value("facts.bundle_store").rstrip("/")
    try:
        place = announcing.place(store, quote(member["records"], safe=""), instance)
        content = seen.run.ask("store", place, most=LARGEST)
    except HTTPError as error:
        if error.code in ABSENT:
            return ""
        raise
    try:
        document = json.loads(content)
        number = document["number"] if document["instance"] == instance else ""
    except (ValueError, LookupError, TypeError, RecursionError):
        document, number = {}, ""
    if not isinstance(number, str) or not NUMBER.fullmatch(number):
        say(f"the announcement of machine {instance} of {member['name']} is not valid", "failed")
        return ""
    if why := seen.run.cloud.disproof(seen.run, document, instance):
        say(f"the announcement of machine {instance} for {member['name']} is refused: {why}", "failed")
        return ""
    return number


def moment(text: str) -> float:
    """Return the seconds since 1970 of a token's expiration; 0 if it cannot be read."""
    try:
        return datetime.strptime(text.replace("Z", "+0000"), "%Y-%m-%dT%H:%M:%S%z").timestamp()
    except ValueError:
        return 0.0
