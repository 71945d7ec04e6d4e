"""The kind that has the signing authorities sign every certificate of a control plane."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import ARGUMENTS, DOCUMENT, PATH, PATHS

_LINUX = ("linux",)

CERTIFICATES: dict[str, Kind] = {
    "kubeadm-certificates": Kind(
        "The signing authorities signed every certificate of kubeadm, and the static pods have read the files.",
        {
            "requires": Field(PATH, "Skip the step while this file does not exist."),
            "authorities": Field(PATHS, "Files of authorities, the cluster's first; in each the signing one is first."),
            "certificates": Field(PATHS, "Files of certificates that these authorities sign."),
            "kubeconfigs": Field(PATHS, "Kubeconfigs of kubeadm with such a certificate, as far as they exist."),
            "kubelet": Field(PATH, "The kubelet's kubeconfig."),
            "renew": Field(ARGUMENTS, "Program that signs all of them again."),
            "served": Field(PATH, "The API server's certificate.", required=False),
            "chain": Field(PATH, "Certificate that is written behind it.", required=False),
            "pods": Field(DOCUMENT, "Commands for static pods: find by component, stop, running, started."),
        },
        compares="The issuer's name of each certificate; the authorities in kubeconfigs; the chain; whether static pods"
        " started after the files were written.",
        sets="Runs `renew` in a copy of the folder if another authority signed one, completes kubeconfigs and chain,"
        " and restarts kubelet, kube-proxy, flannel and the static pods.",
        undo="certificates of another authority",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        image=False,
        seconds=300,
    ),
}
