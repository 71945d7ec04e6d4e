"""`mullion first-contact`: the file it writes, and archives of machines that nobody trusts."""

import contextlib
import io
import json
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from operations.commands import first_contact_archive, first_contact_read
from operations.console.exits import Exit, Stop

Run = Callable[..., Result]
ROWS = [
    {"check": "PowerShell: version", "expected": "5", "found": "7", "fits": False, "seconds": 0.1},
    {"check": "step build (build), asked", "expected": "held", "found": "held", "fits": True, "seconds": 0.1},
]
RESULT: dict[str, Any] = {
    "format": 1,
    "kit": {"mullion": "0.1.0", "os": "windows-2022", "runtime": "containerd", "network": "overlay", "cloud": "aws"},
    "windows": {"ProductName": "Windows Server 2022 Datacenter", "CurrentBuildNumber": "20348", "UBR": 2849},
    "rows": ROWS,
    "changes": [],
    "left_out": [{"step": "kubelet", "kind": "service", "why": "the service needs a cluster"}],
}


def packed(files: dict[str, str | bytes], path: Path) -> Path:
    """Write an archive with the files, and result.json if they lack it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {"result.json": json.dumps(RESULT), **files}.items():
            archive.writestr(name, content)
    return path


def test_the_command_writes_the_file_and_names_its_size(mullion: Run, tmp_path: Path) -> None:
    file = tmp_path / "new" / "first-contact.ps1"
    result = mullion("first-contact", "--os", "windows-2025", "--cloud", "azure", "-o", str(file))
    assert result.exit_code == Exit.OK, result.stderr
    assert "param([switch] $Change, [switch] $Undo)" in file.read_text("ascii")
    assert "too large: --fetch-from URL" in result.stdout


def test_with_fetch_from_it_also_writes_user_data(mullion: Run, tmp_path: Path) -> None:
    file = tmp_path / "f.ps1"
    result = mullion("first-contact", "--change", "--fetch-from", "https://a.example/f.ps1", "-o", str(file))
    assert result.exit_code == Exit.OK, result.stderr
    assert "https://a.example/f.ps1" in (tmp_path / "f.ps1.user-data").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--os", "ubuntu-24.04", "-o", "f"), "not a Windows Server"),
        (("--os", "windows-2016", "-o", "f"), "windows-2016"),
        (("--runtime", "rkt", "-o", "f"), "rkt"),
        (("--network", "host", "-o", "f"), "overlay | l2bridge"),
        (("--cloud", "moon", "-o", "f"), "aws | azure | gcp"),
        (("--kubernetes", "9.9.9", "-o", "f"), "9.9.9"),
        (("--fetch-from", "http://a", "-o", "f"), "no plain https URL"),
        ((), "give -o FILE"),
        (("-o", "f", "--json"), "--read ARCHIVE"),
        (("--read", "no-such-file.zip"), "no-such-file.zip"),
    ],
)
def test_wrong_options_end_with_a_reason_and_write_nothing(
    words: tuple[str, ...], said: str, mullion: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = mullion("first-contact", *words)
    assert result.exit_code in (Exit.USAGE, Exit.FAILED)
    assert said in result.stderr
    assert not list(tmp_path.iterdir())


def test_read_prints_each_difference_with_expected_and_found(mullion: Run, tmp_path: Path) -> None:
    result = mullion("first-contact", "--read", str(packed({}, tmp_path / "a.zip")))
    assert result.exit_code == Exit.OK
    assert "2 checks, 1 differ" in result.stdout
    assert "PowerShell: version\n  expected: 5\n  found:    7" in result.stdout
    assert "step build" not in result.stdout


def test_read_prints_no_character_that_controls_the_terminal(mullion: Run, tmp_path: Path) -> None:
    row = {"check": "a\x1b[2J", "expected": "\u202eb", "found": "c\x9b31m\r\n", "fits": False}
    archive = packed({"result.json": json.dumps({**RESULT, "rows": [row]})}, tmp_path / "a.zip")
    said = mullion("first-contact", "--read", str(archive)).stdout
    assert not any(each in said for each in ("\x1b", "\u202e", "\x9b", "\r"))


def test_read_with_json_gives_the_rows(mullion: Run, tmp_path: Path) -> None:
    result = mullion("first-contact", "--read", str(packed({}, tmp_path / "a.zip")), "--json")
    assert json.loads(result.stdout)["rows"] == ROWS


def test_golden_writes_shapes_without_values_of_one_machine_and_never_replaces_them(
    mullion: Run, tmp_path: Path
) -> None:
    network, mac = "0A1B2C3D-1111-2222-3333-444455556666", "00-15-5D-AA-BB-CC"
    dumps: dict[str, str | bytes] = {
        "dumps/overlay/hns-networks.json": json.dumps([{"ID": network, "Mac": mac, "ManagementIP": "172.31.4.9"}]),
        "dumps/overlay/hns-endpoints.json": json.dumps([{"VirtualNetwork": network.lower(), "Subnet": "10.244.251.0"}]),
    }
    archive, folder = packed(dumps, tmp_path / "a.zip"), tmp_path / "shapes"
    assert mullion("first-contact", "--read", str(archive), "--golden", str(folder)).exit_code == Exit.OK
    made = folder / "20348-2849-aws"
    endpoint = json.loads((made / "overlay-hns-endpoints.json").read_text())[0]
    networks = json.loads((made / "overlay-hns-networks.json").read_text())[0]
    assert networks == {"ID": "<id-1>", "Mac": "<mac-1>", "ManagementIP": "<address-1>"}
    assert endpoint == {"VirtualNetwork": "<id-1>", "Subnet": "10.244.251.0"}, "one word for one value"
    again = mullion("first-contact", "--read", str(archive), "--golden", str(folder))
    assert again.exit_code == Exit.USAGE
    assert "exists" in again.stderr


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/passwd", "C:\\evil", "a\\..\\b", "dumps/../../evil", ".ssh/key", "a/b/c/d/e", "a:b"]
)
def test_an_entry_that_could_leave_the_folder_ends_the_reading(name: str, tmp_path: Path) -> None:
    archive = packed({name: "{}"}, tmp_path / "a.zip")
    with pytest.raises(Stop, match="it has a file named"):
        first_contact_archive.read(archive)


def test_the_folder_of_shapes_is_a_plain_name_whatever_the_archive_says(tmp_path: Path) -> None:
    windows = {"CurrentBuildNumber": "../../etc", "UBR": "\\\\host\\share"}
    archive = packed({"result.json": json.dumps({**RESULT, "windows": windows})}, tmp_path / "a.zip")
    assert first_contact_read.name(first_contact_archive.read(archive)) == "etc-hostshare-aws"


def test_a_bomb_ends_the_reading_before_it_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_contact_archive, "MOST_FILE", 1000)
    archive = packed({"dumps/a/b.json": b"0" * 1_000_000}, tmp_path / "a.zip")
    with pytest.raises(Stop, match="unpacks to too many bytes"):
        first_contact_archive.read(archive)


def test_a_bomb_whose_header_says_one_byte_ends_the_reading(tmp_path: Path) -> None:
    archive = packed({"dumps/a/b.json": b"0" * 5000}, tmp_path / "a.zip")
    archive.write_bytes(archive.read_bytes().replace((5000).to_bytes(4, "little"), (1).to_bytes(4, "little")))
    with pytest.raises(Stop, match="not an archive of a first contact"):
        first_contact_archive.read(archive)


def test_too_many_files_end_the_reading(tmp_path: Path) -> None:
    archive = packed({f"dumps/a/{number}.json": "1" for number in range(501)}, tmp_path / "a.zip")
    with pytest.raises(Stop, match="502 files"):
        first_contact_archive.read(archive)


def test_a_duplicate_name_ends_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("result.json", json.dumps(RESULT))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("result.json", json.dumps(RESULT))
    with pytest.raises(Stop, match="has it twice"):
        first_contact_archive.read(path)


def test_a_symbolic_link_in_the_archive_is_read_as_text_and_never_made(mullion: Run, tmp_path: Path) -> None:
    path = packed({}, tmp_path / "a.zip")
    link = zipfile.ZipInfo("dumps/a/link.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, '"/etc/passwd"')
    assert mullion("first-contact", "--read", str(path), "--golden", str(tmp_path / "g")).exit_code == Exit.OK
    made = tmp_path / "g" / "20348-2849-aws" / "a-link.json"
    assert not made.is_symlink()
    assert made.read_text() == '"/etc/passwd"\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[" * 100_000, "not JSON"),
        ("{}", "not of format 1"),
        ('{"format": 1}', "rows of result.json is not a list"),
        (json.dumps({**RESULT, "rows": [{"check": 1}]}), "row 1 of result.json has no check"),
        (json.dumps({**RESULT, "rows": [{**ROWS[0], "fits": "no"}]}), "no fits of type bool"),
        (json.dumps({**RESULT, "kit": []}), "no object kit"),
        (b"\xff\xfe\x00", "not JSON"),
    ],
)
def test_a_result_that_the_kit_never_writes_is_refused_with_the_reason(
    content: str | bytes, said: str, tmp_path: Path
) -> None:
    with pytest.raises(Stop, match=said):
        first_contact_archive.read(packed({"result.json": content}, tmp_path / "a.zip"))


@pytest.mark.parametrize("content", [b"", b"not a zip", zlib.compress(b"0" * 100), b"PK\x05\x06" + 18 * b"\xff"])
def test_a_file_that_is_no_zip_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with pytest.raises(Stop, match="not an archive of a first contact"):
        first_contact_archive.read(path)


def test_any_damaged_byte_of_an_archive_is_read_or_refused_but_never_a_fault(tmp_path: Path) -> None:
    whole = packed({"dumps/a/b.json": "[1]"}, tmp_path / "a.zip").read_bytes()
    path, buffer = tmp_path / "b.zip", io.BytesIO()
    for place in range(len(whole)):
        buffer = io.BytesIO(whole)
        buffer.seek(place)
        buffer.write(bytes([whole[place] ^ 0xFF]))
        path.write_bytes(buffer.getvalue())
        with contextlib.suppress(Stop):
            first_contact_archive.read(path)
