"""Labels and taints; life of the cluster."""

from tests.components.spec.documents import GOOD, Case, azure, linux, pools, web

_LINUX, _WEB = GOOD["pools"]["linux"], GOOD["pools"]["web"]
_TAINT = "os=windows:NoSchedule"


def _label(key: str, value: str = "x") -> dict[str, object]:
    return {"labels": {key: value}}


def _tags(count: int) -> dict[str, str]:
    return {f"key{index}": "value" for index in range(count)}


CASES = (
    Case("label-key", web(**_label("-team")), "pools.web.labels.-team", web(**_label("team"))),
    Case("label-key", web(**_label("Example.com/a")), "pools.web.labels.Example.com/a", web(**_label("example.com/a"))),
    Case("label-key", web(**_label("k" * 64)), f"pools.web.labels.{'k' * 64}", web(**_label("k" * 63))),
    Case("label-value", web(**_label("a", "b c")), "pools.web.labels.a", web(**_label("a", "b_c"))),
    Case("label-value", web(**_label("a", "v" * 64)), "pools.web.labels.a", web(**_label("a", ""))),
    Case(
        "label-set-by-mullion",
        web(**_label("node.kubernetes.io/windows-build")),
        "pools.web.labels.node.kubernetes.io/windows-build",
        web(**_label("node.kubernetes.io/rack")),
    ),
    Case("label-set-by-mullion", web(**_label("mullion/pool")), "pools.web.labels.mullion/pool", web(**_label("mull"))),
    Case(
        "label-restricted",
        linux(**_label("node-role.kubernetes.io/worker")),
        "pools.linux.labels.node-role.kubernetes.io/worker",
        linux(**_label("kubelet.kubernetes.io/worker")),
    ),
    Case(
        "label-restricted",
        linux(**_label("x.k8s.io/worker")),
        "pools.linux.labels.x.k8s.io/worker",
        linux(**_label("topology.kubernetes.io/zone")),
    ),
    Case("taint-form", linux(taints=["a=b"]), "pools.linux.taints.0", linux(taints=["a:PreferNoSchedule"])),
    Case("taint-form", linux(taints=["a=b:Never"]), "pools.linux.taints.0", linux(taints=["a=:PreferNoSchedule"])),
    Case("taint-form", linux(taints=["a b=c:NoExecute"]), "pools.linux.taints.0", linux(taints=["a.b=c:NoExecute"])),
    Case("taint-form", linux(taints=["a=b c:NoExecute"]), "pools.linux.taints.0", linux(taints=["a=b.c:NoExecute"])),
    Case(
        "taint-twice",
        linux(taints=["a=b:NoSchedule", "a=c:NoSchedule"]),
        "pools.linux.taints.1",
        linux(taints=["a=b:NoSchedule", "a=b:PreferNoSchedule"]),
    ),
    Case(
        "taint-reserved",
        linux(taints=["node.kubernetes.io/not-ready:NoSchedule"]),
        "pools.linux.taints.0",
        linux(taints=["example.com/not-ready:NoSchedule"]),
    ),
    Case(
        "taint-of-a-role",
        linux(taints=["node-role.kubernetes.io/control-plane:NoSchedule"]),
        "pools.linux.taints.0",
        linux(taints=["role=control-plane:NoSchedule"]),
    ),
    Case(
        "taint-windows-on-linux", linux(taints=[_TAINT]), "pools.linux.taints.0", linux(taints=["os=linux:NoExecute"])
    ),
    Case("taint-evicts", linux(taints=["a=b:NoExecute"]), "pools.linux.taints.0", linux(taints=["a=b:NoSchedule"])),
    # SCH-02: one value per cluster
    Case(
        "windows-taint-values",
        pools(a=_WEB, b={**_WEB, "taints": ["os=Win1809:NoSchedule"]}),
        "pools.b.taints",
        pools(a=_WEB, b={**_WEB, "taints": [_TAINT, "gpu=yes:NoSchedule"]}),
    ),
    Case("windows-taint-missing", web(taints=[]), "pools.web.taints", web(taints=["gpu=yes:NoSchedule"])),
    Case(
        "windows-taint-missing",
        web(taints=["os=windows:PreferNoSchedule"]),
        "pools.web.taints",
        web(taints=[_TAINT]),
    ),
    Case(
        "linux-workers-all-tainted",
        linux(taints=["a=b:NoSchedule"]),
        "pools",
        pools(a=_LINUX, b={**_LINUX, "taints": ["a=b:NoSchedule"]}),
    ),
    Case(
        "several-windows-builds",
        pools(linux=_LINUX, a=_WEB, b={**_WEB, "os": "windows-2025"}),
        "pools",
        pools(linux=_LINUX, a=_WEB, b={**_WEB, "os": "windows-2025", "count": 0}),
    ),
    Case("expires-form", {"expires": "8 hours"}, "expires", {"expires": "8h"}),
    Case("expires-form", {"expires": "2026-13-24T18:00:00Z"}, "expires", {"expires": "2999-12-24T18:00:00Z"}),
    Case("expires-past", {"expires": "2020-12-24T18:00:00Z"}, "expires", {"expires": "2999-12-24T18:00:00Z"}),
    Case("expires-form", {"expires": "2026-12-24"}, "expires", {"expires": "3d"}),
    Case("expires-at-once", {"expires": "0h"}, "expires", {"expires": "1s"}),
    Case("expires-soon", {"expires": "29m"}, "expires", {"expires": "30m"}),
    Case("protect-and-expires", {"expires": "8h", "protect": True}, "expires", {"expires": "8h", "protect": False}),
    Case("owner-missing", {"protect": True}, "owner", {"protect": True, "owner": "platform"}),
    Case("owner-form", {"owner": " "}, "owner", {"owner": "a@example.com"}),
    Case("owner-form", {"owner": "x" * 257}, "owner", {"owner": "x" * 256}),
    Case("tags-too-many", {"tags": _tags(41)}, "tags", {"tags": _tags(40)}),
    Case("tag-key", {"tags": {"k" * 129: "v"}}, f"tags.{'k' * 129}", {"tags": {"k" * 128: "v"}}),
    Case("tag-key", {"tags": {"a#b": "v"}}, "tags.a#b", {"tags": {"a:b/c d": "v"}}),
    Case("tag-value", {"tags": {"k": "v" * 257}}, "tags.k", {"tags": {"k": "v" * 256}}),
    Case("tag-reserved", {"tags": {"AWS:x": "v"}}, "tags.AWS:x", {"tags": {"aws": "v"}}),
    Case("tag-reserved", {"tags": {"mullion:owner": "v"}}, "tags.mullion:owner", {"tags": {"mullion": "v"}}),
    # IAM compares the keys of tags without case
    Case("tag-reserved", {"tags": {"name": "v"}}, "tags.name", {"tags": {"names": "v"}}),
    Case("tag-key-on-azure", azure({"tags": {"a/b": "v"}}), "tags.a/b", {"tags": {"a/b": "v"}}),
    Case("tag-key-on-azure", azure({"tags": {"Azure-x": "v"}}), "tags.Azure-x", azure({"tags": {"an-azure": "v"}})),
    Case("tag-key-on-azure", azure({"tags": {"windows": "v"}}), "tags.windows", {"tags": {"windows": "v"}}),
    Case("tag-key-twice", {"tags": {"Team": "a", "team": "b"}}, "tags.team", {"tags": {"Team": "a", "teams": "b"}}),
    Case(
        "tag-of-kubernetes",
        {"tags": {"kubernetes.io/cluster/x": "owned"}},
        "tags.kubernetes.io/cluster/x",
        {"tags": {"kubernetes.io": "x"}},
    ),
)
