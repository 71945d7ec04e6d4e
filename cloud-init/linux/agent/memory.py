"""What agents remember together: ConfigMaps of kube-system, which no node can write (unlike annotations of its Node).

mullion-agent:
pointer, members   serials of the documents followed last; older ones are refused
turn               name of the machine that may change itself; empty: nobody's
applied            digest of the ClusterConfiguration that kubeadm applied last
key.*, signer.*, rewritten   keys of API servers: agent/keys.py
left.*             providerID of the machine of that name whose member left etcd last

mullion-planned: by name of a Node, {"labels": [key], "taints": ["key:Effect"]} as planned when it was made so.
"""

from agent.api import Api, Refused

PATH = "/api/v1/namespaces/kube-system/configmaps"
AGENT, PLANNED = "mullion-agent", "mullion-planned"


class Memory:
    """A ConfigMap as it was read; writes are refused once somebody else wrote."""

    def __init__(self, api: Api, name: str = AGENT) -> None:
        self.api, self.name = api, name
        found = api.find(f"{PATH}/{name}")
        self.found = found or {"metadata": {"name": name, "namespace": "kube-system"}}
        self.values: dict[str, str] = self.found.get("data") or {}

    def serial(self, name: str) -> int:
        """The serial followed last; 0 before the first."""
        return int(self.values.get(name) or 0)

    def write(self, **changes: str) -> bool:
        """Keep these values too; False when somebody else wrote since it was read."""
        return self.become({**self.values, **changes})

    def become(self, values: dict[str, str]) -> bool:
        """Keep these values and no others; False when somebody else wrote since it was read."""
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
    """Keep values that depend on nothing else there; False when others wrote each time."""
    return any(Memory(api).write(**changes) for _ in range(5))
