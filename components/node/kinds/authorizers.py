"""Kind of the file that decides for the API server which requests are allowed, on Linux control planes."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import PATH

AUTHORIZERS: dict[str, Kind] = {
    "authorization-configuration": Kind(
        "The private file contains the API server's AuthorizationConfiguration: Node and RBAC, behind an authorizer "
        "that refuses the users and certificates of revoked machines.",
        {
            "path": Field(PATH, "Path of the file."),
            "webhook": Field(
                PATH, "Path of a kubeconfig whose server does not exist, for the authorizer that refuses."
            ),
        },
        compares="The file's form, with the identities that it refuses now, and the file's rights.",
        sets="Writes the file as kind `secret` does; it refuses the same identities, and the agent changes them.",
        cuts=(Cut.BEFORE_SET, Cut.BEFORE_RENAME, Cut.AFTER_SET),
        systems=("linux",),
        image=False,
    ),
}
