"""A control plane gets new certificates in a rotation of authorities."""

from pathlib import Path
from typing import Any

from tests.cloud_init.authorities import CONF, CROSS, NEW, OLD, RESTART, kubeconfig, leaf
from tests.cloud_init.linux import Execute, Programs, put

PKI = "/etc/kubernetes/pki"
RENEW = ["kubeadm", "certs", "renew", "all"]
CERTIFICATES: dict[str, Any] = {
    "kind": "kubeadm-certificates",
    "name": "certificates",
    "requires": "/joined",
    "authorities": [f"{PKI}/ca.crt"],
    "certificates": [f"{PKI}/apiserver.crt"],
    "kubeconfigs": ["/etc/kubernetes/admin.conf", "/etc/kubernetes/super-admin.conf"],
    "kubelet": f"/{CONF}",
    "renew": RENEW,
    "served": f"{PKI}/apiserver.crt",
    "chain": f"{PKI}/cross.crt",
    "retries": 0,
    "pods": {
        "find": {each: ["find", each] for each in ("etcd", "kube-apiserver", "kube-controller-manager")}
        | {"kube-scheduler": ["find", "kube-scheduler"]},
        "stop": ["stop"],
        "running": ["running"],
        "started": ["started"],
    },
}


def test_a_control_plane_gets_certificates_of_the_signing_authority_and_restarts_their_readers(
    execute: Execute, programs: Programs, root: Path
) -> None:
    served, admin = leaf(NEW)["certificate"], leaf(NEW, "kubernetes-admin")["certificate"]
    trusted = NEW["certificate"] + OLD["certificate"]
    put(root, f"{PKI}/ca.crt", trusted)
    put(root, f"{PKI}/cross.crt", CROSS)
    former = leaf(OLD)
    put(root, f"{PKI}/apiserver.crt", former["certificate"])
    put(root, f"{PKI}/apiserver.key", former["key"])
    put(root, "etc/kubernetes/admin.conf", kubeconfig(OLD["certificate"], **{"client-certificate-data": served}))
    put(root, CONF, kubeconfig(OLD["certificate"]))
    programs.answers |= {"find": (0, "pod"), "running": (0, "container"), "started": (0, "2001-01-01T00:00:00Z")}

    def renewed() -> None:
        """Do what kubeadm does: leaves alone, and the first authority in kubeconfigs."""
        put(root, f"{PKI}.fresh/apiserver.crt", served)
        put(root, f"{PKI}.fresh/apiserver.key", "its key")
        kept = (root / PKI.lstrip("/") / "apiserver.crt").read_text()
        assert kept == former["certificate"], "the API server reads it at once, and it has no chain yet"
        put(root, "etc/kubernetes/admin.conf", kubeconfig(NEW["certificate"], **{"client-certificate-data": admin}))

    def stopped() -> None:
        programs.answers["started"] = (0, "2999-01-01T00:00:00Z")

    programs.effects |= {"kubeadm certs renew": renewed, "stop": stopped}
    assert execute(CERTIFICATES)["state"] == "done"
    assert programs.asked == [], "this machine has not joined"
    put(root, "/joined", "")
    assert execute(CERTIFICATES)["state"] == "done"
    assert programs.asked.count([*RENEW, f"--cert-dir={PKI}.fresh"]) == 1
    assert not (root / f"{PKI}.fresh".lstrip("/")).exists()
    assert (root / PKI.lstrip("/") / "apiserver.key").read_text() == "its key"
    assert (root / PKI.lstrip("/") / "apiserver.crt").read_text() == served + CROSS
    assert (root / CONF).read_text() == kubeconfig(trusted)
    data = kubeconfig(trusted, **{"client-certificate-data": admin})
    assert (root / "etc/kubernetes/admin.conf").read_text() == data
    assert RESTART in programs.asked
    assert programs.asked.count(["stop", "pod"]) == 4
    programs.asked.clear()
    assert execute(CERTIFICATES)["state"] == "done"
    assert not [each for each in programs.asked if each[: len(RENEW)] == RENEW or each == RESTART], "once"
    assert not [each for each in programs.asked if each[0] == "stop"], "once"
