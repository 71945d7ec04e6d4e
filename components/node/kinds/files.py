"""Kinds that make files and folders."""

from components.node.kinds.model import Cut, Field, Kind, OnChange, When
from components.node.kinds.values import (
    ACCESS,
    COUNT,
    DIGEST,
    DOCUMENT,
    FLAG,
    NAME,
    NAMES,
    PATH,
    TEXT,
    URL,
    one_of,
)

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
    "environment": Kind(
        "The variable has the value for every process that starts from now on.",
        {
            "variable": Field({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}, "Its name."),
            "value": Field(TEXT, "Its value."),
        },
        compares="Linux: the lines in /etc/environment and in systemd's own configuration; Windows: the machine's"
        " variable.",
        sets="Writes them; other variables stay. Services started by later steps have it.",
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
