"""The kind of the cluster's add-ons."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import PATH

_LINUX = ("linux",)

ADDONS: dict[str, Kind] = {
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
