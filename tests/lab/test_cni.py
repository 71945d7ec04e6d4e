"""libcni, the plugins' types and host-local read the CNI files."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.node import cni
from components.node.layout import HOST_LOCAL_STATE
from components.node.role import role
from components.spec.models import ClusterSpec
from lab.programs import CNI_CHECK
from tests.lab.conftest import Find
from tests.lab.judge import Windows, run
from tests.lab.rendered import VALUES, Rendered, filled

pytestmark = pytest.mark.lab

CHECK = rf"C:\lab\{CNI_CHECK}.exe"


def _of_windows(rendered: tuple[Rendered, ...]) -> dict[str, Any]:
    return {each.name: each.content("cni-config") for each in rendered if each.pool == "windows"}


def _every_form(kubernetes: str) -> list[Any]:
    """Return the files of both networks on each cloud for both runtimes."""
    return [
        filled(cni.windows(role("dev", ClusterSpec.model_validate(document), "web")))
        for cloud in ("aws", "azure", "gcp")
        for mode in ("overlay", "l2bridge")
        for runtime in ("containerd", "docker")
        for document in [
            {
                "cloud": cloud,
                "kubernetes": kubernetes,
                "network": {"mode": mode},
                "pools": {"web": {"os": "windows-2019", "runtime": runtime}},
            }
        ]
    ]


def _check(windows: Windows, program: Path, *confs: Any) -> tuple[int, str]:
    windows.install(program, CHECK)
    files = {rf"C:\lab\{index}.conflist": conf for index, conf in enumerate(confs)}
    for file, conf in files.items():
        windows.path(file).write_text(json.dumps(conf), encoding="ascii")
    judgement = windows.run([CHECK, *files])
    return judgement.code, judgement.text


def test_net_09_windows_plug_ins_accept_every_field_and_every_policy(
    rendered: tuple[Rendered, ...], program: Find, windows: Windows
) -> None:
    """Both HNS (Docker) and HCN (containerd), in the types of win-overlay, win-bridge and hcsshim."""
    configs = _of_windows(rendered)
    assert {"defaults-windows-2019", "everything-windows-2019"} <= set(configs)
    code, text = _check(windows, program(CNI_CHECK, "windows"), *configs.values())
    assert code == 0, text
    assert [json.loads(each) for each in text.splitlines()] == [
        {"name": conf["name"], "cniVersion": conf["cniVersion"], "plugins": [each["type"] for each in conf["plugins"]]}
        for conf in configs.values()
    ]


def test_net_10_every_form_of_both_networks_is_accepted(kubernetes: str, program: Find, windows: Windows) -> None:
    confs = _every_form(kubernetes)
    code, text = _check(windows, program(CNI_CHECK, "windows"), *confs)
    assert code == 0, text
    assert {tuple(json.loads(each)["plugins"]) for each in text.splitlines()} == {("flannel",), ("win-bridge",)}


def test_the_linux_file_is_read(rendered: tuple[Rendered, ...], program: Find, tmp_path: Path) -> None:
    """FLN-03."""
    plane = next(each for each in rendered if each.pool == "control-plane")
    (settings,) = (each for each in plane.content("addon-flannel")["items"] if each["kind"] == "ConfigMap")
    (tmp_path / "10.conflist").write_text(settings["data"]["cni-conf.json"])
    judgement = run([program(CNI_CHECK, "linux"), tmp_path / "10.conflist"], tmp_path)
    assert json.loads(judgement.text)["plugins"] == ["flannel", "portmap"], judgement.text


def test_net_05_the_linux_file_of_routed_pods_is_read(
    rendered: tuple[Rendered, ...], program: Find, tmp_path: Path
) -> None:
    routed = next(each for each in rendered if each.variant == "l2bridge" and each.pool == "control-plane")
    (tmp_path / "10.conflist").write_text(json.dumps(routed.content("cni-config")))
    judgement = run([program(CNI_CHECK, "linux"), tmp_path / "10.conflist"], tmp_path)
    assert json.loads(judgement.text)["plugins"] == ["bridge", "portmap"], judgement.text


def _wrong_policy(conf: dict[str, Any]) -> None:
    value = conf["plugins"][0]["delegate"]["policies"][0]["value"]
    place = value.get("Settings", value)
    place["Exception"] = place.pop("Exceptions", None) or place.pop("ExceptionList")


def _wrong_field(conf: dict[str, Any]) -> None:
    conf["plugins"][0]["delegate"]["apiversions"] = 2


def _wrong_version(conf: dict[str, Any]) -> None:
    conf["cniVersion"] = "2.0.0"


@pytest.mark.parametrize("spoil", [_wrong_policy, _wrong_field, _wrong_version])
def test_a_misspelt_policy_field_or_version_is_refused(
    rendered: tuple[Rendered, ...], program: Find, windows: Windows, spoil: Any
) -> None:
    """Proves that the checks above find faults."""
    conf = _of_windows(rendered)["defaults-windows-2019"]
    spoil(conf)
    code, text = _check(windows, program(CNI_CHECK, "windows"), conf)
    assert (code, "conflist" in text) == (1, True), text


def test_fln_05_host_local_reserves_the_source_address_once(kubernetes: str, program: Find, windows: Windows) -> None:
    """Called as the executor does: network name, pod range of the node, folder of reservations."""
    windows.install(program("host-local", "windows"), r"C:\lab\host-local.exe")
    reservations = f"{HOST_LOCAL_STATE}/{kubernetes}"  # all versions are tested on one machine
    ipam = {"type": "host-local", "ranges": [[{"subnet": VALUES["node.pod_subnet"]}]], "dataDir": reservations}
    conf = {"cniVersion": "1.0.0", "name": "flannel.4096", "ipam": ipam}
    windows.path(r"C:\lab\ipam.json").write_text(json.dumps(conf), encoding="ascii")
    environment = {"COMMAND": "ADD", "CONTAINERID": "source-vip", "NETNS": "x", "IFNAME": "vip", "PATH": r"C:\lab"}
    lines = [f"@set CNI_{name}={value}" for name, value in environment.items()]
    lines += [r"@C:\lab\host-local.exe < C:\lab\ipam.json 2>&1"] * 2
    windows.path(r"C:\lab\vip.cmd").write_text("\r\n".join(lines) + "\r\n", encoding="ascii")
    output = windows.run(["cmd.exe", "/c", r"C:\lab\vip.cmd"]).text
    assert '"address": "10.244.1.2/24"' in output
    assert "duplicate allocation is not allowed" in output, output


@pytest.mark.parametrize("plugin", ["win-overlay", "win-bridge"])
def test_the_plug_ins_support_the_cni_versions_of_the_files(
    rendered: tuple[Rendered, ...], program: Find, windows: Windows, plugin: str
) -> None:
    place = windows.install(program(plugin, "windows"), rf"C:\lab\{plugin}.exe")
    lines = ["@set CNI_COMMAND=VERSION", f'@echo {{"cniVersion": "1.0.0"}} | {place} 2>&1']
    windows.path(r"C:\lab\version.cmd").write_text("\r\n".join(lines) + "\r\n", encoding="ascii")
    output = windows.run(["cmd.exe", "/c", r"C:\lab\version.cmd"]).text
    assert {conf["cniVersion"] for conf in _of_windows(rendered).values()} <= set(
        json.loads(output)["supportedVersions"]
    )
