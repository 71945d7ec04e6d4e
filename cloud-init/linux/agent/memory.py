"""Shared state of the agents: ConfigMaps in kube-system, which no node can write (unlike annotations of its Node).

mullion-agent:
pointer, members   serials of the last accepted documents; older ones are refused
turn               name of the machine whose turn it is; empty if none
applied            digest of the ClusterConfiguration that kubeadm applied last
key.*, signer.*, rewritten   keys of API servers: agent/keys.py
dns.replicas       number of replicas of CoreDNS that the agent set last
dns.moved          moment (seconds since 1970) of the deletion of a pod of CoreDNS, until pods run on two Nodes
copying            last try of a copy of a snapshot, while none has succeeded since: agent/attempts.py
left.*             by Node name: providerID of the machine whose member was removed from etcd last

mullion-machines: agent/machines.py; its revoked machines also outside etcd: agent/revoked_machines.py.
mullion-revoked: agent/revocations.py. mullion-snapshot, mullion-drill: agent/configmap_requests.py.

mullion-planned: by Node name, the keys {"labels": [key], "taints": ["key:Effect"]} that were set last.
"""

from agent.api import Api, Refused

PATH = "/api/v1/namespaces/kube-system/configmaps"
AGENT, PLANNED = "mullion-agent", "mullion-planned"


class Memory:
    """A ConfigMap as read; a write fails if another client has written since."""

    def __init__(self, api: Api, name: str = AGENT) -> None:
        self.api, self.name = api, name
        found = api.find(f"{PATH}/{name}")
        self.found = found or {"metadata": {"name": name, "namespace": "kube-system"}}
        self.values: dict[str, str] = self.found.get("data") or {}

    def serial(self, name: str) -> int:
        """Return the last accepted serial; 0 if there is none."""
        return int(self.values.get(name) or 0)

    def write(self, **changes: str) -> bool:
        """Add or change these values; return False if another client has written since the read."""
        return self.become({**self.values, **changes})

    def become(self, values: dict[str, str]) -> bool:
        """Store exactly these values; return False if another client has written since the read."""
        if values == self.values:
            return True
        wanted = {**self.found, "apiVersion": "v1", "kind": "ConfigMap", "data": values}
        exists = "resourceVersion" in self.found["metadata"]
        try:
            self.found = self.api.call("PUT" if exists else "POST", f"{PATH}/{self.name}" if exists else PATH, wanted)
        except Refused as error:
            if error.status != 409:
                raise
            return False
        self.values = values
        return True


def keep(api: Api, **changes: str) -> bool:
    """Store values that depend on no others; return False if other clients interfered five times."""
    return any(Memory(api).write(**changes) for _ in range(5))
