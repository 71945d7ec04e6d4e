"""Kinds of files, folders, links and their access rights."""

from components.node.kinds.model import Cut, Field, Kind, When
from components.node.kinds.values import ACCESS, DOCUMENT, FLAG, NAME, NAMES, PATH, TEXT, one_of

_WRITTEN = (Cut.BEFORE_SET, Cut.BEFORE_RENAME, Cut.AFTER_SET)
_ACCESS = "private: only root, or SYSTEM and Administrators; public, the default: others may read."

FILES: dict[str, Kind] = {
    "directory": Kind(
        "The directory exists.",
        {
            "path": Field(PATH, "Path of the directory."),
            "access": Field(ACCESS, _ACCESS, required=False),
            "writers": Field(
                NAMES, "Additional SIDs that may change files in it.", required=False, systems=("windows",)
            ),
            "only": Field(NAMES, "Names of files to keep; others are deleted.", required=False, systems=("windows",)),
        },
        compares="That the directory exists with exactly this mode (0755, 0700) or these access rights, and without"
        " files that `only` does not name. Windows: another account may have further rights, but no group that every"
        " user is in, such as Users.",
        sets="Creates it with its parents, then sets mode or rules; files in it stay unless `only` is given.",
        undo="files that `only` does not name",
    ),
    "file": Kind(
        "The file has the content.",
        {
            "path": Field(PATH, "Path of the file."),
            "content": Field(DOCUMENT, "Text, or a document in the form of `format`; references are filled in."),
            "format": Field(
                one_of("json", "documents"),
                "json: content is any document; documents: a list of documents, each as JSON after a line with ---.",
                required=False,
            ),
            "access": Field(ACCESS, _ACCESS, required=False),
            "executable": Field(FLAG, "Whether readers may execute it (always on Windows).", required=False),
        },
        compares="All bytes, and the mode (0644, 0600, executable 0755, 0700) or the access rules.",
        sets="Creates a file with the final rights beside it, writes it and renames it.",
        cuts=_WRITTEN,
        whens=(
            When("format", None, {"content": TEXT}),
            When("format", "documents", {"content": {"type": "array"}}),
        ),
    ),
    "link": Kind(
        "The path is a symbolic link to the target.",
        {
            "path": Field(PATH, "Path of the link."),
            "target": Field(PATH, "Target; it must exist on Windows, where links to files and folders differ."),
        },
        compares="That the path is a link, and the target's path.",
        sets="Creates a link beside it and renames it (Windows: removes an earlier link first). A file or folder at the"
        " path is never removed, but ends the run (301).",
        undo="an earlier link at the path",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
    ),
    "access": Kind(
        "An existing file or directory has these rights.",
        {
            "path": Field(PATH, "Path; it must exist (301)."),
            "access": Field(ACCESS, _ACCESS),
            "owner": Field(NAME, "Owner; the group is the owner's. Default root.", required=False, systems=("linux",)),
            "readers": Field(
                NAMES,
                "Additional SIDs that may read it, for services with separate accounts.",
                required=False,
                systems=("windows",),
            ),
        },
        compares="Linux: mode and owner; a file that its owner may execute stays executable. Windows: the access"
        " rights as of kind `directory`, without inherited ones.",
        sets="Sets the rights.",
    ),
    "secret": Kind(
        "The file contains a secret and is readable only by root, or SYSTEM and Administrators.",
        {
            "secret": Field(NAME, "Name of the secret in the cloud's secret store."),
            "member": Field(NAME, "Member of a JSON secret to write instead of the whole secret.", required=False),
            "path": Field(PATH, "Path of the file."),
        },
        compares="The whole file with the current secret in the store, and the file's rights.",
        sets="Reads the secret with the machine's identity; an empty secret is an error (205); writes the file as kind"
        " `file` does.",
        cuts=_WRITTEN,
        image=False,
    ),
}
