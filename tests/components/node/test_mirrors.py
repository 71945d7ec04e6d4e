"""Mirrors of registries: containerd is told one folder, and a file for each registry in it."""

import pytest

from components.node import mirrors
from tools.golden.samples import content, one, plan

MIRRORS = {"registry.k8s.io": ["https://one.example/k8s", "https://two.example"], "*": ["http://10.0.0.1:5000"]}
PLACES = {"windows-2019": r"C:\Program Files\containerd\certs.d", "ubuntu-24.04": "/etc/containerd/certs.d"}


@pytest.mark.parametrize("os", PLACES)
@pytest.mark.parametrize("kubernetes", ["1.31.14", "1.34.11", "1.36.4"], ids=["version-2", "version-3", "version-4"])
def test_containerd_is_told_the_folder_in_each_form_of_its_configuration(os: str, kubernetes: str) -> None:
    made = plan(os, {"containerd": {"mirrors": MIRRORS}}, kubernetes=kubernetes)
    place = PLACES[os].replace("\\", "\\\\")
    assert f'config_path = "{place}"' in content(made, "containerd-config")
    assert "config_path" not in content(plan(os, kubernetes=kubernetes), "containerd-config")


@pytest.mark.parametrize("os", PLACES)
def test_each_registry_has_its_file_with_mirrors_in_their_order(os: str) -> None:
    made = plan(os, {"containerd": {"mirrors": MIRRORS}})
    separator = "\\" if os.startswith("windows") else "/"
    file = one(made, "mirrors-registry.k8s.io").fields
    assert file["path"] == separator.join([PLACES[os], "registry.k8s.io", "hosts.toml"])
    assert file["content"].index("one.example") < file["content"].index("two.example")
    assert one(made, "mirrors-*").fields["path"] == separator.join([PLACES[os], "_default", "hosts.toml"])


def test_docker_hub_answers_under_a_name_of_its_own_and_ports_have_no_colon_on_windows() -> None:
    assert mirrors.hosts("docker.io", ["https://m"])["server"] == "https://registry-1.docker.io"
    made = plan("windows-2022", {"containerd": {"mirrors": {"own.example:5000": ["https://m"]}}})
    assert one(made, "mirrors-own.example:5000").fields["path"].endswith(r"certs.d\own.example5000\hosts.toml")
