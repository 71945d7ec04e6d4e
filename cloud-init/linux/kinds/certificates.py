"""Certificates of a control plane after a rotation of its authorities: who signed them, and who reads them."""

import base64
import re
import shutil
from collections.abc import Sequence
from typing import Any

import authorities
import epoch
import static_pods
import x509
from run import Run, Step
from writing import write_whole

from kinds.files import MODES

PKI = "/etc/kubernetes/pki"
FRESH = f"{PKI}.fresh"
"""Copy of PKI in which kubeadm signs; exists only meanwhile."""
READERS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
CLIENT = re.compile(r"client-certificate-data: (\S+)")


def certificates_hold(run: Run, step: Step) -> bool:
    """Return whether the signing authorities signed every certificate, all files are complete, and pods read them."""
    if not run.path(step["requires"]).exists():
        return True
    return not (foreign(run, step) or completed(run, step)) and loaded(run, step)


def make_certificates(run: Run, step: Step) -> None:
    """Have kubeadm sign again what another authority signed, complete the files, and restart what reads them."""
    if foreign(run, step):
        renew(run, step, step["renew"])
    complete(run, step)
    if not loaded(run, step):
        epoch.restart(run.root)  # kubelet, kube-proxy and flannel, which read the authorities at their start
        static_pods.stop(run, step, *READERS)


def renew(run: Run, whole: dict[str, Any], argv: Sequence[str]) -> None:
    """Have kubeadm sign all certificates with the first certificate of each authority's file.

    kubeadm writes into a copy of its folder: the API server reads its certificate as soon as it changes, and kubeadm
    writes it without the chain, so clients of the old authority alone would be cut off for a moment.
    """
    fresh = run.path(FRESH)
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(run.path(PKI), fresh)
    try:
        run.command(*argv, f"--cert-dir={FRESH}")
        for certificate in whole["certificates"]:
            for path in (certificate.removesuffix(".crt") + ".key", certificate):
                text = run.path(path.replace(PKI, FRESH, 1)).read_text()
                if text != run.path(path).read_text():
                    write_whole(run.path(path), (text + chain_of(run, whole, path)).encode(), MODES["private"])
    finally:
        shutil.rmtree(fresh)


def chain_of(run: Run, whole: dict[str, Any], path: str) -> str:
    """Return what follows a certificate in its file: for the API server's, the cross-signed certificate; else empty."""
    return run.path(whole["chain"]).read_text() if path == whole.get("served") else ""


def complete(run: Run, step: dict[str, Any]) -> None:
    """Write what files lack: kubeadm writes only the first authority into kubeconfigs."""
    for path, text in completed(run, step).items():
        write_whole(run.path(path), text.encode(), MODES["private"])


def foreign(run: Run, step: Step) -> list[str]:
    """Return the files with a certificate that no signing authority of `authorities` signed."""
    signers = {x509.subject(x509.first(run.path(each).read_text())) for each in step["authorities"]}
    found = {each: run.path(each).read_text() for each in step["certificates"]}
    for each in present(run, step):
        client = CLIENT.search(run.path(each).read_text())
        found[each] = base64.b64decode(client[1]).decode() if client else ""
    return [each for each, text in found.items() if not text or x509.issuer(x509.first(text)) not in signers]


def present(run: Run, step: dict[str, Any], *more: str) -> list[str]:
    """Return the kubeconfigs that exist: kubeadm makes super-admin.conf on the founder alone."""
    return [each for each in (*step["kubeconfigs"], *more) if run.path(each).exists()]


def completed(run: Run, step: dict[str, Any]) -> dict[str, str]:
    """Return the files that lack something, by path: the whole file of authorities in kubeconfigs, and the chain."""
    found: dict[str, str] = {}
    trusted = run.path(step["authorities"][0]).read_text()
    for each in present(run, step, step["kubelet"]):
        text = run.path(each).read_text()
        wanted = authorities.replaced(text, trusted)
        if wanted != text:
            found[each] = wanted
    if "served" in step:
        text, chain = run.path(step["served"]).read_text(), chain_of(run, step, step["served"])
        own = x509.pem(x509.first(text))
        if text != own + chain:
            found[step["served"]] = own + chain
    return found


def loaded(run: Run, step: Step) -> bool:
    """Return whether every static pod that runs started after the files that it reads were written."""
    names = (*step["authorities"], *step["certificates"], *present(run, step))
    newest = max(run.path(each).stat().st_mtime for each in names)
    began = [static_pods.started(run, step, each) for each in READERS]
    return all(at is None or at > newest for at in began)
