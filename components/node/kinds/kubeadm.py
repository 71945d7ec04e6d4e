"""The kind that runs `kubeadm init` or `kubeadm join`."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import ARGUMENTS, DOCUMENT, PATH, PATHS, URL, VERSION

_LINUX = ("linux",)

KUBEADM: dict[str, Kind] = {
    "kubeadm": Kind(
        "kubeadm init or kubeadm join succeeded once.",
        {
            "argv": Field(ARGUMENTS, "Program and arguments, one word each."),
            "input": Field(DOCUMENT, "Standard input, as JSON.", required=False),
            "older_input": Field(
                DOCUMENT, "Standard input instead, if the API server is older than `version`.", required=False
            ),
            "url": Field(URL, "URL of the API server; only with `older_input`.", required=False),
            "ca": Field(PATH, "The only authority accepted for its certificate.", required=False),
            "version": Field(VERSION, "Kubernetes version that `input` is for.", required=False),
            "done": Field(PATH, "File that exists once it succeeded; written last."),
            "requires": Field(PATH, "Skip the step while this file does not exist.", required=False),
            "clears": Field(PATHS, "Files and folders to remove before another attempt.", required=False),
            "again": Field(ARGUMENTS, "Additional arguments of every attempt after the first.", required=False),
            "data": Field(
                PATH, "etcd's data on a founder, removed before another attempt; no member has joined.", required=False
            ),
            "ends": Field(ARGUMENTS, "Program that removes the pods of the last attempt, before data.", required=False),
            "snapshot": Field(
                PATH, "If this file has text, etcd started from a snapshot, and data stay.", required=False
            ),
        },
        compares="That the file done exists.",
        sets="After an attempt that failed, stops the kubelet and removes the files in `clears`, which may be half"
        " written. An etcd that was interrupted before its first entry never elects a leader, so without a snapshot"
        " removes the pods and etcd's data too. With `older_input`, asks for the API's version every 2 seconds until"
        " the time limit (404). Then runs the program.",
        undo="files of an unfinished attempt; etcd's data if the founding has no snapshot",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        image=False,
        seconds=900,
    ),
}
