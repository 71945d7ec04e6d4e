"""What is not built, what is of another cloud, and acknowledgements."""

from tests.components.spec.documents import Case
from tools.golden.cases import AZURE_KEY, AZURE_USER, GCP_KEY, KEY

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
        "registry-credentials-elsewhere",
        {"registry_credentials": ["ecr", "gar"]},
        "registry_credentials.1",
        {"registry_credentials": ["ecr"]},
    ),
    Case(
        "registry-credentials-elsewhere",
        {"cloud": "azure", "registry_credentials": ["ecr"]},
        "registry_credentials.0",
        {"cloud": "azure", "registry_credentials": ["acr"]},
    ),
    Case(
        "registry-credentials-elsewhere",
        {"cloud": "gcp", "registry_credentials": ["acr"]},
        "registry_credentials.0",
        {"cloud": "gcp", "registry_credentials": ["gar"]},
    ),
    Case(
        "encryption-key-malformed",
        {"cloud": "azure", "encryption_key": AZURE_KEY.rpartition("/versions/")[0], "encryption_identity": AZURE_USER},
        "encryption_key",
        {"cloud": "azure", "encryption_key": AZURE_KEY, "encryption_identity": AZURE_USER},
    ),
    Case(
        "encryption-identity-missing",
        {"cloud": "azure", "encryption_key": AZURE_KEY},
        "encryption_identity",
        {"cloud": "azure", "encryption_key": AZURE_KEY, "encryption_identity": AZURE_USER},
    ),
    Case(
        "encryption-identity-malformed",
        {"cloud": "azure", "encryption_key": AZURE_KEY, "encryption_identity": "encryption"},
        "encryption_identity",
        {"cloud": "azure", "encryption_key": AZURE_KEY, "encryption_identity": AZURE_USER},
    ),
    Case("encryption-identity-unused", {"encryption_identity": AZURE_USER}, "encryption_identity", {}),
    Case(
        "encryption-identity-unused",
        {"cloud": "azure", "encryption_identity": AZURE_USER},
        "encryption_identity",
        {"cloud": "azure"},
    ),
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
