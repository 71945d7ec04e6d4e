"""Publishes the trusted authorities, and takes those that are no longer trusted out of what API servers publish.

Workers follow kubeadm's ConfigMap `cluster-info` (authorities.py), which every machine may read without a user. kubeadm
writes it without the moment when it founds or restores a cluster; until the agent adds that, no worker follows it.

API servers add their authorities to `extension-apiserver-authentication`, by which extension API servers, controller
managers and schedulers know their clients, and never take one away (kubernetes,
pkg/controlplane/controller/clusterauthenticationtrust). An API server that still has an authority adds it again.
"""

import re
import time
from typing import Any

import authorities
import x509
from run import Run

from agent.api import Api

FILE = "/etc/kubernetes/pki/ca.crt"
CLIENTS = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
OF_CLIENTS = {"client-ca-file": FILE, "requestheader-client-ca-file": "/etc/kubernetes/pki/front-proxy-ca.crt"}
"""Members of the ConfigMap, and the file of this machine with the same authorities."""
OURS = re.compile(rb"[\x0c\x13].(?:kubernetes|front-proxy-ca)(?:-\d+)?\Z", re.DOTALL)
"""End of the subject of an authority that Mullion made; those of `kubeadm.config` stay."""


def reconcile(run: Run, api: Api) -> None:
    """Write the authorities of this machine's CA file into the ConfigMap unless it has them; drop former ones."""
    found = api.find(authorities.CLUSTER_INFO)
    if found is None:
        return  # kubeadm creates it at the end of the founding
    trusted = run.path(FILE).read_text()
    if {*x509.every(trusted)} != {*authorities.published(found)} or not authorities.moment(found):
        found["data"][authorities.MEMBER] = authorities.replaced(found["data"][authorities.MEMBER], trusted)
        since = max(int(time.time()), authorities.moment(found) + 1)
        found["metadata"].setdefault("annotations", {})[authorities.MOMENT] = str(since)
        api.call("PUT", authorities.CLUSTER_INFO, found)
    drop(run, api)


def drop(run: Run, api: Api) -> None:
    """Take former authorities out of `extension-apiserver-authentication`."""
    found: dict[str, Any] = api.find(CLIENTS) or {}
    held = found.get("data") or {}
    changed: dict[str, str] = {}
    for member in OF_CLIENTS.keys() & held.keys():
        trusted = x509.every(run.path(OF_CLIENTS[member]).read_text())
        every = x509.every(held[member])
        kept = [der for der in every if der in trusted or not OURS.search(x509.subject(der))]
        if kept and kept != every:
            changed[member] = "".join(map(x509.pem, kept))
    if changed:
        api.call("PUT", CLIENTS, {**found, "data": {**held, **changed}})
