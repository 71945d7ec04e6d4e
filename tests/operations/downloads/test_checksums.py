"""Digests read from checksum files in the formats of their publishers."""

import hashlib

import pytest

from operations.downloads.checksums import BadChecksums, checked, digest_of

CONTENT = b"a download"
HEX = hashlib.sha256(CONTENT).hexdigest()
LONG = hashlib.sha512(CONTENT).hexdigest()
OTHER = hashlib.sha256(b"other").hexdigest()
NAME = "runc.amd64"

SHAPES = {
    "bare": HEX,
    "bare, with a line end": f"{HEX}\n",
    "bare, sha512": LONG,
    "upper case": HEX.upper(),
    "GNU": f"{HEX}  {NAME}\n",
    "GNU, binary": f"{HEX} *{NAME}\n",
    "GNU, other files around it": f"{OTHER}  runc.arm64\n{HEX}  {NAME}\n{OTHER}  runc.tar.xz\n",
    "GNU, with a folder": f"{HEX}  ./dist/{NAME}\n",
    "GNU, windows path": f"{HEX}  dist\\{NAME}\r\n",
    "GNU, of a file whose name begins alike": f"{OTHER}  {NAME}.asc\n{HEX}  {NAME}\n",
    "BSD": f"SHA256 ({NAME}) = {HEX}\n",
    "BSD, sha512": f"SHA512 ({NAME}) = {LONG}\n",
    "carriage returns": f"{OTHER}  runc.arm64\r\n{HEX}  {NAME}\r\n",
    "mark of UTF-8": f"\ufeff{HEX}  {NAME}\n",
    "name first": f"{NAME}: {HEX}\n",
    "PowerShell's table": f"Algorithm  Hash  Path\r\n---------  ----  ----\r\nSHA256  {HEX.upper()}  C:\\{NAME}\r\n",
    "certutil": f"SHA256 hash of {NAME}:\r\n{HEX}\r\nCertUtil: -hashfile command completed successfully.\r\n",
    "several algorithms of other files": f"{'0' * 32}  old.md5\n{HEX}  {NAME}\n",
    "with comments": f"# sums of v1\n\n{HEX}  {NAME}\n",
    "the same twice": f"{HEX}  {NAME}\n{HEX}  {NAME}\n",
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_the_digest_is_read_from_every_format_of_checksum_files(shape: str, encoding: str) -> None:
    digest = digest_of(SHAPES[shape].encode(encoding), NAME)
    assert digest in (f"sha256:{HEX}", f"sha512:{LONG}")
    assert digest.endswith(LONG if "sha512" in shape else HEX)


BAD = {
    "no line for the file": (f"{OTHER}  runc.arm64\n", "no digest for runc.amd64; it names runc.arm64"),
    "two digests": (f"{HEX}  {NAME}\n{OTHER}  {NAME}\n", "2 different digests"),
    "a page": ("<html><body>Not Found</body></html>", "names nothing"),
    "nothing": ("", "names nothing"),
    "a digest cut off": (HEX[:-1], "names nothing"),
    "md5": ("0" * 32, "names nothing"),
    "sha1": ("0" * 40, "names nothing"),
    "sha384": ("0" * 96, "names nothing"),
    "a nameless digest among named ones": (f"{HEX}\n{OTHER}  runc.arm64\n", "no digest for"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_checksum_file_without_the_digest_or_with_two_is_refused(case: str) -> None:
    text, said = BAD[case]
    with pytest.raises(BadChecksums, match=said):
        digest_of(text.encode(), NAME)


def test_a_binary_checksum_file_is_refused() -> None:
    with pytest.raises(BadChecksums):
        digest_of(bytes(range(256)) * 40, NAME)


@pytest.mark.parametrize(
    ("typed", "digest"),
    [(HEX, f"sha256:{HEX}"), (f"sha256:{HEX.upper()}", f"sha256:{HEX}"), (f" {LONG} ", f"sha512:{LONG}")],
)
def test_a_digest_of_the_user_is_accepted_with_and_without_its_algorithm(typed: str, digest: str) -> None:
    assert checked(typed.strip()) == digest


@pytest.mark.parametrize("typed", ["", "sha256:", HEX[1:], f"sha512:{HEX}", f"md5:{'0' * 32}", "g" * 64, f"{HEX} x"])
def test_a_digest_of_the_user_of_another_form_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match="is not a digest"):
        checked(typed)
