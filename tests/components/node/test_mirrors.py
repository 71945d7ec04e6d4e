"""Registry mirrors: one folder in containerd's configuration, with a file for each registry."""

import pytest

from components.node import mirrors
from tools.golden.samples import content, one, plan

MIRRORS = {"registry.k8s.io": ["https://one.example/k8s", "https://two.example"], "*": ["http://10.0.0.1:5000"]}
PLACES = {"windows-2019": r"C:\Program Files\containerd\certs.d", "ubuntu-24.04": "/etc/containerd/certs.d"}


@pytest.mark.parametrize("os", PLACES)
@pytest.mark.parametrize("kubernetes", ["1.31.14", "1.34.11", "1.36.4"], ids=["version-2", "version-3", "version-4"])
def test_containerds_configuration_has_the_mirrors_folder_in_each_version(os: str, kubernetes: str) -> None:
    node_plan = plan(os, {"containerd": {"mirrors": MIRRORS}}, kubernetes=kubernetes)
    place = PLACES[os].replace("\\", "\\\\")
    assert f'config_path = "{place}"' in content(node_plan, "containerd-config")
    assert "config_path" not in content(plan(os, kubernetes=kubernetes), "containerd-config")


@pytest.mark.parametrize("os", PLACES)
def test_each_registry_has_a_file_with_its_mirrors_in_order(os: str) -> None:
    node_plan = plan(os, {"containerd": {"mirrors": MIRRORS}})
    separator = "\\" if os.startswith("windows") else "/"
    file = one(node_plan, "mirrors-registry.k8s.io").fields
    assert file["path"] == separator.join([PLACES[os], "registry.k8s.io", "hosts.toml"])
    assert file["content"].index("one.example") < file["content"].index("two.example")
    assert one(node_plan, "mirrors-*").fields["path"] == separator.join([PLACES[os], "_default", "hosts.toml"])


def test_mirror_files_use_docker_hubs_api_host_and_no_colon_on_windows() -> None:
    assert mirrors.hosts("docker.io", ["https://m"])["server"] == "https://registry-1.docker.io"
    node_plan = plan("windows-2022", {"containerd": {"mirrors": {"own.example:5000": ["https://m"]}}})
    assert one(node_plan, "mirrors-own.example:5000").fields["path"].endswith(r"certs.d\own.example5000\hosts.toml")
