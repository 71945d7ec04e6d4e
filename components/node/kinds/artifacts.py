"""The kind of a downloaded file."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import COUNT, DIGEST, FLAG, PATH, URL

ARTIFACTS: dict[str, Kind] = {
    "artifact": Kind(
        "The file at path has the digest.",
        {
            "url": Field(
                URL,
                "Where to get it; another address of the same file replaces no machine.",
                on_change=OnChange.NEW_NODES,
            ),
            "digest": Field(DIGEST, "sha256:<hex> or sha512:<hex>."),
            "path": Field(PATH, "Where it goes."),
            "executable": Field(FLAG, "It can be run.", required=False),
            "size": Field(
                COUNT,
                "Bytes, for the check of free space before the download.",
                required=False,
                on_change=OnChange.NEW_NODES,
            ),
        },
        compares="The digest of the whole file, and its mode.",
        sets="Downloads beside the target (artifacts of a phase at the same time, at most 4), goes on with what an"
        " earlier try left where the server can, checks the digest, renames. Redirects are followed, from https never"
        " to http.",
        cuts=(Cut.BEFORE_SET, Cut.DURING_DOWNLOAD, Cut.BEFORE_RENAME, Cut.AFTER_SET),
        seconds=900,
    ),
}
