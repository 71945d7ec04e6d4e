"""Cases: names of flags, and configuration of containerd and the kubelet that starts programs or sends data away."""

from tests.certificates import AUTHORITY
from tests.components.checks.cases.existing_network import existing
from tests.components.spec.documents import Case, kubelet, plane, web

_OPEN, _UNJUDGED = "containerd-config-open", "containerd-config-unjudged"
_RUNC = "plugins.io.containerd.cri.v1.runtime.containerd.runtimes.runc.options"


def _flag(program: str, written: object) -> dict[str, object]:
    fields = {"etcd": {"local": {"extraArgs": written}}} if program == "etcd" else {program: {"extraArgs": written}}
    return {"kubernetes": "1.31.14", "kubeadm": {"config": {"ClusterConfiguration": fields}}}


def _runc(**options: object) -> dict[str, object]:
    return {"plugins": {"io.containerd.cri.v1.runtime": {"containerd": {"runtimes": {"runc": {"options": options}}}}}}


CASES = (
    *(
        Case(
            "extra-argument-name",
            _flag("etcd", [{"name": name, "value": "b"}]),
            "kubeadm.config.ClusterConfiguration.etcd.local.extraArgs.0",
            _flag("etcd", [{"name": "quota-backend-bytes", "value": "b"}]),
        )
        for name in ("listen-client-http-urls=http://0.0.0.0:31999?a", "-listen-client-urls", "listen_client_urls", "")
    ),
    Case(
        "extra-argument-name",
        {**_flag("scheduler", {"v=9 --bind-address": "0"}), "kubernetes": "1.30.14"},
        "kubeadm.config.ClusterConfiguration.scheduler.extraArgs.v=9 --bind-address",
        {**_flag("scheduler", {"v": "9"}), "kubernetes": "1.30.14"},
    ),
    Case(
        _OPEN,
        plane(containerd={"config": {"stream_processors": {"x": {"path": "/bin/sh", "args": ["-c", "id"]}}}}),
        "control_plane.containerd.config.stream_processors.x.path",
        plane(containerd={"config": {"stream_processors": {}}}),
    ),
    Case(
        _OPEN,
        web(containerd={"config": {"proxy_plugins": {"x": {"type": "snapshot", "address": "/run/x.sock"}}}}),
        "pools.web.containerd.config.proxy_plugins.x.address",
        web(containerd={"config": {"proxy_plugins": {}}}),
    ),
    Case(
        _OPEN,
        web(containerd={"config": {"grpc": {"tcp_address": "0.0.0.0:31998"}}}),
        "pools.web.containerd.config.grpc.tcp_address",
        web(containerd={"config": {"grpc": {"tcp_address": ""}}}),
    ),
    Case(
        _OPEN,
        web(containerd={"config": {"plugins": {"io.containerd.server.v1.grpc-tcp": {"address": "0.0.0.0:1"}}}}),
        "pools.web.containerd.config.plugins.io.containerd.server.v1.grpc-tcp.address",
        web(containerd={"config": {"plugins": {"io.containerd.server.v1.metrics": {"address": "0.0.0.0:1"}}}}),
    ),
    Case(
        _OPEN,
        web(containerd={"config": {"plugins": {"io.containerd.grpc.v1.cri": {"disable_tcp_service": False}}}}),
        "pools.web.containerd.config.plugins.io.containerd.grpc.v1.cri.disable_tcp_service",
        web(containerd={"config": {"plugins": {"io.containerd.grpc.v1.cri": {"disable_tcp_service": True}}}}),
    ),
    Case(
        _OPEN,
        web(containerd={"config": _runc(BinaryName="/tmp/runc")}),
        f"pools.web.containerd.config.{_RUNC}.BinaryName",
        web(containerd={"config": _runc(BinaryName="")}),
    ),
    Case(
        _UNJUDGED,
        web(containerd={"config": _runc(NoNewKeyring=True)}),
        f"pools.web.containerd.config.{_RUNC}.NoNewKeyring",
        web(containerd={"config": _runc(SystemdCgroup=True)}),
    ),
    Case(
        _UNJUDGED,
        plane(containerd={"config": {"metrics": {"address": "0.0.0.0:1338"}}}),
        "control_plane.containerd.config.metrics.address",
        plane(containerd={"config": {"oom_score": -10, "debug": {"level": "debug"}}}),
    ),
    Case(
        "kubelet-config-elsewhere",
        kubelet(config={"clusterDNS": ["203.0.113.9"]}),
        "pools.web.kubelet.config.clusterDNS.0",
        kubelet(config={"clusterDNS": ["10.96.0.10"]}),
    ),
    Case(
        "kubelet-config-elsewhere",
        kubelet(config={"tracing": {"endpoint": "203.0.113.9:4317"}}),
        "pools.web.kubelet.config.tracing.endpoint",
        kubelet(config={"tracing": {"samplingRatePerMillion": 100}}),
    ),
    Case(
        "existing-network-with-authorities",
        {**existing(), "trusted_cas": [AUTHORITY]},
        "trusted_cas",
        {**existing(), "trusted_cas": []},
    ),
)
