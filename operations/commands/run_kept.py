"""How to use the cluster that `mullion run --keep-on-failure` kept."""

from components.rollout.api_tunnel import uses_tunnel
from components.spec.choices import ApiAccess
from operations.stacks import stack_files, target


def ways_in(name: str) -> list[str]:
    """Return the commands that reach a kept cluster: by its kubeconfig, or by the cloud's sessions if that is private.

    A private API without sessions answers only inside its network, so a comment says where to run the commands.
    """
    spec = stack_files.load(name).spec
    if uses_tunnel(spec):
        return [
            f"mullion kubectl {name} -- get nodes",
            f"mullion connect {name}             # a kubeconfig for other programs, until Ctrl-C",
            f"mullion connect {name} MACHINE     # a shell",
            f"mullion logs {name} MACHINE",
        ]
    private = "   # the API is private: run this on a host in its network"
    return [
        f"export KUBECONFIG={target.folder(name) / 'kubeconfig'}",
        "kubectl get nodes" + (private if spec.api.access is ApiAccess.PRIVATE else ""),
        f"mullion logs {name} MACHINE",
    ]
