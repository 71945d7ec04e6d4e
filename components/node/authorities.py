"""Certificate authorities on Linux machines: files and steps of `rotation.certificate_authorities` (docs/pki.md)."""

from typing import Any

from components.node import retries
from components.node.endpoint import authority
from components.node.kinds import Step, ref, step
from components.node.layout import LINUX, PKI
from components.node.role import Role

SIGNER, CROSS = f"{PKI}/signer.crt", f"{PKI}/cross.crt"
"""The signing authority's certificate alone (kube-controller-manager accepts no file with two), and the certificate by
which clients that trust its predecessor alone accept the API server; both only once authorities were rotated."""


RENEW = [LINUX.program("kubeadm"), "certs", "renew", "all"]
"""The program that signs all certificates of kubeadm again."""

CERTIFICATES = [f"{PKI}/{name}.crt" for name in retries.CERTIFICATES]
"""Files of these certificates."""


def files(role: Role) -> dict[str, str]:
    """Return the files of this number that kubeadm does not read, by member of the secret."""
    now = role.spec.authorities
    signer = {"signer.crt": SIGNER} if now.number else {}
    return {**signer, "cross.crt": CROSS} if now.signer else signer


def signing(role: Role) -> dict[str, str]:
    """Return the flags of kube-controller-manager."""
    return {"cluster-signing-cert-file": SIGNER} if role.spec.authorities.number else {}


def upgrading(role: Role) -> list[str]:
    """Return the flags of `kubeadm upgrade`, which would renew the API server's certificate without its chain."""
    return ["--certificate-renewal=false"] if role.spec.authorities.signer else []


def ca_file(role: Role) -> Step:
    """Return the step that writes the CA file of the machine.

    A worker pins the authority of its user-data, and then follows the cluster; a control plane reads the secret.
    """
    now = role.spec.authorities
    if not (role.is_control_plane and now.number):
        return authority(LINUX.ca)
    return step("secret", "cluster-ca", secret=ref("facts.pki_secret"), member=now.member("ca.crt"), path=LINUX.ca)


def certificates(role: Role, joined: str, pods: dict[str, Any]) -> tuple[Step, ...]:
    """Return the step that has every certificate of kubeadm signed by the signing authorities; none before a rotation.

    joined: file that exists once kubeadm has made them. pods: commands for static pods (agent.py).
    """
    if not role.spec.authorities.number:
        return ()
    made = step(
        "kubeadm-certificates",
        "kubeadm-certificates",
        requires=joined,
        renew=RENEW,
        pods=pods,
        **whole(role),
    )
    return (made,)


def whole(role: Role) -> dict[str, Any]:
    """Return what files have beside what kubeadm writes: all authorities, and the chain; empty before a rotation.

    The agent renews certificates too, and completes the files after it.
    """
    now = role.spec.authorities
    if not now.number:
        return {}
    return {
        "authorities": [f"{PKI}/{name}.crt" for name in ("ca", "front-proxy-ca", "etcd/ca")],
        "certificates": CERTIFICATES,
        "kubeconfigs": [f"/etc/kubernetes/{name}.conf" for name in retries.KUBECONFIGS],
        "kubelet": LINUX.kubelet_kubeconfig,
        **({"served": f"{PKI}/apiserver.crt", "chain": CROSS} if now.signer else {}),
    }
