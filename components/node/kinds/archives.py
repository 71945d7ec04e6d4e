"""The kind of an unpacked archive."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import COUNT, NAMES, PATH

ARCHIVES: dict[str, Kind] = {
    "archive": Kind(
        "The archive (zip, tar, tar.gz, tgz) is unpacked in the target.",
        {
            "source": Field(PATH, "The archive; an earlier step gets it."),
            "target": Field(PATH, "Where its files go."),
            "strip": Field(COUNT, "So many leading folders of each name are left out; default 0.", required=False),
            "members": Field(
                NAMES,
                "Only these files, by their name in the archive or as they end up; all must be there.",
                required=False,
            ),
        },
        compares="The listing of the last unpacking (digest of the archive, target, strip, members), and that each of"
        " its files is there with its size.",
        sets="Reads it as a stream; each file is written beside its place and renamed; the listing last. Entries that"
        " are links or devices, or whose names leave the target (.., absolute, drive letters, backslashes; on Windows"
        " also reserved names and colons), are refused before anything is unpacked.",
        cuts=(Cut.BEFORE_SET, Cut.DURING_UNPACK, Cut.AFTER_SET),
        seconds=600,
    ),
}
