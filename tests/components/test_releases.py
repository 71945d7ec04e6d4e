"""Version tables: complete for every supported minor, and clear where they end."""

import pytest

from components import artifacts, releases


@pytest.mark.parametrize("minor", releases.supported_minors())
def test_every_minor_has_a_release_fields_and_flags(minor: str) -> None:
    assert releases.release(minor).minor == minor
    assert releases.release(f"{minor}.0") is releases.release(minor)
    assert releases.REMOVED_KUBELET_FLAGS[minor]
    assert {"maxPods", "registerWithTaints"} <= releases.kubelet_fields(minor)
    assert {"mode", "winkernel"} <= releases.kube_proxy_fields(minor)
    assert set(releases.kubeadm_fields(minor)) == {"ClusterConfiguration", "InitConfiguration", "JoinConfiguration"}
    assert "plugins" in releases.containerd_tables(minor)


def test_minors_are_1_31_to_1_37_in_order() -> None:
    assert releases.supported_minors() == tuple(f"1.{each}" for each in range(31, 38))


@pytest.mark.parametrize("minor", releases.supported_minors())
def test_every_program_of_a_minor_has_a_digest(minor: str) -> None:
    release = releases.release(minor)
    patches = [each for each in artifacts.versions("kubernetes-node") if releases.minor(each) == minor]
    assert patches, f"no Kubernetes {minor} patch has digests for both systems"
    for system in ("linux", "windows"):
        artifacts.find("containerd", release.containerd.version, system)
        artifacts.find("crictl", release.crictl, system)
        artifacts.find("cni-plugins", releases.CNI_PLUGINS, system)
    artifacts.find("runc", release.containerd.runc, "linux")
    artifacts.find("flanneld", releases.FLANNEL, "windows")
    artifacts.find("flannel-cni-plugin", releases.FLANNEL_CNI, "windows")
    artifacts.find("nssm", releases.NSSM, "windows")


@pytest.mark.parametrize(
    ("lookup", "argument", "table"),
    [
        (releases.release, "1.30.14", "Kubernetes releases"),
        (releases.release, "1.38.0", "Kubernetes releases"),
        (releases.windows, "windows-2016", "Windows releases"),
        (releases.image_parameter, "debian-12", "AWS images"),
        (releases.kubelet_fields, "1.20.15", "Kubernetes releases"),
        (releases.containerd_tables, "1.20.15", "Kubernetes releases"),
    ],
)
def test_a_version_without_a_row_names_the_table(lookup: object, argument: str, table: str) -> None:
    with pytest.raises(releases.UnknownRelease, match=f"table {table} has no row for '{releases.minor(argument)}'"):
        lookup(argument)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("os", "build", "tag", "ubr"),
    [
        ("windows-2019", "10.0.17763", "ltsc2019", 379),
        ("windows-2022", "10.0.20348", "ltsc2022", None),
        ("windows-2025", "10.0.26100", "ltsc2025", None),
    ],
)
def test_os_07_and_os_06_one_map_of_release_build_and_image_tag(os: str, build: str, tag: str, ubr: int | None) -> None:
    row = releases.windows(os)
    assert (row.build, row.image_tag, row.minimum_ubr) == (build, tag, ubr)


@pytest.mark.parametrize(
    ("version", "os", "tag"),
    [
        ("1.31.14", "windows-2019", "3.10"),
        ("1.34.0", "ubuntu-22.04", "3.10.1"),
        ("1.36.4", "windows-2022", "3.10.2"),
        ("1.31.14", "windows-2025", "3.10.2"),
    ],
)
def test_run_07_the_pause_image_follows_minor_and_build(version: str, os: str, tag: str) -> None:
    assert releases.pause_image(version, os) == f"registry.k8s.io/pause:{tag}"


@pytest.mark.parametrize(
    ("field", "first"),
    [
        ("singleProcessOOMKill", "1.32"),
        ("userNamespaces", "1.33"),
        ("tlsCurvePreferences", "1.36"),
        ("defaultPodSysctls", "1.37"),
    ],
)
def test_a_kubelet_field_is_known_from_the_minor_that_added_it(field: str, first: str) -> None:
    known = [minor for minor in releases.supported_minors() if field in releases.kubelet_fields(minor)]
    assert known == [each for each in releases.supported_minors() if each >= first]


@pytest.mark.parametrize(("os", "volume"), [("ubuntu-22.04", "gp2"), ("ubuntu-24.04", "gp3")])
def test_ubuntu_image_parameters_name_the_volume_type_of_their_release(os: str, volume: str) -> None:
    assert releases.image_parameter(os) == (
        f"/aws/service/canonical/ubuntu/server/{os.removeprefix('ubuntu-')}/stable/current/amd64/hvm/ebs-{volume}/ami-id"
    )
