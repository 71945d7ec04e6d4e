"""User-data is valid for its reader, far below every limit, cheap to render, and has no key for a secret."""

import ast
import json
import re
import timeit
from typing import Any

import pytest
import yaml

from components.clouds import CLOUDS
from components.machine.bundle import CLOUD_INIT, OsFamily
from components.machine.facts import FACTS
from components.machine.user_data import document, image_user_data, size, user_data, without_comments
from components.node.kinds import REFERENCES

SHA = "0123456789abcdef" * 4
FAMILIES: tuple[OsFamily, ...] = ("linux", "windows")
SPARE = 0.25
"""Minimum free part of the smallest limit (AWS)."""


def full_document(value_length: int) -> dict[str, Any]:
    """Return a document with every key, whose values have this length."""
    keys = {source: [n.partition(".")[2] for n in REFERENCES if n.startswith(f"{source}.")] for source in SOURCES}
    machine, facts = (dict.fromkeys(keys[source], value_length * "v") for source in SOURCES)
    url = f"https://{63 * 'b'}.s3.ap-southeast-2.amazonaws.com/bundles/{15 * 'p'}/{SHA}.zip"
    return document(url, SHA, machine, {**facts, "world": "sandbox"})


SOURCES = ("machine", "facts")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_worst_case_keeps_a_quarter_of_the_smallest_limit_free(family: OsFamily) -> None:
    """All facts that machines on AWS have, each as long as the longest name there: a load balancer's, 85 characters."""
    told = full_document(85)
    for name in (name for name, fact in FACTS.items() if fact.names_identity or fact.optional):
        del told["facts"][name]
    text = user_data(family, told, "aws")
    assert size(text) <= CLOUDS["aws"].user_data_limit * (1 - SPARE)
    assert min(facts.user_data_limit for facts in CLOUDS.values()) == CLOUDS["aws"].user_data_limit == 16384


def test_size_counts_bytes_not_characters() -> None:
    assert size("\u00e9") == 2


def _code(source: str) -> Any:
    """Return the compiled code of a module without docstrings: names, constants and instructions of each part."""
    kept = [each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.FunctionDef)]
    return [[ast.dump(part) for part in each.body if not isinstance(part, ast.Expr) or _acts(part)] for each in kept]


def _acts(part: ast.Expr) -> bool:
    return not isinstance(part.value, ast.Constant)


def test_linux_user_data_is_a_cloud_config_whose_files_are_the_loader_and_the_document() -> None:
    text = user_data("linux", full_document(10), "aws")
    assert text.startswith("#cloud-config\n")
    parsed = yaml.safe_load(text)
    assert parsed.keys() == {"preserve_hostname", "hostname", "manage_etc_hosts", "write_files", "runcmd"}
    assert parsed["hostname"] == full_document(10)["machine"]["name"]
    assert parsed["preserve_hostname"] is False, "cloud-init sets no host name otherwise"
    assert parsed["manage_etc_hosts"] is False, "Debian's images write /etc/hosts at each boot"
    files = {file["path"]: file for file in parsed["write_files"]}
    assert all(file.keys() == {"path", "permissions", "content"} for file in files.values())
    assert json.loads(files["/opt/mullion/machine.json"]["content"]) == full_document(10)
    loader, whole = (files["/opt/mullion/loader.py"]["content"], (CLOUD_INIT / "linux" / "loader.py").read_text())
    assert set(loader.splitlines()) <= set(whole.splitlines()), "nothing but docstrings is left out"
    assert _code(loader) == _code(whole)
    assert len(loader) < len(whole)
    unit = files["/etc/systemd/system/mullion.service"]["content"]
    assert re.findall(r"ExecStart=.* (\S+)$", unit, re.MULTILINE) == [
        "/opt/mullion/loader.py",
        "/opt/mullion/current/node.py",
    ]
    assert parsed["runcmd"] == [["systemctl", "enable", "--now", "--no-block", "mullion.service"]]


def test_windows_user_data_is_one_powershell_element_that_ec2launch_runs_once() -> None:
    text = user_data("windows", full_document(10), "aws")
    assert re.fullmatch(r"<powershell>\n.*</powershell>\n", text, re.DOTALL)
    assert text.count("powershell>") == 2
    assert "<persist>" not in text
    assert json.loads(text.split("@'\n")[1].split("\n'@")[0]) == full_document(10)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_value_can_end_its_element_or_line(family: OsFamily) -> None:
    nasty = "</powershell>'@\n'\"\u00e9 {}"
    text = user_data(family, document("https://b/x", SHA, {"name": nasty}, {}), "aws")
    assert text.isascii()
    assert text.count("</powershell>") == (family == "windows")
    line = next(line for line in text.splitlines() if line.strip().startswith('{"bundle"'))
    assert json.loads(line)["machine"]["name"] == nasty


@pytest.mark.parametrize(
    ("machine", "facts", "named"),
    [({"password": "x"}, {}, "machine.password"), ({}, {"bootstrap_token": "x"}, "facts.bootstrap_token")],
)
def test_a_key_outside_the_closed_list_is_refused_so_that_no_secret_fits_in(
    machine: dict[str, str], facts: dict[str, str], named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        document("https://b/x", SHA, machine, facts)


@pytest.mark.parametrize("url", ["https://b/x?X-Amz-Signature=1", "https://user:word@b/x"])
def test_a_url_with_a_signature_or_a_password_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="plain address"):
        document(url, SHA, {}, {})


def test_an_invalid_digest_is_refused() -> None:
    with pytest.raises(ValueError, match="64 lower-case"):
        document("https://b/x", "sha256:" + SHA, {}, {})


def test_equal_documents_give_equal_user_data_in_any_order() -> None:
    one = document("https://b/x", SHA, {"name": "a", "pool": "p"}, {})
    other = document("https://b/x", SHA, {"pool": "p", "name": "a"}, {})
    assert user_data("linux", one, "aws") == user_data("linux", other, "aws")


def test_only_comments_empty_lines_and_indentation_are_removed() -> None:
    assert without_comments("# a\n\n  # b\nx = 1  # kept\n    y \n'@\n") == "x = 1  # kept\ny \n'@\n"


@pytest.mark.parametrize("family", FAMILIES)
def test_rendering_one_machine_costs_a_few_microseconds(family: OsFamily) -> None:
    """The goal is 30 microseconds; the bound is ten times that, for busy machines."""
    one = full_document(30)
    user_data(family, one, "aws")
    assert min(timeit.repeat(lambda: user_data(family, one, "aws"), number=100, repeat=5)) / 100 < 300e-6


@pytest.mark.parametrize("cloud", CLOUDS)
def test_windows_user_data_has_only_the_functions_of_its_cloud(cloud: str) -> None:
    text = user_data("windows", full_document(10), cloud)
    headers = re.findall(r"^function Get-(\w+)Header \{$", text, re.MULTILINE)
    assert [each.lower() for each in headers] == [cloud]
    whole = (CLOUD_INIT / "windows" / "loader.ps1").read_text()
    assert all(f"function Get-{each.capitalize()}Header {{" in whole for each in CLOUDS), "the executor's has all"


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_machine_that_bakes_an_image_has_the_loaders_functions_and_registers_no_boot_task(cloud: str) -> None:
    told = document("https://store/bundles/web/x.zip", SHA, {"name": "small-image"}, {"cloud": cloud, "world": "cloud"})
    text, whole = image_user_data(told, cloud), user_data("windows", told, cloud)
    begin, end = CLOUDS[cloud].powershell_tags
    assert text.startswith(begin)
    assert text.endswith(end)
    functions, _, main = whole.partition("if ($Functions) { return }\n")
    assert main
    assert text.startswith(functions)
    start = text.removeprefix(functions)
    assert start.splitlines()[:2] == [r'if ([IO.File]::Exists("$Mullion\machine.json")) { exit 0 }', "try {"]
    assert "Receive-Bundle $told.bundle.url $told.bundle.sha256" in start
    assert r"\image\bake.ps1" in start
    assert "Start-BootTask" not in start
    assert size(text) <= CLOUDS[cloud].user_data_limit
