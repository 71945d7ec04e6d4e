"""The kind that applies the cluster's add-ons."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import PATH

_LINUX = ("linux",)

ADDONS: dict[str, Kind] = {
    "addons": Kind(
        "The cluster has the objects in these files, and no objects of add-ons that left the plan.",
        {
            "files": Field(
                {"type": "array", "items": PATH, "minItems": 1}, "Files with a List of manifests each, as JSON."
            ),
            "kubeconfig": Field(PATH, "An administrator's kubeconfig."),
        },
        compares="The digest in the cluster's list (ConfigMap kube-system/mullion-addons), and that all objects exist.",
        sets="kubectl apply --server-side; then deletes objects that are in the list but not in the files, and writes"
        " the list. Namespaces of Kubernetes are never deleted.",
        undo="objects of add-ons that left the plan",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        on_change=OnChange.AGENT,
        image=False,
        seconds=300,
    ),
}
