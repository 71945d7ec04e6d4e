"""The kinds of the Linux executor in a temporary root: each is tested, set, and holds afterwards."""

import base64
import io
import json
import zipfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.cloud_init.cloud import INSTANCE, FakeCloud
from tests.cloud_init.linux import (
    OWN_TOKEN,
    SIMPLE,
    Execute,
    Programs,
    certificate,
    fetched,
    outcomes,
    permissions,
    put,
    tar_of,
)


def test_each_kind_is_set_once_and_held_by_the_second_run(execute: Execute, root: Path) -> None:
    put(root, "/proc/sys/net/ipv4/ip_forward", "0\n")
    assert outcomes(execute(*SIMPLE)) == ["set"] * len(SIMPLE)
    assert outcomes(execute(*SIMPLE)) == ["held"] * len(SIMPLE)


def test_the_steps_write_what_the_plan_says(execute: Execute, root: Path, cloud: FakeCloud) -> None:
    put(root, "/proc/sys/net/ipv4/ip_forward", "0\n")
    execute(*SIMPLE)
    text = {each["path"]: (root / each["path"][1:]) for each in SIMPLE if "path" in each}
    assert permissions(text["/etc/mullion/x"]) == 0o755
    assert permissions(text["/etc/mullion/y"]) == 0o700
    assert permissions(text["/usr/bin/a"]) == 0o755
    assert json.loads(text["/etc/a.json"].read_text()) == {"enforce": [], "taints": []}
    assert text["/etc/b.yaml"].read_text().split("---\n")[2] == '{\n  "ip": "10.20.1.4"\n}\n'
    assert text["/etc/pki/ca.key"].read_text() == "-----BEGIN-----\nsecretline\n"
    keys = json.loads(text["/etc/e.json"].read_text())["resources"][0]["providers"][0]["secretbox"]["keys"]
    # a new machine encrypts with the second newest key, which all others read; the agent switches to the newest
    assert keys == [{"name": "key1", "secret": "a2V5MQ=="}, {"name": "key2", "secret": "a2V5Mg=="}]
    assert {permissions(text[each]) for each in ("/etc/pki/ca.key", "/etc/e.json", "/etc/token")} == {0o600}
    assert [(root / f"etc/sa.{each}").read_text() for each in ("key", "pub")] == ["signs", "verifies"]
    assert text["/etc/token"].read_text() == OWN_TOKEN
    assert (root / "proc/sys/net/ipv4/ip_forward").read_text() == "1\n"
    record = json.loads(cloud.objects["/snapshots/founding/0"])
    assert (record["owner"], record["state"]) == (INSTANCE, "claimed")
    assert (root / "v/founder").exists()
    assert not cloud.refused()


def test_the_pod_subnet_is_the_network_of_the_address_in_flannels_file(execute: Execute, root: Path) -> None:
    put(root, "/run/flannel/subnet.env", "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\n")
    execute({"kind": "file", "path": "/a", "content": {"ref": "node.pod_subnet"}})
    assert (root / "a").read_text() == "10.244.3.0/24"


def test_drift_is_repaired(execute: Execute, root: Path) -> None:
    steps = SIMPLE[2:5]
    execute(*steps)
    put(root, "/etc/a.conf", "a = 2\n")
    (root / "usr/bin/a").chmod(0o600)
    assert outcomes(execute(*steps)) == ["set", "set", "held"]


def test_an_archive_is_downloaded_checked_and_unpacked_without_its_leading_folders(
    execute: Execute, root: Path, cloud: FakeCloud
) -> None:
    content = tar_of(
        {"kubernetes/node/bin/kubelet": b"k", "kubernetes/node/bin/other": b"o", "kubernetes/LICENSE": b""}
    )
    steps = fetched(cloud, content, strip=3, members=["kubernetes/node/bin/kubelet"])
    assert outcomes(execute(*steps)) == ["set", "set"]
    assert [each.name for each in (root / "opt/bin").iterdir()] == ["kubelet"]
    assert permissions(root / "opt/bin/kubelet") == 0o755
    assert outcomes(execute(*steps)) == ["held", "held"]
    (root / "opt/bin/kubelet").write_bytes(b"longer")
    assert outcomes(execute(*steps)) == ["held", "set"]


def test_a_zip_is_unpacked_as_well(execute: Execute, root: Path, cloud: FakeCloud) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("bin/a", b"a")
    assert outcomes(execute(*fetched(cloud, buffer.getvalue()))) == ["set", "set"]
    assert (root / "opt/bin/bin/a").read_bytes() == b"a"


def test_a_ca_bundle_is_accepted_only_with_the_plans_key_hash(execute: Execute, root: Path, cloud: FakeCloud) -> None:
    (pem, known), (other, _) = certificate(), certificate()
    step = {"kind": "certificate-authority", "url": f"{cloud.url}/bundles/ca.crt", "hash": known, "path": "/etc/ca.crt"}
    cloud.objects["/bundles/ca.crt"] = other.encode()
    assert execute(step)["name"] == "digest-mismatch"
    assert not (root / "etc/ca.crt").exists()
    cloud.objects["/bundles/ca.crt"] = (other + pem).encode()
    assert execute(step)["name"] == "digest-mismatch"
    assert not (root / "etc/ca.crt").exists()
    cloud.objects["/bundles/ca.crt"] = pem.encode() + b"\n" * 65536
    assert execute(step)["name"] == "download-failed", "a larger object is not read whole"
    cloud.objects["/bundles/ca.crt"] = pem.encode()
    assert outcomes(execute(step)) == ["set"]
    assert outcomes(execute(step)) == ["held"]


def test_a_bootstrap_token_is_created_by_kubeadm_stored_and_in_no_argument(
    execute: Execute, programs: Programs, cloud: FakeCloud
) -> None:
    fresh = "ghijkl.0123456789abcdef"
    end = (datetime.now(timezone.utc) + timedelta(hours=24)).strftime("%Y-%m-%dT%H:%M:%SZ")
    fields = {"token-secret": "0123456789abcdef", "expiration": end}
    known = json.dumps({"data": {name: base64.b64encode(text.encode()).decode() for name, text in fields.items()}})
    programs.answers["kubeadm token create"] = (0, f"{fresh}\n")
    programs.answers["kubectl --kubeconfig /k --namespace kube-system get secret bootstrap-token-ghijkl"] = (0, known)
    programs.answers["kubectl"] = (1, "")
    step = {"kind": "bootstrap-token", "secret": "join", "kubeconfig": "/k", "lifetime_hours": 24}
    assert outcomes(execute(step)) == ["set"]
    assert cloud.secrets["join"] == fresh
    assert not [each for each in programs.asked if fresh in " ".join(each)]


def test_a_service_is_a_restarting_unit_enabled_and_started(execute: Execute, root: Path, programs: Programs) -> None:
    step = {
        "kind": "service", "service": "kubelet", "command": ["/usr/bin/kubelet", "--x", "a b", "100%", "$HOME"],
        "depends": ["containerd"], "environment": {"A": "1 2"}, "delegate": True, "log": "/var/log/k/k.log",
    }  # fmt: skip
    put(root, "/usr/bin/kubelet", "")
    assert outcomes(execute(step)) == ["set"]
    lines = (root / "etc/systemd/system/kubelet.service").read_text().splitlines()
    assert 'ExecStart=/usr/bin/kubelet --x "a b" 100%% $$HOME' in lines
    assert lines.index("After=network-online.target") < lines.index("[Service]"), "the kubelet reads its addresses"
    assert {"After=containerd.service", 'Environment="A=1 2"', "Restart=always", "Delegate=yes"} <= set(lines)
    assert ["systemctl", "restart", "kubelet.service"] in programs.asked
    programs.asked.clear()
    assert outcomes(execute(step)) == ["held"]
    assert [words[1] for words in programs.asked] == ["show"], "one question about all units of the plan"


def test_hostname_module_and_swap_hold_now_and_at_the_next_boot(
    execute: Execute, root: Path, programs: Programs
) -> None:
    put(root, "/proc/sys/kernel/hostname", "ip-10-20-1-4\n")
    put(root, "/proc/swaps", "Filename Type Size Used Priority\n/swapfile file 1 0 -2\n")
    put(root, "/etc/fstab", "/dev/sda1 / ext4 defaults 0 1\n/swapfile none swap sw 0 0\n")
    steps: list[dict[str, Any]] = [
        {"kind": "hostname", "value": {"ref": "machine.name"}},
        {"kind": "module", "module": "br_netfilter"},
        {"kind": "swap"},
    ]
    assert outcomes(execute(*steps)) == ["set"] * 3
    assert (root / "etc/hostname").read_text() == "linux-0\n"
    assert (root / "etc/modules-load.d/mullion-br_netfilter.conf").read_text() == "br_netfilter\n"
    assert (root / "etc/fstab").read_text() == "/dev/sda1 / ext4 defaults 0 1\n# /swapfile none swap sw 0 0\n"
    assert outcomes(execute(*steps)) == ["held"] * 3


def test_a_command_runs_once_and_only_when_it_is_due(execute: Execute, root: Path, programs: Programs) -> None:
    programs.effects["kubeadm"] = lambda: put(root, "/made", "")
    step = {"kind": "command", "argv": ["kubeadm", "join"], "creates": "/made", "requires": "/due"}
    assert outcomes(execute(step | {"input": {"token": {"ref": "node.bootstrap_token"}}})) == ["held"]
    put(root, "/due", "")
    assert outcomes(execute(step | {"input": {"token": {"ref": "node.bootstrap_token"}}})) == ["set"]
    assert json.loads(programs.inputs[-1]) == {"token": OWN_TOKEN}
    assert outcomes(execute(step)) == ["held"]
    assert len(programs.asked) == 1


def test_a_firewall_rule_is_one_iptables_rule_per_source_and_seven_ports(execute: Execute, programs: Programs) -> None:
    sources = ["10.20.0.0/16", "10.30.0.0/16"]
    ports = ["30000-32767", *map(str, range(1, 8))]
    step = {"kind": "firewall-rule", "rule": "r", "protocol": "tcp", "ports": ports, "sources": sources}
    assert outcomes(execute(step)) == ["set"]
    rules = [" ".join(words[5:]) for words in programs.asked if "-I" in words]
    assert len(rules) == 4
    assert (
        rules[0]
        == f"-s {sources[0]} -p tcp -m multiport --dports 30000:32767,1,2,3,4,5,6 -m comment --comment r -j ACCEPT"
    )
    assert outcomes(execute(step)) == ["held"]


def test_a_wait_holds_when_its_condition_holds(execute: Execute, cloud: FakeCloud, root: Path) -> None:
    put(root, "/there", "")
    port = int(cloud.url.rpartition(":")[2])
    conditions = [
        {"file": "/there"},
        {"tcp": ["127.0.0.1", port]},
        {"url": f"{cloud.url}/none"},
        {"address": "127.0.0.1"},
    ]
    assert outcomes(execute(*({"kind": "wait", "condition": each} for each in conditions))) == ["held"] * 4


@pytest.mark.parametrize("note", ["", '{"digest": ', "[]"[:1]], ids=["empty", "half", "other"])
def test_a_partial_download_with_an_incomplete_note_starts_again(
    execute: Execute, root: Path, cloud: FakeCloud, note: str
) -> None:
    put(root, "/var/.a.mullion-part", "half of ano")
    put(root, "/var/.a.mullion-of", note)
    step = fetched(cloud, b"the whole file")[0]
    assert outcomes(execute(step)) == ["set"]
    assert (root / "var/a").read_bytes() == b"the whole file"
    assert [each.name for each in (root / "var").iterdir() if each.name != "lib"] == ["a"], "nothing is left beside it"
