"""Certificates of a control plane after a rotation of its authorities: who signed them, and who reads them."""

import base64
import re
from typing import Any

import static_pods
import x509
from run import Run, Step
from writing import write_whole

from kinds.files import MODES

READERS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
AUTHORITY = re.compile(r"(certificate-authority-data: )(\S+)")
CLIENT = re.compile(r"client-certificate-data: (\S+)")


def certificates_hold(run: Run, step: Step) -> bool:
    """Return whether the signing authorities signed every certificate, all files are complete, and pods read them."""
    if not run.path(step["requires"]).exists():
        return True
    return not (foreign(run, step) or completed(run, step)) and loaded(run, step)


def make_certificates(run: Run, step: Step) -> None:
    """Have kubeadm sign again what another authority signed, complete the files, and restart static pods and kubelet.

    kubeadm signs with the first certificate of an authority's file, and writes only that one into kubeconfigs.
    """
    if foreign(run, step):
        run.command(*step["renew"])
    complete(run, step)
    if not loaded(run, step):
        static_pods.stop(run, step, *READERS)


def complete(run: Run, step: dict[str, Any]) -> None:
    """Write what files lack after kubeadm signed certificates; restart a kubelet whose kubeconfig changed."""
    for path, text in completed(run, step).items():
        write_whole(run.path(path), text.encode(), MODES["private"])
        if path == step["kubelet"]:
            run.command("systemctl", "try-restart", "kubelet.service")


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
    trusted = base64.b64encode(run.path(step["authorities"][0]).read_bytes()).decode()
    for each in present(run, step, step["kubelet"]):
        text = run.path(each).read_text()
        wanted = AUTHORITY.sub(lambda match: match[1] + trusted, text)
        if wanted != text:
            found[each] = wanted
    if "chain" in step:
        text, chain = run.path(step["served"]).read_text(), run.path(step["chain"]).read_text()
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
