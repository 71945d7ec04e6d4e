"""Bytes of served files: texts, long files, archives of every kind, valid and damaged."""

import gzip
import hashlib
import io
import tarfile
import zipfile

from tests.conformance.state import Entry, Package, Served

TYPES = {
    "file": tarfile.REGTYPE,
    "folder": tarfile.DIRTYPE,
    "link": tarfile.SYMTYPE,
    "hardlink": tarfile.LNKTYPE,
    "device": tarfile.CHRTYPE,
}
SYMBOLIC_LINK = 0o120777 << 16
"""Mode of a zip entry that is a symbolic link."""


def content(served: Served) -> bytes:
    """Return the file's bytes, the same on every call."""
    if served.archive:
        whole = _zip(served.entries) if served.archive == "zip" else _tar(served.entries, served.archive)
    elif served.deb:
        whole = _deb(served.deb)
    elif served.size is not None:
        whole = b"".join(hashlib.sha256(str(block).encode()).digest() for block in range(served.size // 32 + 1))
        whole = whole[: served.size]
    else:
        whole = (served.text or "").encode()
    return whole[: len(whole) - served.cut]


def _zip(entries: list[Entry]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in entries:
            entry = zipfile.ZipInfo(member.name, (2020, 1, 1, 0, 0, 0))
            entry.filename = member.name  # ZipInfo itself would replace the system's separator
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = SYMBOLIC_LINK if member.kind == "link" else (0o100000 | member.mode) << 16
            archive.writestr(entry, member.target if member.kind == "link" else member.text)
    return buffer.getvalue()


def _tar(entries: list[Entry], kind: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member in entries:
            entry = tarfile.TarInfo(member.name)
            entry.type, entry.mode, entry.linkname = TYPES[member.kind], member.mode, member.target
            entry.size = len(member.text.encode()) if member.kind == "file" else 0
            archive.addfile(entry, io.BytesIO(member.text.encode()))
    return buffer.getvalue() if kind == "tar" else gzip.compress(buffer.getvalue(), mtime=0)


def _deb(package: Package) -> bytes:
    """Return a Debian package (deb(5)): an ar archive of the format's version, control and data."""
    control = (
        f"Package: {package.name}\nVersion: {package.version}\nArchitecture: all\nMaintainer: none <none@example>\n"
    )
    control += "Description: of a conformance case\n"
    folders = ["./", "./usr/", "./usr/share/", f"./usr/share/{package.name}/"]
    files = [Entry(name=each, kind="folder", mode=0o755) for each in folders]
    files.append(Entry(name=f"{folders[-1]}version", text=f"{package.version}\n"))
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.gz": _tar([Entry(name="./control", text=control)], "tar.gz"),
        "data.tar.gz": _tar(files, "tar.gz"),
    }
    whole = b"!<arch>\n"
    for name, body in members.items():
        whole += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(body):<10}`\n".encode() + body + len(body) % 2 * b"\n"
    return whole
