"""What is not built yet, and acknowledgements."""

from tests.components.spec.documents import Case, web

CASES = (
    Case(
        "not-built-cloud-controller",
        {"cloud": "gcp", "cloud_controller": "external"},
        "cloud_controller",
        {"cloud": "aws", "cloud_controller": "external"},
    ),
    Case(
        "cloud-controller-early",
        {"kubernetes": "1.23.17", "cloud_controller": "external"},
        "cloud_controller",
        {"kubernetes": "1.24.17", "cloud_controller": "external"},
    ),
    Case(
        "not-built-registry-credentials",
        {"registry_credentials": ["ecr", "gar"]},
        "registry_credentials",
        {"registry_credentials": ["ecr"]},
    ),
    Case("not-built-encryption-key", {"encryption_key": "key"}, "encryption_key", {"encryption_key": None}),
    Case("not-built-csi", {"csi": ["ebs"]}, "csi", {"csi": []}),
    Case("not-built-gmsa", {"gmsa": True}, "gmsa", {"gmsa": False}),
    Case(
        "not-built-authority-rotation",
        {"rotation": {"certificate_authorities": 1}},
        "rotation.certificate_authorities",
        {"rotation": {"certificate_authorities": 0, "administrator": 1}},
    ),
    Case("not-built-spot", web(spot=True), "pools.web.spot", web(spot=False)),
    Case(
        "acknowledge-unknown",
        {"acknowledge": {"account-limit": "x"}},
        "acknowledge.account-limit",
        {"acknowledge": {"account-limits": "x"}},
    ),
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
