"""Kinds of files, folders, links and their access rights."""

from components.node.kinds.model import Cut, Field, Kind, When
from components.node.kinds.values import ACCESS, DOCUMENT, FLAG, NAME, NAMES, PATH, TEXT, one_of

_WRITTEN = (Cut.BEFORE_SET, Cut.BEFORE_RENAME, Cut.AFTER_SET)
_ACCESS = "private: root, or SYSTEM and Administrators, alone; public, the default: others may read."

FILES: dict[str, Kind] = {
    "directory": Kind(
        "The directory exists.",
        {
            "path": Field(PATH, "Where."),
            "access": Field(ACCESS, _ACCESS, required=False),
            "writers": Field(NAMES, "SIDs that may change what lies in it too.", required=False, systems=("windows",)),
            "only": Field(NAMES, "Files that may lie in it; all others go.", required=False, systems=("windows",)),
        },
        compares="That a directory is there, with exactly this mode (0755, 0700) or these access rules, and no file but"
        " those of only.",
        sets="Makes it with those above it, then sets mode or rules; what lies in it stays, unless only says else.",
        undo="files that only does not name",
    ),
    "file": Kind(
        "The file holds the content.",
        {
            "path": Field(PATH, "Where."),
            "content": Field(DOCUMENT, "Text as it is, or a document as format says; references are filled in."),
            "format": Field(
                one_of("json", "documents"),
                "json: content is any document; documents: a list of them, each as JSON after a line of three dashes.",
                required=False,
            ),
            "access": Field(ACCESS, _ACCESS, required=False),
            "executable": Field(FLAG, "It can be run by those who may read it (Windows: always so).", required=False),
        },
        compares="Every byte, and the mode (0644, 0600, executable 0755, 0700) or the access rules.",
        sets="Writes a file beside it, with its rights from the first byte on, and renames it.",
        cuts=_WRITTEN,
        whens=(
            When("format", None, {"content": TEXT}),
            When("format", "documents", {"content": {"type": "array"}}),
        ),
    ),
    "link": Kind(
        "The path is a symbolic link to the target.",
        {
            "path": Field(PATH, "The link."),
            "target": Field(PATH, "What it leads to; it must be there on Windows, which asks whether it is a folder."),
        },
        compares="That it is a link, and its target's text.",
        sets="Makes a link beside it and renames it (Windows: removes an older link first). A file or folder in its"
        " place is refused (301), never removed.",
        undo="an older link at the path",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
    ),
    "access": Kind(
        "A file or directory that something else made has these rights.",
        {
            "path": Field(PATH, "It must be there (301)."),
            "access": Field(ACCESS, _ACCESS),
            "owner": Field(
                NAME, "User that owns it; its group is that user's. Default root.", required=False, systems=("linux",)
            ),
            "readers": Field(
                NAMES,
                "SIDs that may read it too, for services with accounts of their own.",
                required=False,
                systems=("windows",),
            ),
        },
        compares="Linux: mode and owner; a file that its owner may run stays executable. Windows: the access rules,"
        " without inherited ones.",
        sets="Sets them.",
    ),
    "secret": Kind(
        "The file holds a secret, for root or SYSTEM and Administrators alone.",
        {
            "secret": Field(NAME, "Name of the secret in the cloud's store."),
            "member": Field(NAME, "Only this member of a JSON secret.", required=False),
            "path": Field(PATH, "Where."),
        },
        compares="The whole file with the secret as the store has it now, and its rights.",
        sets="Fetches it with the machine's identity; an empty one is an error (205); writes as `file` does.",
        cuts=_WRITTEN,
        image=False,
    ),
}
