"""Kinds of a control plane that starts from a snapshot of etcd."""

from components.node.kinds.founding import LOG
from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import ARGUMENTS, NAME, PATH

_LINUX = ("linux",)
_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)

RESTORING: dict[str, Kind] = {
    "etcd-restored": Kind(
        "etcd's data are those of the snapshot that the founding record names, where it names one; once.",
        {
            **LOG,
            "requires": Field(PATH, "Not due while this file does not exist: the machine founds."),
            "done": Field(PATH, "File that says: it is done; written last."),
            "config": Field(PATH, "kubeadm's configuration, from which it names etcd's image."),
            "argv": Field(ARGUMENTS, "Program in that image that restores, and its first arguments."),
            "data": Field(PATH, "etcd's data directory."),
            "node": Field(NAME, "Name of the one member."),
            "address": Field(NAME, "Its address."),
        },
        compares="The files requires and done.",
        sets="Fetches the snapshot (206), checks it against the digest in its name (202), has etcd's own program make"
        " the data beside their place, and moves them there.",
        undo="data of an unfinished try",
        cuts=_STEPPED,
        systems=_LINUX,
        image=False,
        seconds=900,
    ),
    "restored-node": Kind(
        "The Node object of this name is this machine's, and marked as a control plane's: a snapshot has that of the"
        " machine before it.",
        {
            "requires": Field(PATH, "Not due while this file does not exist: the machine founds."),
            "kubeconfig": Field(PATH, "An administrator's kubeconfig."),
            "node": Field(NAME, "Its name."),
            "provider_id": Field(NAME, "providerID of the machine."),
            "label": Field(NAME, "Label by which a marked Node is known."),
            "argv": Field(ARGUMENTS, "Program that marks it, with its arguments."),
        },
        compares="spec.providerID and the label of the Node object, by kubectl.",
        sets="Deletes one that is another machine's, starts the kubelet anew, waits until it has registered (404), and"
        " runs the program.",
        undo="another machine's Node object",
        cuts=_STEPPED,
        systems=_LINUX,
        image=False,
        seconds=300,
    ),
}
