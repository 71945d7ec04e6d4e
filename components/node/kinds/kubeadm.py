"""The kind that runs kubeadm init or join."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import ARGUMENTS, DOCUMENT, PATH, PATHS

_LINUX = ("linux",)

KUBEADM: dict[str, Kind] = {
    "kubeadm": Kind(
        "kubeadm init or join ran to its end, once.",
        {
            "argv": Field(ARGUMENTS, "Program and arguments, one word each."),
            "input": Field(DOCUMENT, "Its standard input, as JSON.", required=False),
            "done": Field(PATH, "File that says: it has; written last."),
            "requires": Field(PATH, "Not due while this file does not exist.", required=False),
            "clears": Field(PATHS, "Files and folders that a try makes, removed before another one.", required=False),
            "again": Field(ARGUMENTS, "More arguments of every try but the first.", required=False),
            "data": Field(PATH, "What etcd writes: a founder's, which nobody has joined; it goes too.", required=False),
            "ends": Field(ARGUMENTS, "Ends the pods of the try before, ahead of data.", required=False),
            "snapshot": Field(PATH, "Where this file has text, data began with a snapshot, and stays.", required=False),
        },
        compares="That done exists.",
        sets="After a try that did not end well, stops the kubelet and removes what clears names: a cut may have left"
        " half of a file. An etcd that was cut before it wrote its first entry never has a leader, so data goes with"
        " the pods, if there was no snapshot. Then runs it.",
        undo="what an unfinished try made; of etcd's files those of a founding without a snapshot",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        image=False,
        seconds=900,
    ),
}
