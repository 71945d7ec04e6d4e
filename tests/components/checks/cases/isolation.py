"""Hyper-V isolation: pools that can offer it, and configuration that expects it (SEC-06)."""

from tests.components.spec.documents import Case, Change, azure, both, gcp, kubelet, linux, plane, web

HYPERV = {"isolation": "hyperv", "size": "m8i.xlarge"}


def _on(cloud: str, **pool: object) -> Change:
    """Return a Windows pool with Hyper-V isolation on another cloud."""
    change = web(isolation="hyperv", **pool)
    return azure(change) if cloud == "azure" else gcp(change)


def _runtimes(**fields: object) -> Change:
    return {"config": {"plugins": {"io.containerd.cri.v1.runtime": {"containerd": fields}}}}


_ENABLED = "pools.web.containerd.config.plugins.io.containerd.cri.v1.runtime.containerd"
_MEMORY = _runtimes(runtimes={"runhcs-wcow-hypervisor": {"options": {"VmMemorySizeInMb": 2048}}})
_DEFAULT = _runtimes(default_runtime_name="runhcs-wcow-hypervisor")

CASES = (
    Case("hyperv-on-linux", linux(isolation="hyperv"), "pools.linux.isolation", web(**HYPERV)),
    Case("hyperv-of-docker-pool", web(runtime="docker", **HYPERV), "pools.web.isolation", web(**HYPERV)),
    Case("hyperv-of-cloud", _on("gcp"), "pools.web.isolation", _on("azure", size="Standard_D4s_v5")),
    *(
        Case("hyperv-of-size", web(isolation="hyperv", size=size), "pools.web.size", web(isolation="hyperv", size=good))
        for size, good in (
            ("m6i.xlarge", "m8i.xlarge"),
            ("m8a.xlarge", "m8i-flex.xlarge"),
            ("r8i.96xlarge", "r8i.48xlarge"),
            ("c8i.metal-48xl", "c8i.large"),
        )
    ),
    *(
        Case("hyperv-of-size", _on("azure", size=size), "pools.web.size", _on("azure", size=good))
        for size, good in (
            ("Standard_D4as_v4", "Standard_D4as_v5"),
            ("Standard_E4s_v4", "Standard_E4s_v5"),
            ("Standard_F4s_v2", "Standard_D4as_v6"),
            ("Standard_B4s_v2", "Standard_E4ads_v6"),
            ("Standard_DC4s_v3", "Standard_D4s_v6"),
            ("Standard_M8ms", "Standard_D4ds_v6"),
        )
    ),
    Case(
        "hyperv-containerd",
        both({"kubernetes": "1.32.13"}, web(containerd={"version": "1.6.36"}, **HYPERV)),
        "pools.web.isolation",
        both({"kubernetes": "1.32.13"}, web(containerd={"version": "1.7.25"}, **HYPERV)),
    ),
    Case("hyperv-spot", web(spot=True, **HYPERV), "pools.web.spot", web(spot=True, size="m8i.xlarge")),
    Case("hyperv-unsupported", web(**HYPERV), "pools.web.isolation", web(size="m8i.xlarge")),
    Case(
        "hyperv-isolation",
        web(containerd=_MEMORY),
        f"{_ENABLED}.runtimes.runhcs-wcow-hypervisor",
        web(containerd=_MEMORY, **HYPERV),
    ),
    Case(
        "hyperv-isolation",
        plane(containerd=_DEFAULT),
        f"{_ENABLED.replace('pools.web', 'control_plane')}.default_runtime_name",
        plane(containerd=_runtimes(default_runtime_name="runc")),
    ),
    Case(
        "hyperv-by-default",
        web(containerd=_DEFAULT, **HYPERV),
        f"{_ENABLED}.default_runtime_name",
        web(containerd=_runtimes(default_runtime_name="runhcs-wcow-process"), **HYPERV),
    ),
    Case(
        "hyperv-gate",
        kubelet(config={"featureGates": {"HyperVContainer": True}}),
        "pools.web.kubelet.config.featureGates.HyperVContainer",
        kubelet(config={"featureGates": {"NodeLogQuery": True}}),
    ),
)
