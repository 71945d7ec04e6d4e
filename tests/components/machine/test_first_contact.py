"""The one file of a first contact: the product's own scripts, whole, in a file that every cloud takes."""

import base64
import hashlib
import io
import re
import zipfile

import pytest

from components.clouds import CLOUDS
from components.machine import first_contact
from components.machine.bundle import CLOUD_INIT
from components.node.first_contact import document
from tools.golden.samples import spec

CONTACT = document("dev", spec("windows-2022"), "pool")


def archive(text: str) -> bytes:
    """Return the scripts in the file."""
    packed = re.search(r"\$Scripts = @'\n(.*?)\n'@", text, re.DOTALL)
    assert packed
    return base64.b64decode(packed[1])


def test_the_file_holds_the_scripts_of_the_repository_byte_for_byte_and_their_digest() -> None:
    text = first_contact.one_file(CONTACT)
    content = archive(text)
    assert f"$Digest = '{hashlib.sha256(content).hexdigest()}'" in text
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        for name in files.namelist():
            if name == first_contact.NAME:
                continue
            source = CLOUD_INIT / name if name.endswith(".json") else CLOUD_INIT / "windows" / name
            assert files.read(name) == source.read_bytes(), name
        assert {"loader.ps1", "node.ps1", "kinds/hns.ps1", "contact/run.ps1", "redaction.json"} <= set(files.namelist())


def test_the_file_is_the_same_each_time_and_ascii_and_fits_googles_limit() -> None:
    text = first_contact.one_file(CONTACT)
    assert text == first_contact.one_file(CONTACT)
    assert len(text.encode("ascii")) < CLOUDS["gcp"].user_data_limit


def test_the_file_changes_a_machine_only_with_the_switch_unless_it_is_made_for_user_data() -> None:
    assert "$Always = $false" in first_contact.one_file(CONTACT)
    assert "$Always = $true" in first_contact.one_file(CONTACT, change=True)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_user_data_that_fetches_the_file_fits_and_names_url_and_digest(cloud: str) -> None:
    text = first_contact.one_file(CONTACT)
    made = first_contact.fetching("https://files.example.com/first-contact.ps1", text, cloud)
    assert len(made) < min(each.user_data_limit for each in CLOUDS.values())
    assert hashlib.sha256(text.encode()).hexdigest() in made
    assert made.startswith(CLOUDS[cloud].powershell_tags[0])


@pytest.mark.parametrize(
    "url", ["http://a.example/f.ps1", "https://a.example/f.ps1?X-Amz-Signature=1", "https://u:p@a.example/f", "a'b"]
)
def test_a_url_that_is_a_secret_or_not_https_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="no plain https URL"):
        first_contact.fetching(url, "", "aws")
