"""Options of `ingress` for the test of change effects: a valid start, and another value of each option."""

from typing import Any

INGRESS: dict[str, Any] = {
    "ingress": {
        "load_balancers": {
            "web": {
                "pools": ["linux"],
                "ports": [{"port": 80, "node_port": 30080}],
                "allow": ["10.0.0.0/8"],
                "internal": True,
            }
        },
        "node_ports": {"ports": [30080], "allow": ["172.16.0.0/12"]},
    },
}
VALUES: dict[str, Any] = {
    "ingress.load_balancers.*.pools": ["web"],
    "ingress.load_balancers.*.ports": [{"port": 443, "node_port": 30443}],
    "ingress.load_balancers.*.allow": ["192.168.0.0/16"],
    "ingress.load_balancers.*.internal": False,
    "ingress.load_balancers.*.health.port": 10256,
    "ingress.load_balancers.*.health.path": "/healthz",
    "ingress.node_ports.ports": [30081],
    "ingress.node_ports.allow": ["192.168.0.0/16"],
}
