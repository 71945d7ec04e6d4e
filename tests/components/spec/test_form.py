"""Errors of form: each names the path and the fix (components/spec/form.py)."""

from datetime import date, datetime, timezone
from typing import Any

import pytest

from components import releases
from components.catalogue import artifacts
from components.spec.form import ROWS
from tests.components.spec.documents import (
    REMOVED,
    Only,
    changed,
    kubelet,
    net,
    plane,
    problems,
    web,
)

_PATCHES = releases.in_order(artifacts.versions("kubernetes-node"))
NEWEST = _PATCHES[-1]
NEWEST_OF_136 = next(patch for patch in reversed(_PATCHES) if releases.minor(patch) == "1.36")
_MOMENT = datetime(2027, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
_TAINT = {"key": "os", "value": "windows", "effect": "NoSchedule"}

FORM_CASES: tuple[tuple[str, Any, str, str], ...] = (
    ("unknown-key", {"netwrk": {}}, "netwrk", "write network"),
    (
        "unknown-key",
        kubelet(sytem_reserved={}),
        "pools.web.kubelet.sytem_reserved",
        "write pools.web.kubelet.system_reserved",
    ),
    ("unknown-key", {"images": {"windows-209": "x"}}, "images.windows-209", "write windows-2019"),
    ("unknown-key", net(zzz=1), "network.zzz", "known here: mode, pods"),
    ("unknown-key", {"max_pods": 100}, "max_pods", "move it to pools.<name>.max_pods"),
    ("unknown-key", web(vni=1), "pools.web.vni", "move it to network.vni"),
    ("unknown-key", web(replicas=3), "pools.web.replicas", "write pools.web.count"),
    ("unknown-key", {"replicas": 3}, "replicas", "write control_plane.count or pools.<name>.count"),
    ("unknown-key", web(instanceType="x"), "pools.web.instanceType", "write pools.web.size"),
    ("unknown-key", plane(vm_size="x"), "control_plane.vm_size", "write control_plane.size"),
    ("unknown-key", {"version": "1.36.4"}, "version", "write kubernetes"),
    ("unknown-key", web(system_reserve={}), "pools.web.system_reserve", "write pools.web.kubelet.system_reserved"),
    ("unknown-key", web(kubelet={"maxPods": 9}), "pools.web.kubelet.maxPods", "write pools.web.max_pods"),
    ("unknown-key", {"region": "eu-west-1"}, "region", "write aws:region"),
    ("unknown-key", net(cni="calico"), "network.cni", "Mullion installs flannel; network.mode chooses"),
    ("unknown-key", {"images": {"windows-1803": "x"}}, "images.windows-1803", "known here: ubuntu-22.04"),
    ("unknown-key", web(containerd={"mirrors": {"A b": []}}), "pools.web.containerd.mirrors.A b", "registry.k8s.io"),
    ("missing-key", {"cloud": REMOVED}, "cloud", "one of aws, azure, gcp"),
    ("missing-key", web(os=REMOVED), "pools.web.os", "windows-2019"),
    ("value-unquoted", {"kubernetes": 1.32}, "kubernetes", f'in quotes: "{NEWEST}"'),
    ("value-unquoted", {"kubernetes": 1.36}, "kubernetes", f'in quotes: "{NEWEST_OF_136}"'),
    ("value-unquoted", web(labels={"tier": 1}), "pools.web.labels.tier", '"1"'),
    ("value-unquoted", {"expires": True}, "expires", '"true"'),
    ("value-unquoted", {"expires": date(2027, 1, 2)}, "expires", '"2027-01-02T00:00:00Z"'),
    ("value-unquoted", {"expires": _MOMENT}, "expires", '"2027-01-02T03:04:05Z"'),
    (
        "wrong-value",
        web(rollout={"max_unavailable": 0}),
        "pools.web.rollout.max_unavailable",
        "write 1 or more, or 25%",
    ),
    ("wrong-value", plane(reboot_window="02:00"), "control_plane.reboot_window", "write 02:00-05:00"),
    ("wrong-value", plane(reboot_window="24:00-01:00"), "control_plane.reboot_window", "in UTC"),
    ("wrong-value", plane(reboot_window="02:00-02:00"), "control_plane.reboot_window", "write 02:00-05:00"),
    ("wrong-value", web(rollout={"max_unavailable": "0%"}), "pools.web.rollout.max_unavailable", "write 1% to 100%"),
    ("wrong-value", web(rollout={"max_unavailable": "101%"}), "pools.web.rollout.max_unavailable", "write 1% to 100%"),
    ("wrong-value", web(rollout={"max_unavailable": "2"}), "pools.web.rollout.max_unavailable", "or a number"),
    (
        "wrong-type",
        web(rollout={"max_unavailable": True}),
        "pools.web.rollout.max_unavailable",
        "a percentage of `count`",
    ),
    ("wrong-value", web(rollout={"max_unavailable": 1.5}), "pools.web.rollout.max_unavailable", "write 2 or 25%"),
    ("wrong-value", web(rollout={"max_unavailable": [1]}), "pools.web.rollout.max_unavailable", "write 2 or 25%"),
    ("wrong-type", web(taints=[_TAINT]), "pools.web.taints.0", "write os=windows:NoSchedule"),
    ("wrong-type", web(taints=[{"effect": "x"}]), "pools.web.taints.0", "such as os=windows:NoSchedule"),
    ("wrong-type", web(count="three"), "pools.web.count", "a whole number"),
    ("wrong-type", web(count=1.5), "pools.web.count", "a whole number"),
    ("wrong-type", {"pools": 3}, "pools", "keys and values"),
    ("wrong-type", {"pools": {"web": None}}, "pools.web", "keys and values"),
    ("wrong-type", web(taints="os=windows:NoSchedule"), "pools.web.taints", "a list"),
    ("wrong-type", {"protect": "maybe"}, "protect", "true or false"),
    ("wrong-value", {"kubernetes": "1.32"}, "kubernetes", NEWEST),
    ("wrong-value", {"cloud": "asw"}, "cloud", "one of aws"),
    ("wrong-value", kubelet(system_reserved={"memory": "2GB"}), "pools.web.kubelet.system_reserved.memory", "2Gi"),
    ("wrong-value", web(disk_gb=19), "pools.web.disk_gb", "a whole number from 20 to 16384"),
    ("wrong-value", web(count=5001), "pools.web.count", "a whole number from 0 to 5000 (Number of machines)"),
    ("wrong-value", net(pods="10.0.0.0/33"), "network.pods", "10.20.0.0/16"),
    ("wrong-value", net(dns="10.0.0"), "network.dns", "10.96.0.10"),
    ("wrong-value", web(rollout={"drain": "10 min"}), "pools.web.rollout.drain", "90s, 10m"),
    ("wrong-type", net(outside=[10]), "network.outside.0", "10.20.0.0/16"),
    ("wrong-type", net(pods=True), "network.pods", "10.20.0.0/16"),
    ("wrong-type", net(dns=b"\x0a\x60\x00\x0a"), "network.dns", "10.96.0.10"),
    ("wrong-type", web(count=True), "pools.web.count", "a whole number"),
    ("host-bits", net(nodes="10.20.1.0/16"), "network.nodes", "write 10.20.0.0/16"),
    ("ipv6", net(services="fd00::/108"), "network.services", "IPv4"),
    ("ipv6", net(dns="fd00::10"), "network.dns", "IPv4"),
    ("secret-in-spec", {"owner": {"secure": "v1:abc"}}, "owner", "secret store"),
    ("secret-in-spec", {"pools": {"web": Only(secure="v1:abc")}}, "pools.web", "secret store"),
    ("key-unquoted", {"tags": {1: "x"}}, "tags.1", '"1"'),
    ("key-unquoted", web(labels={True: "x"}), "pools.web.labels.true", '"true"'),
)


@pytest.mark.parametrize(("id", "change", "path", "fix"), FORM_CASES, ids=lambda value: str(value)[:40])
def test_an_error_of_form_names_the_path_and_the_fix(id: str, change: Any, path: str, fix: str) -> None:
    all_problems = problems(changed(change))
    assert [(each.id, each.path) for each in all_problems] == [(id, path)], "exactly one problem"
    assert fix in all_problems[0].fix


def test_every_rule_of_form_about_the_spec_has_a_case() -> None:
    elsewhere = {"yaml-syntax", "duplicate-key", "unknown-config-key", "cluster-missing", "region-missing"}
    elsewhere |= {
        "region-form",
        "region-of-another-cloud",
        "project-missing",
        "project-number",
        "project-example",
        "cluster-name",
        "cluster-name-on-gcp",
        "nested-too-deep",
        "yaml-too-large",
        "yaml-too-deep",
    }
    elsewhere |= {"artifact-file-unreadable", "artifact-file-relative", "provider-redirected", "stack-file-key"}
    assert {id for id, *_ in FORM_CASES} == {row.id for row in ROWS} - elsewhere
