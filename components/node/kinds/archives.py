"""The kind that unpacks an archive."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import COUNT, NAMES, PATH

ARCHIVES: dict[str, Kind] = {
    "archive": Kind(
        "The archive (zip, tar, tar.gz, tgz) is unpacked in the target folder.",
        {
            "source": Field(PATH, "The archive; an earlier step downloads it."),
            "target": Field(PATH, "The folder for its files."),
            "strip": Field(COUNT, "Number of leading folders removed from each name; default 0.", required=False),
            "members": Field(
                NAMES,
                "Unpack only these files, by their name before or after strip; all must be in the archive.",
                required=False,
            ),
        },
        compares="The listing of the last unpacking (digest of the archive, target, strip, members), and that each file"
        " in it exists with its size.",
        sets="Reads the archive as a stream; writes each file beside its place and renames it; writes the listing last."
        " Links, devices and names that leave the target (.., absolute, drive letters, backslashes; on Windows also"
        " reserved names and colons) are refused before anything is unpacked. On Windows, services whose program is"
        " replaced are stopped before; their own steps start them.",
        cuts=(Cut.BEFORE_SET, Cut.DURING_UNPACK, Cut.AFTER_SET),
        seconds=600,
    ),
}
