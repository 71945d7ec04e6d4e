"""Version tables: complete for every supported minor; a failed lookup names the table."""

from itertools import pairwise

import pytest

from components import releases
from components.catalogue import artifacts
from components.releases.runtimes import CONTAINERD

MINORS = releases.supported_minors()


def test_minors_are_1_20_to_1_37_in_order() -> None:
    assert tuple(f"1.{each}" for each in range(20, 38)) == MINORS


@pytest.mark.parametrize("minor", MINORS)
def test_every_minor_has_a_release_fields_gates_and_flags(minor: str) -> None:
    assert releases.release(minor).minor == minor
    assert releases.release(f"{minor}.0") is releases.release(minor)
    assert {"maxPods", "clusterDNS"} <= releases.top_fields("kubelet", minor)
    assert {"mode", "winkernel"} <= releases.top_fields("kube-proxy", minor)
    for kind in ("ClusterConfiguration", "InitConfiguration", "JoinConfiguration"):
        assert releases.top_fields(kind, minor), kind
    assert "plugins" in releases.containerd_tables(releases.release(minor).containerd.config_version)
    assert {"AllAlpha", "WinDSR"} <= releases.gates("kubelet", minor)
    for program in ("kubelet", "kube-proxy"):
        assert "windows-service" in releases.flags(program, minor, "windows")
        assert "windows-service" not in releases.flags(program, minor, "linux")


@pytest.mark.parametrize("minor", MINORS)
def test_every_program_that_a_minor_needs_has_a_digest(minor: str) -> None:
    release = releases.release(minor)
    patches = [each for each in artifacts.versions("kubernetes-node") if releases.minor(each) == minor]
    assert patches, f"no Kubernetes {minor} patch has digests for both systems"
    for system in ("linux", "windows"):
        artifacts.find("containerd", release.containerd.version, system)
        artifacts.find("crictl", release.crictl[system], system)
        artifacts.find("cni-plugins", releases.CNI_PLUGINS, system)
    artifacts.find("runc", release.containerd.runc, "linux")
    artifacts.find("flanneld", releases.FLANNEL, "windows")
    artifacts.find("flannel-cni-plugin", releases.FLANNEL_CNI, "windows")
    artifacts.find("nssm", releases.NSSM, "windows")
    docker = releases.docker(minor)
    artifacts.find("docker", docker.version, "windows")
    assert (docker.cri_dockerd is None) == release.dockershim


@pytest.mark.parametrize(
    ("lookup", "arguments", "says"),
    [
        (releases.release, ("1.19.16",), "Kubernetes releases has no row for '1.19'"),
        (releases.release, ("1.38.0",), "Kubernetes releases has no row for '1.38'"),
        (releases.windows, ("windows-2016",), "Windows releases has no row for 'windows-2016'"),
        (releases.image, ("aws", "debian-11"), "operating system images has no row for 'debian-11'"),
        (releases.image, ("ovh", "windows-2019"), "images of windows-2019 has no row for 'ovh'"),
        (releases.containerd, ("1.5.18",), "containerd lines has no row for '1.5'"),
        (releases.takes, ("1.19.16", "1.7.25"), "containerd support has no row for '1.19'"),
        (releases.fields, ("kubelet", "1.19.16"), "Kubernetes releases has no row for '1.19'"),
        (releases.fields, ("kube-scheduler", "1.30.0"), "configuration documents has no row for 'kube-scheduler'"),
        (releases.gates, ("InitConfiguration", "1.30.0"), "feature gates has no row for 'InitConfiguration'"),
        (releases.flags, ("kubeadm", "1.30.0", "linux"), "flags has no row for 'kubeadm'"),
        (releases.containerd_of, ("1.19.16", None), "Kubernetes releases has no row for '1.19'"),
    ],
)
def test_a_failed_lookup_names_the_table(lookup: object, arguments: tuple[str, ...], says: str) -> None:
    with pytest.raises(releases.UnknownRelease, match=f"the table of {says}; it has "):
        lookup(*arguments)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("os", "build", "tag", "ubr"),
    [
        ("windows-2019", "10.0.17763", "ltsc2019", 379),
        ("windows-2022", "10.0.20348", "ltsc2022", None),
        ("windows-2025", "10.0.26100", "ltsc2025", 32690),
    ],
)
def test_os_07_and_os_06_one_map_of_release_build_and_image_tag(os: str, build: str, tag: str, ubr: int | None) -> None:
    row = releases.windows(os)
    assert (row.build, row.image_tag, row.minimum_ubr) == (build, tag, ubr)


@pytest.mark.parametrize(
    ("version", "os", "image"),
    [
        ("1.20.15", "windows-2019", "mcr.microsoft.com/oss/kubernetes/pause:1.4.1"),
        ("1.22.17", "windows-2019", "mcr.microsoft.com/oss/kubernetes/pause:1.4.1"),
        ("1.22.17", "ubuntu-22.04", "registry.k8s.io/pause:3.5"),
        ("1.23.17", "windows-2022", "registry.k8s.io/pause:3.6"),
        ("1.25.16", "windows-2022", "registry.k8s.io/pause:3.7"),
        ("1.30.14", "windows-2022", "registry.k8s.io/pause:3.9"),
        ("1.31.14", "windows-2019", "registry.k8s.io/pause:3.10"),
        ("1.34.0", "ubuntu-22.04", "registry.k8s.io/pause:3.10.1"),
        ("1.36.4", "windows-2022", "registry.k8s.io/pause:3.10.2"),
        ("1.33.13", "windows-2025", "registry.k8s.io/pause:3.10.2"),
    ],
)
def test_run_07_the_pause_image_follows_minor_and_build(version: str, os: str, image: str) -> None:
    assert releases.pause_image(version, os) == image


@pytest.mark.parametrize(
    ("version", "etcd", "coredns"),
    [
        ("1.20.15", "etcd:3.4.13-0", "coredns:1.7.0"),
        ("1.24.17", "etcd:3.5.6-0", "coredns/coredns:v1.8.6"),
        ("1.34.11", "etcd:3.6.5-0", "coredns/coredns:v1.12.1"),
    ],
)
def test_the_control_plane_images_equal_those_that_kubeadm_lists(version: str, etcd: str, coredns: str) -> None:
    """Expected: the output of `kubeadm config images list` of these versions with Mullion's configuration."""
    programs = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
    names = {*(f"{each}:v{version}" for each in programs), etcd, coredns}
    assert set(releases.control_plane_images(version)) == {f"registry.k8s.io/{each}" for each in names}


@pytest.mark.parametrize(
    ("kubernetes", "containerd", "taken"),
    [
        ("1.20.15", "1.7.25", True),
        ("1.25.16", "2.0.5", False),
        ("1.31.14", "1.7.20", True),
        ("1.32.13", "1.7.23", False),
        ("1.34.11", "2.1.3", True),
        ("1.34.11", "2.1.2", False),
        ("1.35.8", "1.7.34", True),
        ("1.36.4", "1.7.34", False),
        ("1.36.4", "2.2.0", True),
    ],
)
def test_run_01_a_minor_supports_the_containerd_versions_it_is_tested_with(
    kubernetes: str, containerd: str, taken: bool
) -> None:
    assert releases.takes(kubernetes, containerd) is taken


@pytest.mark.parametrize(
    ("image", "may"),
    [
        ("MicrosoftWindowsServer:WindowsServer:2022-datacenter-core:20348.2582.240703", True),
        ("MicrosoftWindowsServer:WindowsServer:2022-datacenter-core:20348.2762.241006", False),
        ("MicrosoftWindowsServer:WindowsServer:2022-datacenter-core:latest", False),
        ("projects/windows-cloud/global/images/windows-server-2022-dc-core-v20240910", True),
        ("projects/windows-cloud/global/images/windows-server-2022-dc-core-v20241010", False),
        ("ami-0123456789abcdef0", True),
    ],
)
def test_an_image_that_tells_its_updates_is_judged_by_them(image: str, may: bool) -> None:
    broken = releases.windows("windows-2022").broken
    assert broken and broken.may_have(image) == may


@pytest.mark.parametrize("minor", MINORS)
def test_the_default_containerd_of_a_minor_is_supported(minor: str) -> None:
    assert releases.takes(minor, releases.release(minor).containerd.version)


def test_a_containerd_line_has_the_format_of_its_configuration() -> None:
    shapes = {line: (row.config_version, row.cni_directories) for line, row in CONTAINERD.items()}
    assert shapes["1.7"] == (2, "bin_dir")
    assert shapes["2.1"] == (3, "bin_dir")
    assert shapes["2.3"] == (4, "bin_dirs")
    assert "grpc" in releases.containerd_tables(3) - releases.containerd_tables(4)
    assert releases.containerd_of("1.36.4", "2.2.1").config_version == 3
    assert releases.containerd_of("1.36.4", "9.9.9") == releases.containerd_of("1.36.4", None) == CONTAINERD["2.3"]
    assert releases.containerd("2.2.1").version == "2.2.1"
    assert releases.containerd("2.2.1").runc == CONTAINERD["2.2"].runc


@pytest.mark.parametrize(
    ("minor", "systems"),
    [
        ("1.20", ("windows-2019",)),
        ("1.23", ("windows-2019", "windows-2022")),
        ("1.32", ("windows-2019", "windows-2022")),
        ("1.33", ("windows-2019", "windows-2022", "windows-2025")),
    ],
)
def test_os_01_a_minor_supports_its_windows_releases(minor: str, systems: tuple[str, ...]) -> None:
    assert releases.windows_for(minor) == systems


@pytest.mark.parametrize(("os", "volume"), [("ubuntu-22.04", "gp2"), ("ubuntu-24.04", "gp3")])
def test_the_ubuntu_image_on_aws_has_the_volume_type_of_its_release(os: str, volume: str) -> None:
    assert releases.image("aws", os) == (
        f"/aws/service/canonical/ubuntu/server/{os.removeprefix('ubuntu-')}/stable/current/amd64/hvm/ebs-{volume}/ami-i"
        f"d"
    )


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
@pytest.mark.parametrize("os", ["ubuntu-22.04", "ubuntu-24.04", "windows-2019", "windows-2022", "windows-2025"])
def test_every_cloud_has_an_image_of_every_system(cloud: str, os: str) -> None:
    assert releases.image(cloud, os)
    assert releases.os_end_of_life(os)


def test_versions_are_compared_as_numbers() -> None:
    assert releases.in_order(["1.10", "1.9.12", "1.9"]) == ["1.9", "1.9.12", "1.10"]
    assert releases.older("1.9", "1.10")
    assert not releases.older("1.20", "1.20")
    assert releases.within("1.20", "1.20", "1.20")
    assert not releases.within("1.19", "1.20", "")


def test_next_minor_returns_the_following_minor_and_none_for_the_newest() -> None:
    assert [releases.next_minor(each) for each in MINORS] == [*MINORS[1:], None]
    assert releases.next_minor("1.29.15") == "1.30"
    assert releases.next_minor("1.19.16") is None


def test_support_ends_the_day_after_the_end_of_life_date() -> None:
    assert not releases.ended("2026-11-21", "2026-11-21")
    assert releases.ended("2026-11-20", "2026-11-21")


def test_etcd_3_6_follows_only_a_3_5_that_keeps_removed_members_away() -> None:
    """Members that 3.5 had removed come back in 3.6 unless every member ran 3.5.26 or newer before."""
    rows = [releases.release(each) for each in MINORS]
    hops = [(old, new) for old, new in pairwise(rows) if old.etcd.startswith("3.5.") and new.etcd.startswith("3.6.")]
    assert [(old.minor, old.etcd_pinned, new.etcd_pinned) for old, new in hops] == [("1.33", True, False)]
    assert int(hops[0][0].etcd.split(".")[2].partition("-")[0]) >= 26
