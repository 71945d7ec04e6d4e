"""The one file of a first contact: the scripts of a bundle and contact.json, packed into a PowerShell script."""

import base64
import hashlib
import io
import textwrap
import zipfile
from collections.abc import Mapping
from typing import Any

from components.clouds import CLOUDS
from components.machine.bundle import CLOUD_INIT, CONTACT, contact_scripts
from components.machine.user_data import without_comments
from components.node.plan import canonical

NAME = "contact.json"
"""The steps, networks and programs to test, in the archive of scripts."""
_DATE = (1980, 1, 1, 0, 0, 0)


def one_file(contact: Mapping[str, Any], *, change: bool = False) -> str:
    """Return the script, ASCII. change: it also sets steps without the switch -Change, for user-data."""
    archive = _packed({NAME: canonical(contact), **contact_scripts()})
    text = _template("one-file.ps1")
    text = _filled(text, "<digest>", hashlib.sha256(archive).hexdigest())
    text = _filled(text, "<scripts>", "\n".join(textwrap.wrap(base64.b64encode(archive).decode(), 120)))
    return _filled(text, "$Always = $false", "$Always = $true") if change else text


def fetching(url: str, file: str, cloud: str) -> str:
    """Return user-data that downloads `file`, the text of one_file, checks its digest and runs it.

    It fits every cloud's limit. Raises ValueError for a URL that is not plain https: anybody on the machine can read
    user-data, and a signed URL is a secret.
    """
    if not url.startswith("https://") or any(each in url for each in "?@'\n"):
        raise ValueError(f"{url!r} is no plain https URL; give one without a query, a user and quotes")
    text = _filled(_template("fetch.ps1"), "<url>", url)
    text = _filled(text, "<digest>", hashlib.sha256(file.encode("ascii")).hexdigest())
    begin, end = CLOUDS[cloud].powershell_tags
    return begin + without_comments(text) + end


def _template(name: str) -> str:
    return (CLOUD_INIT / "windows" / CONTACT / name).read_text(encoding="ascii")


def _filled(text: str, place: str, value: str) -> str:
    if text.count(place) != 1:
        raise ValueError(f"the script contains {place} {text.count(place)} times, not once")
    return text.replace(place, value)


def _packed(entries: Mapping[str, bytes]) -> bytes:
    """Return a compressed zip of the entries, sorted by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(entries):
            archive.writestr(zipfile.ZipInfo(name, _DATE), entries[name], zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()
