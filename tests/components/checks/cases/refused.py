"""What is not built yet, and acknowledgements."""

from tests.components.spec.documents import Case, web

KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
GCP_KEY = "projects/keys-of-ours/locations/europe-west1/keyRings/ring/cryptoKeys/disks"

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
    Case("not-built-encryption-key", {"cloud": "azure", "encryption_key": "key"}, "encryption_key", {"cloud": "azure"}),
    Case("encryption-key-malformed", {"encryption_key": "alias/mine"}, "encryption_key", {"encryption_key": KEY}),
    Case(
        "encryption-key-malformed",
        {"cloud": "gcp", "encryption_key": f"{GCP_KEY}/cryptoKeyVersions/1"},
        "encryption_key",
        {"cloud": "gcp", "encryption_key": GCP_KEY},
    ),
    Case(
        "encryption-key-region",
        {"encryption_key": KEY.replace("eu-west-1", "eu-west-2")},
        "encryption_key",
        {"encryption_key": KEY},
    ),
    Case(
        "encryption-key-region",
        {"cloud": "gcp", "encryption_key": GCP_KEY.replace("europe-west1", "global")},
        "encryption_key",
        {"cloud": "gcp", "encryption_key": GCP_KEY},
    ),
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
