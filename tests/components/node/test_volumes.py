"""Storage drivers: where their parts run, by what they know their machine, and what each part may do."""

from typing import Any

import pytest

from components.lint import Context, Level
from components.lint.documents import Manifests, Object
from components.lint.judge import lint
from components.node.manifests import Manifest, pod_of
from components.node.plan import NodePlan
from components.plan import plan_cluster
from components.plan.images import started_images
from components.releases import storage_drivers
from components.spec.choices import StorageDriver
from tools.golden.samples import content, plan, spec

MIXED: dict[str, Any] = {"web": {"os": "windows-2022"}, "linux": {"os": "ubuntu-24.04"}}
KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def manifests(node_plan: NodePlan, name: str = "volumes") -> list[Manifest]:
    return content(node_plan, f"addon-{name}")["items"]


def made(*drivers: str, **cluster: Any) -> list[Manifest]:
    return manifests(plan(None, csi=[*drivers], **{"pools": MIXED, **cluster}))


def named(made: list[Manifest], kind: str, name: str) -> Manifest:
    (found,) = [each for each in made if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def containers(made: list[Manifest], kind: str, name: str) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in pod_of(named(made, kind, name))["containers"]}


def test_sto_03_without_drivers_there_is_no_add_on_for_volumes(control_plane: NodePlan) -> None:
    assert not {"addon-volumes", "addon-snapshots"} & {each.name for each in control_plane.steps}


@pytest.mark.parametrize("driver", [each.value for each in storage_drivers.DRIVERS])
def test_sto_03_controllers_run_on_control_planes_alone_and_tell_their_health_to_the_machine_alone(driver: str) -> None:
    found = made(driver, cloud=(storage_drivers.DRIVERS[StorageDriver(driver)].cloud or "aws"))
    pod = pod_of(named(found, "Deployment", f"csi-{driver}-controller"))
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux", "node-role.kubernetes.io/control-plane": ""}
    assert pod["hostNetwork"] is True, "the metadata service is closed to other pods"
    parts = {each["name"]: each for each in pod["containers"]}
    (endpoint,) = [each for each in parts["liveness-probe"]["args"] if each.startswith("--http-endpoint=")]
    probe = parts["driver"]["livenessProbe"]["httpGet"]
    assert endpoint == f"--http-endpoint=127.0.0.1:{probe['port']}" and probe["host"] == "127.0.0.1"


def test_sto_03_pods_in_the_network_of_one_machine_have_different_ports() -> None:
    pods = [pod_of(each) for each in made("ebs", "smb") if each["kind"] in ("Deployment", "DaemonSet")]
    here = [each for each in pods if each.get("hostNetwork") and each["nodeSelector"]["kubernetes.io/os"] == "linux"]
    probes = [part["livenessProbe"] for each in here for part in each["containers"] if "livenessProbe" in part]
    ports = [each["httpGet"]["port"] for each in probes]
    assert len(ports) == 3 and len({*ports}) == 3, "two controllers, and the node plug-in that mounts"


def of_pd(**cluster: Any) -> list[Manifest]:
    return made("pd", cloud="gcp", **cluster)


def test_sto_03_pd_asks_the_metadata_service_in_the_machines_network_and_tells_its_health_to_the_machine_alone() -> (
    None
):
    pod, found = pod_of(named(of_pd(), "DaemonSet", "csi-pd-node")), containers(of_pd(), "DaemonSet", "csi-pd-node")
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "Default")
    probe = found["driver"]["livenessProbe"]["httpGet"]
    assert f"--http-endpoint=127.0.0.1:{probe['port']}" in found["liveness-probe"]["args"]
    assert probe["host"] == "127.0.0.1"
    assert {"--run-controller-service=false", "--node-name=$(CSI_NODE_NAME)"} <= set(found["driver"]["args"])
    folders = {each["hostPath"]["path"] for each in pod["volumes"]}
    assert {"/dev", "/etc/udev", "/lib/udev", "/run/udev", "/sys", "/var/lib/kubelet"} < folders
    ports = [
        part["livenessProbe"]["httpGet"]["port"]
        for each in made("pd", "smb", cloud="gcp")
        for part in pod_of(each).get("containers", ())
        if "livenessProbe" in part and pod_of(each)["nodeSelector"]["kubernetes.io/os"] == "linux"
    ]
    assert len(ports) == len({*ports}) == 4, "two controllers and two node plug-ins in one machine's network"


def test_sto_03_pd_has_no_node_plug_in_on_windows_and_no_class_of_its_own_for_it() -> None:
    names = {each["metadata"]["name"] for each in of_pd() if each["kind"] in ("DaemonSet", "StorageClass")}
    assert names == {"csi-pd-node", "pd", "pd-hyperdisk"}
    planned = plan_cluster("dev", spec(cloud="gcp", csi=["pd"], pools=MIXED))
    windows = started_images(planned, next(each for each in planned.pools if each.os.is_windows))
    assert not [each for each in windows if "csi" in each]


def test_sto_03_classes_of_pd_wait_for_the_pod_grow_and_use_the_users_key() -> None:
    key = "projects/example/locations/europe-west1/keyRings/ring/cryptoKeys/key"
    classes = {each["metadata"]["name"]: each for each in of_pd(encryption_key=key) if each["kind"] == "StorageClass"}
    types = {name: each["parameters"]["type"] for name, each in classes.items()}
    assert types == {"pd": "pd-balanced", "pd-hyperdisk": "hyperdisk-balanced"}
    for each in classes.values():
        assert each["parameters"]["disk-encryption-kms-key"] == key
        assert (each["volumeBindingMode"], each["allowVolumeExpansion"]) == ("WaitForFirstConsumer", True)
    assert all("disk-encryption-kms-key" not in each.get("parameters", {}) for each in of_pd())


@pytest.mark.parametrize(
    ("sizes", "default"),
    [
        (["n2-standard-4"], "pd"),
        (["n4-standard-4", "c4a-standard-4"], "pd-hyperdisk"),
        (["n2-standard-4", "c4-standard-4"], "pd"),
    ],
)
def test_sto_03_the_default_class_of_pd_is_of_disks_that_the_linux_pools_take(sizes: list[str], default: str) -> None:
    pools = {f"linux-{index}": {"os": "ubuntu-24.04", "size": size} for index, size in enumerate(sizes)}
    web = {"os": "windows-2022", "size": "n2-standard-4"}
    mark = "storageclass.kubernetes.io/is-default-class"
    classes = [each for each in of_pd(pools={**pools, "web": web}) if each["kind"] == "StorageClass"]
    chosen = [each["metadata"]["name"] for each in classes if each["metadata"]["annotations"][mark] == "true"]
    assert chosen == [default]


def test_sto_03_volumes_of_pd_without_a_file_system_in_their_class_get_ext4() -> None:
    """A kubelet leaves fsGroup out for a volume of whose file system the PersistentVolume says nothing."""
    assert "--default-fstype=ext4" in containers(of_pd(), "Deployment", "csi-pd-controller")["csi-provisioner"]["args"]


def test_sto_03_disks_and_snapshots_of_pd_have_the_clusters_names_and_labels_and_the_users() -> None:
    found = of_pd(tags={"team": "billing", "kubernetes-io-cluster-dev": "shared"})
    parts = containers(found, "Deployment", "csi-pd-controller")
    assert "--extra-labels=kubernetes-io-cluster-dev=owned,team=billing" in parts["driver"]["args"]
    for name, what in (("csi-provisioner", "volume"), ("csi-snapshotter", "snapshot")):
        assert {f"--{what}-name-prefix=pv-dev-", f"--{what}-name-uuid-length=32"} <= set(parts[name]["args"])
        timeouts = [each for each in parts[name]["args"] if each.startswith("--timeout=")]
        assert timeouts == [{"volume": "--timeout=250s", "snapshot": "--timeout=300s"}[what]]
    of_snapshots = named(found, "VolumeSnapshotClass", "pd")
    assert of_snapshots["parameters"] == {"labels": "kubernetes-io-cluster-dev=owned"}
    assert "parameters" not in named(made("ebs"), "VolumeSnapshotClass", "ebs")


def test_sto_03_the_driver_of_pd_starts_without_the_script_of_its_image() -> None:
    """The script writes into folders that the controller may not change."""
    controller = containers(of_pd(), "Deployment", "csi-pd-controller")["driver"]
    assert controller["command"] == ["/gce-pd-csi-driver"]
    assert controller["securityContext"]["readOnlyRootFilesystem"] is True


@pytest.mark.parametrize(("count", "replicas"), [(1, 1), (3, 2)])
def test_sto_03_a_controller_has_a_second_pod_on_another_control_plane(count: int, replicas: int) -> None:
    found = made("ebs", control_plane={"count": count})
    deployment = named(found, "Deployment", "csi-ebs-controller")
    assert deployment["spec"]["replicas"] == replicas
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


@pytest.mark.parametrize("name", ["csi-ebs-node", "csi-ebs-node-windows"])
def test_sto_03_ebs_knows_its_machine_by_the_node_object(name: str) -> None:
    driver = containers(made("ebs"), "DaemonSet", name)["driver"]
    assert "--metadata-sources=kubernetes" in driver["args"]
    assert {"name": "CSI_NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}} in driver["env"]
    assert not pod_of(named(made("ebs"), "DaemonSet", "csi-ebs-node")).get("hostNetwork")


def test_sto_03_node_plug_ins_of_ebs_may_read_nodes_and_nothing_more() -> None:
    found = made("ebs", "smb")
    assert named(found, "ClusterRole", "mullion:csi-ebs-node")["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
    ]
    assert {"name": "DISABLE_TAINT_WATCHER", "value": "true"} in containers(found, "DaemonSet", "csi-ebs-node")[
        "driver"
    ]["env"]
    assert not [each for each in found if each["metadata"]["name"] == "mullion:csi-smb-node"]


def test_sto_03_no_plug_in_reads_secrets_on_workers() -> None:
    """Inline volumes of SMB would need that: the CSIDriver leaves them out."""
    found = made("ebs", "smb")
    readers = [
        each["metadata"]["name"]
        for each in found
        if each["kind"] == "ClusterRole" and any("secrets" in rule["resources"] for rule in each["rules"])
    ]
    assert readers == ["mullion:csi-smb-controller"]
    assert named(found, "CSIDriver", "smb.csi.k8s.io")["spec"]["volumeLifecycleModes"] == ["Persistent"]


def test_sto_03_on_windows_plug_ins_are_hostprocess_pods_and_only_with_windows_pools() -> None:
    pod = pod_of(named(made("ebs"), "DaemonSet", "csi-ebs-node-windows"))
    assert pod["securityContext"]["windowsOptions"]["hostProcess"] is True and pod["hostNetwork"] is True
    assert "--windows-host-process=true" in pod["containers"][0]["args"]
    only_linux = made("ebs", pools={"linux": {"os": "ubuntu-24.04"}})
    assert {each["metadata"]["name"] for each in only_linux if each["kind"] in ("DaemonSet", "StorageClass")} == {
        *("csi-ebs-node", "ebs")
    }


def test_sto_03_mullion_lint_accepts_the_manifests() -> None:
    found = [*made("ebs", "smb"), *manifests(plan(None, csi=["ebs"], pools=MIXED), "snapshots")]
    verdict = lint(Manifests(tuple(map(Object, found))), Context(spec(csi=["ebs", "smb"], pools=MIXED)))
    assert [each for each in verdict.findings if each.rule.level is not Level.NOTE] == []
    on_gcp = Context(spec(cloud="gcp", csi=["pd"], pools=MIXED))
    assert [
        each
        for each in lint(Manifests(tuple(map(Object, of_pd()))), on_gcp).findings
        if each.rule.level is not Level.NOTE
    ] == []


def test_sto_03_the_default_class_encrypts_waits_for_the_pod_and_grows() -> None:
    found = made("ebs", encryption_key=KEY)
    classes = {each["metadata"]["name"]: each for each in found if each["kind"] == "StorageClass"}
    defaults = {
        name: each["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"]
        for name, each in classes.items()
    }
    assert defaults == {"ebs": "true", "ebs-windows": "false"}
    systems = {name: each["parameters"]["csi.storage.k8s.io/fstype"] for name, each in classes.items()}
    assert systems == {"ebs": "ext4", "ebs-windows": "ntfs"}
    for each in classes.values():
        assert each["parameters"] | {"type": "gp3", "encrypted": "true", "kmsKeyId": KEY} == each["parameters"]
        assert (each["volumeBindingMode"], each["allowVolumeExpansion"]) == ("WaitForFirstConsumer", True)
    without = next(each for each in made("ebs") if each["kind"] == "StorageClass")
    assert "kmsKeyId" not in without["parameters"]


def test_sto_03_volumes_get_the_clusters_tag_and_the_users_but_none_that_stops_the_driver() -> None:
    tags = {"team": "billing", "kubernetes.io/cluster/other": "owned"}
    arguments = containers(made("ebs", tags=tags), "Deployment", "csi-ebs-controller")["driver"]["args"]
    assert "--k8s-tag-cluster-id=dev" in arguments
    assert [each for each in arguments if each.startswith("--extra-tags")] == ["--extra-tags=team=billing"]


@pytest.mark.parametrize(("kubernetes", "off"), [("1.33.10", True), ("1.36.4", False)])
def test_sto_03_sidecars_do_not_wait_for_an_api_that_the_minor_lacks(kubernetes: str, off: bool) -> None:
    parts = containers(made("ebs", kubernetes=kubernetes), "Deployment", "csi-ebs-controller")
    gate = "--feature-gates=VolumeAttributesClass=false"
    assert [gate in parts[name]["args"] for name in ("csi-provisioner", "csi-resizer", "csi-attacher")] == [
        *(off, off, False)
    ]


def test_sto_03_every_image_has_a_digest_and_the_stacks_own_comes_first() -> None:
    own = f"sha256:{64 * '1'}"
    image, _ = storage_drivers.SIDECARS["csi-provisioner"]
    node_plan = plan(None, csi=["ebs", "smb"], pools=MIXED, artifacts={"images": {image: own}})
    pods = [pod_of(each) for name in ("volumes", "snapshots") for each in manifests(node_plan, name)]
    images = {each["image"] for pod in pods for each in pod.get("containers", ())}
    assert all("@sha256:" in each for each in images)
    assert f"{image}@{own}" in images


def test_sto_03_windows_machines_start_the_windows_images_and_the_control_plane_those_of_linux() -> None:
    planned = plan_cluster("dev", spec(csi=["smb"], pools=MIXED))
    windows = started_images(planned, next(each for each in planned.pools if each.os.is_windows))
    control_plane = started_images(planned, planned.control_plane)
    assert any("smbplugin:v1.19.1-windows-hp@" in each for each in windows)
    assert any("csi-node-driver-registrar" in each for each in windows)
    assert any("smbplugin:v1.19.1@" in each for each in control_plane)
    assert not any("windows-hp" in each for each in control_plane)


def test_sto_03_snapshots_come_with_drivers_that_make_them() -> None:
    assert "addon-snapshots" not in {each.name for each in plan(None, csi=["smb"]).steps}
    found = manifests(plan(None, csi=["ebs"]), "snapshots")
    kinds = {each["spec"]["names"]["kind"] for each in found if each["kind"] == "CustomResourceDefinition"}
    assert kinds == {"VolumeSnapshot", "VolumeSnapshotClass", "VolumeSnapshotContent"}
    of_driver = named(made("ebs"), "VolumeSnapshotClass", "ebs")
    assert (of_driver["driver"], of_driver["deletionPolicy"]) == ("ebs.csi.aws.com", "Delete")
