"""Kinds that deal with the cluster's stores."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import ARGUMENTS, DOCUMENT, KEY_HASH, NAME, NAMES, PATH, PATHS, URL

_LINUX = ("linux",)
_WRITTEN = (Cut.BEFORE_SET, Cut.BEFORE_RENAME, Cut.AFTER_SET)
LOG: dict[str, Field] = {
    "store": Field(URL, "The store of the log."),
    "log": Field(NAME, "Its records are objects <log>/0, <log>/1, ...: {cluster, epoch, owner, machine, state}."),
    "cluster": Field(NAME, "What tells this cluster's records from others'."),
}
"""Fields of every kind that reads the log of founding."""

CLUSTER: dict[str, Kind] = {
    "certificate-authority": Kind(
        "The file holds the cluster's CA bundle.",
        {
            "url": Field(URL, "The PEM bundle, fetched with the machine's identity."),
            "hash": Field(KEY_HASH, "sha256:<hex> of the public key of one of its certificates."),
            "path": Field(PATH, "Where."),
        },
        compares="That one certificate in the file has the key.",
        sets="Fetches the bundle, checks the hash (202), writes as `file` does.",
        cuts=_WRITTEN,
        image=False,
    ),
    "encryption-configuration": Kind(
        "The private file is an EncryptionConfiguration of the API server.",
        {
            "secret": Field(NAME, "Name of the secret."),
            "member": Field(NAME, "Its member with the base64 keys: a list, newest first, named key1 for the oldest."),
            "path": Field(PATH, "Where."),
            "resources": Field(
                {"type": "array", "items": NAME, "minItems": 1},
                "What is encrypted: secretbox with the keys, then identity.",
            ),
        },
        compares="The whole file with the keys as the store has them now, and its rights.",
        sets="Writes it as `secret` does.",
        cuts=_WRITTEN,
        systems=_LINUX,
        image=False,
    ),
    "service-account-keys": Kind(
        "Two private files have the keys of service-account tokens: one that signs, and all that verify.",
        {
            "secret": Field(NAME, "Name of the secret."),
            "member": Field(NAME, "Its member with the keys: a list of {number, private, public}, newest first."),
            "private": Field(PATH, "Where the signing key is: the one that is there, or else the oldest."),
            "public": Field(PATH, "Where all public keys are, the signing one's first."),
        },
        compares="Both files with the keys as the store has them now, and their rights.",
        sets="Writes them as `secret` does, the public keys first.",
        cuts=_WRITTEN,
        systems=_LINUX,
        image=False,
    ),
    "bootstrap-token": Kind(
        "The secret holds a bootstrap token that the cluster knows, good for at least half its lifetime.",
        {
            "secret": Field(NAME, "Name of the secret."),
            "kubeconfig": Field(PATH, "An administrator's kubeconfig."),
            "lifetime_hours": Field({"type": "integer", "minimum": 1}, "Lifetime of a new one."),
            "requires": Field(PATH, "Not due while this file does not exist.", required=False),
        },
        compares="The stored token with the cluster's, by kubectl.",
        sets="kubeadm token create, then stores it with the machine's identity.",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        image=False,
    ),
    "claim": Kind(
        "This machine knows whether it founds the cluster: one of the files founder and member exists.",
        {
            **LOG,
            "founder": Field(PATH, "File that says: this machine founds it."),
            "member": Field(PATH, "File that says: another one has."),
        },
        compares="The files.",
        sets="Reads the log of records; where it is empty, or the machine of an unfinished claim is gone (so says the"
        " cloud, three times), writes the next one (claimed) on the condition that it is not there. Waits while another"
        " founds (404). Store errors wait (206).",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        image=False,
    ),
    "founded": Kind(
        "The founder has written that the cluster is founded: from now on others join, and nobody founds it again.",
        {
            **LOG,
            "founder": Field(PATH, "Not due while this file does not exist."),
            "path": Field(PATH, "File that says: it is written."),
        },
        compares="The files.",
        sets="Writes the record after its own claim (founded), as claim does. Another machine's record there ends the"
        " run (520).",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        image=False,
    ),
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
    "endpoint": Kind(
        "The hosts file gives the API's name this machine's address, then those of its peers; a founder's its own alone"
        " until it is done; a joining machine's the peers' alone, of whom the first is ready.",
        {
            "host": Field(NAME, "The name."),
            "address": Field(NAME, "This machine's address."),
            "peers": Field(NAMES, "Addresses of all control planes; its own among them counts as none."),
            "founder": Field(PATH, "It founds the cluster when this file exists."),
            "joined": Field(PATH, "It has an API when this file exists."),
            "ca": Field(PATH, "The only authority that a peer's certificate may come from."),
        },
        compares="The name's lines; without an API of its own, that /readyz of the first peer says 200.",
        sets="Asks peers every 2 seconds until one is ready or the time is over (404), then writes the name's lines;"
        " all others stay.",
        undo="other lines with the name",
        cuts=_WRITTEN,
        systems=_LINUX,
        image=False,
        seconds=300,
    ),
    "addons": Kind(
        "The cluster has what these files say, and no longer what earlier ones said.",
        {
            "files": Field({"type": "array", "items": PATH, "minItems": 1}, "Lists of manifests, as JSON."),
            "kubeconfig": Field(PATH, "An administrator's kubeconfig."),
        },
        compares="The digest in the cluster's own list (ConfigMap kube-system/mullion-addons), and that all is there.",
        sets="kubectl apply on the server; then removes what the list has and the files no longer have, and writes the"
        " list. Never one of Kubernetes' own namespaces.",
        undo="add-ons that left the plan",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        on_change=OnChange.AGENT,
        image=False,
        seconds=300,
    ),
}
