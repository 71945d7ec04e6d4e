"""Kinds for a control plane that starts from a snapshot of etcd."""

from components.node.kinds.founding import LOG
from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import ARGUMENTS, NAME, PATH, URL

_LINUX = ("linux",)
_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)

RESTORING: dict[str, Kind] = {
    "etcd-restored": Kind(
        "etcd's data were restored once from the snapshot in the founding record, if it names one.",
        {
            **LOG,
            "requires": Field(PATH, "Skip the step while this file, which a founder has, does not exist."),
            "done": Field(PATH, "File that exists once the step is done; written last."),
            "config": Field(PATH, "kubeadm's configuration, from which kubeadm lists etcd's image."),
            "argv": Field(ARGUMENTS, "Program in that image that restores, and its first arguments."),
            "data": Field(PATH, "etcd's data directory."),
            "copies": Field(URL, "URL below which copies of snapshots have the same names.", required=False),
            "etcd_image": Field(NAME, "etcd's image by digest, instead of the one that kubeadm names.", required=False),
            "node": Field(NAME, "Name of the only member."),
            "address": Field(NAME, "Address of the only member."),
        },
        compares="The files requires and done.",
        sets="Downloads the snapshot (206), checks it against the digest in its name (202), takes its copy if that"
        " fails, restores it with etcd's program to a folder beside data, and moves the folder.",
        undo="data of an unfinished attempt",
        cuts=_STEPPED,
        systems=_LINUX,
        image=False,
        seconds=900,
    ),
    "restored-node": Kind(
        "The Node object of this name belongs to this machine and is marked as control plane. A snapshot has the object"
        " of the previous machine.",
        {
            "requires": Field(PATH, "Skip the step while this file, which a founder has, does not exist."),
            "kubeconfig": Field(PATH, "An administrator's kubeconfig."),
            "node": Field(NAME, "Node name."),
            "provider_id": Field(NAME, "providerID of the machine."),
            "label": Field(NAME, "Label of a marked Node."),
            "argv": Field(ARGUMENTS, "Program that marks the Node, with its arguments."),
        },
        compares="spec.providerID and the label of the Node object, by kubectl.",
        sets="Deletes the Node object of another machine, restarts the kubelet, waits until it has registered (404),"
        " and runs the program.",
        undo="another machine's Node object",
        cuts=_STEPPED,
        systems=_LINUX,
        image=False,
        seconds=300,
    ),
}
