"""The kind that downloads a file."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import COUNT, DIGEST, FLAG, PATH, URL, URLS

ARTIFACTS: dict[str, Kind] = {
    "artifact": Kind(
        "The file at path exists and has the digest.",
        {
            "url": Field(
                URL,
                "Address of the download; a different address of the same file replaces no machine.",
                on_change=OnChange.NEW_NODES,
            ),
            "fallbacks": Field(
                URLS,
                "Other addresses of the same file, asked in order when those before them failed or gave other bytes.",
                required=False,
                on_change=OnChange.NEW_NODES,
            ),
            "digest": Field(DIGEST, "sha256:<hex> or sha512:<hex>."),
            "path": Field(PATH, "Path of the file."),
            "executable": Field(FLAG, "Whether the file is executable; default false.", required=False),
            "size": Field(
                COUNT,
                "Size in bytes, for the check of free space before the download.",
                required=False,
                on_change=OnChange.NEW_NODES,
            ),
        },
        compares="The digest of the whole file, and its mode. On Windows a run reads a file of 1 MiB or more again only"
        " if its size or time of change is not that of the last run; a check (-Check) reads every file.",
        sets="Downloads to a file beside the target (up to 4 artifacts of a phase at the same time), resumes an earlier"
        " attempt if the server supports it, checks the digest, renames the file. Redirects are followed, but not from"
        " https to http. If an address fails or gives other bytes, the same attempt asks the next of fallbacks."
        " A download with more bytes than size, or than 2 GiB without it, is stopped and its part removed.",
        cuts=(Cut.BEFORE_SET, Cut.DURING_DOWNLOAD, Cut.BEFORE_RENAME, Cut.AFTER_SET),
        seconds=900,
    ),
}
