"""Kinds that decide which control-plane machine founds the cluster."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import NAME, PATH, URL

_LINUX = ("linux",)
LOG: dict[str, Field] = {
    "store": Field(URL, "URL of the store with the log."),
    "log": Field(
        NAME, "Prefix of its records, objects <log>/0, <log>/1, ...: {cluster, epoch, owner, machine, state, mac}."
    ),
    "cluster": Field(NAME, "Identifier of this cluster in the records."),
}
"""Fields of every kind that reads the founding log."""

FOUNDING: dict[str, Kind] = {
    "claim": Kind(
        "One of the files founder and member exists: this machine founds the cluster or joins it.",
        {
            **LOG,
            "founder": Field(PATH, "File that exists if this machine founds the cluster."),
            "member": Field(PATH, "File that exists if another machine has founded it."),
        },
        compares="The files.",
        sets="Reads the log. If it is empty, or the machine of an unfinished claim no longer exists (by three answers"
        " of the cloud), creates the next record (claimed), unless another machine creates it first. Waits while"
        " another machine founds (404). Refuses a claim or restore without the MAC of the secret desired-state, and a"
        " log that ends before the last founding (520). Retries store errors (206).",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        image=False,
    ),
    "founded": Kind(
        "The founder has recorded that the cluster is founded: other machines join, and no machine founds it again.",
        {
            **LOG,
            "founder": Field(PATH, "Skip the step while this file does not exist."),
            "path": Field(PATH, "File that exists once the record is written."),
        },
        compares="The files.",
        sets="Creates the record after this machine's claim (founded), as kind `claim` does. A record of another"
        " machine there ends the run (520).",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        image=False,
    ),
}
