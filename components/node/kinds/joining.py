"""Kinds for joining a machine: kubelet credentials, Node object, container images."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import DOCUMENT, NAME, PATH, TEXT, VARIABLES, one_of

_WINDOWS = ("windows",)
_KUBECTL = Field(PATH, "Path of kubectl.")

JOINING: dict[str, Kind] = {
    "kubelet-bootstrap": Kind(
        "Either the kubelet has a valid certificate of this node and the file with the token is deleted, or it has no"
        " certificate and the file exists.",
        {
            "path": Field(PATH, "File of the kubelet's --bootstrap-kubeconfig."),
            "kubeconfig": Field(DOCUMENT, "Content of the file; its first user gets the token."),
            "secret": Field(NAME, "Name of the secret with the token; it is read only while a token is needed."),
            "token": Field(
                one_of("derived", "stored"),
                "derived, the default: the machine announces a number and derives a token of its own from it and the"
                " secret; stored: the secret is the token, and the machine announces nothing.",
                required=False,
                systems=_WINDOWS,
            ),
            "certificate": Field(PATH, "PEM file with the kubelet's certificate and key."),
            "node": Field(NAME, "Node name; the certificate's user is system:node:<node>."),
            "requires": Field(
                PATH,
                "Do nothing without this file: kubeadm makes the first certificate.",
                required=False,
                systems=("linux",),
            ),
        },
        compares="User and expiry of the certificate; the file with the current token in the store.",
        sets="With a valid certificate, deletes the file. Otherwise deletes the certificate and writes the file, which"
        " only root, or SYSTEM and Administrators, can read. Stops the kubelet before this on Windows, restarts it"
        " afterwards on Linux; at its next start it bootstraps.",
        undo="an expired certificate or one of another node; a token that is no longer needed",
        cuts=(Cut.BEFORE_SET, Cut.BEFORE_RENAME, Cut.AFTER_SET),
        image=False,
    ),
    "node-object": Kind(
        "The cluster has this machine's Node object as planned.",
        {
            "node": Field(NAME, "Node name."),
            "kubeconfig": Field(PATH, "Kubeconfig with the node's certificate."),
            "kubectl": _KUBECTL,
            "state": Field(
                one_of("registered", "ready"),
                "registered: the object exists as planned; ready: its condition Ready is True, and a cloud controller"
                " has initialised it if there is one.",
            ),
            "provider_id": Field(TEXT, "Expected spec.providerID.", required=False),
            "kubelet": Field(NAME, "Expected status.nodeInfo.kubeletVersion.", required=False),
            "labels": Field(VARIABLES, "Labels that the Node must have; others are ignored.", required=False),
        },
        compares="The object, by kubectl; without the labels and taints that the control-plane agent reconciles. While"
        " the API does not answer, or the kubelet has no certificate, the object counts as missing.",
        sets="Asks again every 2 seconds until the time limit (515, 516).",
        cuts=(Cut.BEFORE_SET,),
        on_change=OnChange.NEW_NODES,
        image=False,
        seconds=600,
    ),
    "container-image": Kind(
        "The runtime has the image, and the image is built for this Windows build.",
        {
            "image": Field(NAME, "Name of the image."),
            "client": Field(one_of("crictl", "docker"), "Whether program is crictl or docker."),
            "program": Field(PATH, "Path of crictl.exe or docker.exe."),
            "until": Field(
                PATH,
                "File, the node's certificate: once it exists, a missing image counts as held. The kubelet removes"
                " unused images, and the start of a node must not depend on a registry.",
                required=False,
                on_change=OnChange.NEW_NODES,
            ),
        },
        compares="os.version of crictl inspecti or docker image inspect with the machine's build. Without os.version"
        " the runtime chose the image by the build.",
        sets="Pulls the image. An image of another build ends the run (505).",
        systems=_WINDOWS,
        seconds=900,
    ),
}
