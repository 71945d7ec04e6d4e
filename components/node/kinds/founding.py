"""Kinds that decide which control plane founds the cluster."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import NAME, PATH, URL

_LINUX = ("linux",)
LOG: dict[str, Field] = {
    "store": Field(URL, "The store of the log."),
    "log": Field(NAME, "Its records are objects <log>/0, <log>/1, ...: {cluster, epoch, owner, machine, state}."),
    "cluster": Field(NAME, "What tells this cluster's records from others'."),
}
"""Fields of every kind that reads the log of founding."""

FOUNDING: dict[str, Kind] = {
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
}
