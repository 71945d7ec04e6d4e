"""Kinds by which a Windows machine becomes a node: kubelet credentials, Node object, container images."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import DOCUMENT, NAME, PATH, TEXT, VARIABLES, one_of

_WINDOWS = ("windows",)
_KUBECTL = Field(PATH, "kubectl.exe.")

JOINING: dict[str, Kind] = {
    "kubelet-bootstrap": Kind(
        "The kubelet has a good certificate of this node, and the file with the token is gone; or it has none, and the"
        " file is there.",
        {
            "path": Field(PATH, "The kubelet's --bootstrap-kubeconfig."),
            "kubeconfig": Field(DOCUMENT, "It; the token becomes that of its first user."),
            "secret": Field(NAME, "Name of the secret that holds the token; it is read only while one is needed."),
            "certificate": Field(PATH, "The kubelet's certificate and key in one PEM file."),
            "node": Field(NAME, "The node's name: the certificate is that of system:node:<name>."),
        },
        compares="Name and last day of the certificate; the file, with the token as the store has it now.",
        sets="With a good certificate, deletes the file. Else stops the kubelet, so that it begins anew, deletes the"
        " certificate, and writes the file for SYSTEM and Administrators alone.",
        undo="a certificate that is over or another node's; a token that is no longer needed",
        cuts=(Cut.BEFORE_SET, Cut.BEFORE_RENAME, Cut.AFTER_SET),
        systems=_WINDOWS,
        image=False,
    ),
    "node-object": Kind(
        "The cluster has this machine's Node object, as planned.",
        {
            "node": Field(NAME, "Its name."),
            "kubeconfig": Field(PATH, "With the node's own certificate."),
            "kubectl": _KUBECTL,
            "state": Field(
                one_of("registered", "ready"), "registered: it is there as planned; ready: its condition Ready is True."
            ),
            "provider_id": Field(TEXT, "spec.providerID.", required=False),
            "kubelet": Field(NAME, "status.nodeInfo.kubeletVersion.", required=False),
            "labels": Field(VARIABLES, "Labels that it has, among others.", required=False),
        },
        compares="What kubectl shows of it. Labels and taints that the agent reconciles are not looked at.",
        sets="Asks again every 2 seconds until the time is over (515, 516).",
        cuts=(Cut.BEFORE_SET,),
        systems=_WINDOWS,
        on_change=OnChange.NEW_NODES,
        image=False,
        seconds=600,
    ),
    "container-image": Kind(
        "The runtime has the image, and the image is made for this build of Windows.",
        {
            "image": Field(NAME, "As the runtime is told it."),
            "client": Field(one_of("crictl", "docker"), "Whose words the program takes."),
            "program": Field(PATH, "crictl.exe or docker.exe."),
        },
        compares="What inspecti (crictl) or image inspect (docker) says: os.version against the build of the machine."
        " Where it says none, the runtime has chosen by the build itself.",
        sets="Pulls it. One of another build ends the run (505).",
        systems=_WINDOWS,
        seconds=900,
    ),
}
