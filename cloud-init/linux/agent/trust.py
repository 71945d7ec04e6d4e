"""Publishes the trusted authorities in kubeadm's ConfigMap `cluster-info`, which every machine may read without a user.

Workers follow it (authorities.py): they read it from an API server whose certificate the authorities that they trust
so far have signed. Before the first rotation it has the cluster's one authority, and nothing is written.
"""

import authorities
import x509
from run import Run

from agent.api import Api

FILE = "/etc/kubernetes/pki/ca.crt"


def reconcile(run: Run, api: Api) -> None:
    """Write the authorities of this machine's CA file into the ConfigMap unless it has them."""
    trusted, found = run.path(FILE).read_text(), api.find(authorities.CLUSTER_INFO)
    if found is None:
        return  # kubeadm creates it at the end of the founding
    if x509.every(trusted) != authorities.published(found):
        found["data"][authorities.MEMBER] = authorities.replaced(found["data"][authorities.MEMBER], trusted)
        api.call("PUT", authorities.CLUSTER_INFO, found)
