"""What is not built yet, and acknowledgements."""

from tests.components.spec.documents import Case, net, plane, web

_NETWORK = {"network": "vpc-1", "subnets": ["subnet-1"]}

CASES = (
    Case("not-built-cloud-azure", {"cloud": "azure"}, "cloud", {"cloud": "aws"}),
    Case("not-built-cloud-gcp", {"cloud": "gcp"}, "cloud", {"cloud": "aws"}),
    Case("not-built-mode-l2bridge", net(mode="l2bridge"), "network.mode", net(mode="overlay")),
    Case("not-built-existing-network", net(existing=_NETWORK), "network.existing", net(existing=None)),
    Case(
        "not-built-cloud-controller",
        {"cloud_controller": "external"},
        "cloud_controller",
        {"cloud_controller": "none"},
    ),
    Case(
        "not-built-registry-credentials",
        {"registry_credentials": ["ecr"]},
        "registry_credentials",
        {"registry_credentials": []},
    ),
    Case("not-built-session-access", {"access": "session"}, "access", {"access": "none"}),
    Case("not-built-proxy", {"proxy": {}}, "proxy", {"proxy": None}),
    Case("not-built-trusted-cas", {"trusted_cas": ["pem"]}, "trusted_cas", {"trusted_cas": []}),
    Case("not-built-encryption-key", {"encryption_key": "key"}, "encryption_key", {"encryption_key": None}),
    Case("not-built-csi", {"csi": ["ebs"]}, "csi", {"csi": []}),
    Case("not-built-gmsa", {"gmsa": True}, "gmsa", {"gmsa": False}),
    Case(
        "not-built-authority-rotation",
        {"rotation": {"certificate_authorities": 1}},
        "rotation.certificate_authorities",
        {"rotation": {"certificate_authorities": 0, "administrator": 1}},
    ),
    Case("not-built-control-plane-debian", plane(os="debian-12"), "control_plane.os", plane(os="ubuntu-22.04")),
    Case("not-built-debian", {"pools": {"linux": {"os": "debian-12"}}}, "pools.linux.os", {}),
    Case("not-built-spot", web(spot=True), "pools.web.spot", web(spot=False)),
    Case(
        "acknowledge-unknown",
        {"acknowledge": {"no-linux-workers": "x"}},
        "acknowledge.no-linux-workers",
        {"acknowledge": {"no-linux-worker": "x"}},
    ),
    Case(
        "acknowledge-error",
        {"acknowledge": {"mode-nat": "x"}},
        "acknowledge.mode-nat",
        {"acknowledge": {"no-linux-worker": "x"}},
    ),
    Case(
        "acknowledge-without-reason",
        {"acknowledge": {"no-linux-worker": " "}},
        "acknowledge.no-linux-worker",
        {"acknowledge": {"no-linux-worker": "x"}},
    ),
)
