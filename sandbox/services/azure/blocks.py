"""Blocks of Blob Storage: parts of a blob that a list of their ids commits as the blob.

Source: Blob Storage REST API, "Put Block", "Put Block List". Only uncommitted blocks can be listed here.
"""

import base64
import binascii
from dataclasses import dataclass
from xml.etree import ElementTree

from sandbox.cloud_state import CloudState
from sandbox.services.calls import Refused

LARGEST = 4000 << 20
"""Bytes of a block."""
MOST = 50_000
"""Blocks of a blob."""
LONGEST = 64
"""Bytes of an id before base64."""


@dataclass(frozen=True)
class Blocks:
    """The uncommitted blocks of one blob.

    They are kept as objects of a place of their own: no list of the container has them.
    """

    cloud_state: CloudState
    place: str
    key: str

    @property
    def _apart(self) -> str:
        return f"{self.place} blocks"

    def put(self, id_: str, content: bytes) -> None:
        """Keep a block; all ids of a blob have one length."""
        try:
            name = base64.b64decode(id_, validate=True)
        except (binascii.Error, ValueError):
            name = b""
        if not 1 <= len(name) <= LONGEST:
            raise Refused("InvalidQueryParameterValue", "The block id is no base64 text of 1 to 64 bytes.")
        if len(content) > LARGEST or not content:
            raise Refused("InvalidHeaderValue", f"A block has 1 to {LARGEST} bytes.")
        kept = self._kept()
        if any(len(other) != len(id_) for other in kept) or len(kept) >= MOST:
            raise Refused("InvalidBlobOrBlock", "The specified blob or block content is invalid.")
        self.cloud_state.put_object(self._apart, f"{self.key}\n{id_}", content, "", versioned=False)

    def commit(self, body: bytes) -> bytes:
        """Return the content of the listed blocks, in their order, and forget all blocks."""
        try:
            listed = list(ElementTree.fromstring(body))  # noqa: S314  a client of the sandbox
        except ElementTree.ParseError:
            raise Refused("InvalidXmlDocument", "XML specified is not syntactically valid.") from None
        kept, ids = self._kept(), [each.text or "" for each in listed]
        if any(each.tag not in ("Uncommitted", "Latest") for each in listed) or not set(ids) <= kept.keys():
            raise Refused("InvalidBlockList", "The specified block list is invalid.")
        for id_ in kept:
            self.cloud_state.remove_object(self._apart, f"{self.key}\n{id_}")
        return b"".join(kept[id_] for id_ in ids)

    def _kept(self) -> dict[str, bytes]:
        """Return the blocks by id."""
        found = {key.rpartition("\n"): each.content for key, each in self.cloud_state.objects(self._apart).items()}
        return {id_: content for (key, _, id_), content in found.items() if key == self.key}
