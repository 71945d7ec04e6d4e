"""What is not built, what is of another cloud, and acknowledgements."""

from tests.components.spec.documents import Case, gcp, pools
from tools.golden.cases import AZURE_KEY, AZURE_USER, GCP_KEY, KEY

LINUX = {"os": "ubuntu-24.04"}
WINDOWS = pools(web={"os": "windows-2022", "size": "n2-standard-4"})

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
    Case("not-built-csi", {"csi": ["efs"]}, "csi", {"csi": ["ebs"]}),
    Case("csi-elsewhere", {"cloud": "gcp", "csi": ["smb", "ebs"]}, "csi.1", {"csi": ["smb", "ebs"]}),
    Case(
        "csi-early",
        {"kubernetes": "1.25.16", "csi": ["smb"]},
        "csi",
        {"kubernetes": "1.26.15", "csi": ["smb"]},
    ),
    Case("csi-linux-only", gcp({"csi": ["smb", "pd"]}), "csi.1", gcp({"csi": ["smb"]})),
    Case("csi-no-linux", {**gcp({"csi": ["pd"]}), **WINDOWS}, "csi.0", gcp({"csi": ["pd"]})),
    Case(
        "csi-disk-types",
        gcp({"csi": ["pd"], **pools(a={**LINUX, "size": "n4-standard-4"}, b={**LINUX, "size": "n2-standard-4"})}),
        "csi.0",
        gcp({"csi": ["pd"], **pools(a={**LINUX, "size": "n4-standard-4"}, b={**LINUX, "size": "c4-standard-4"})}),
    ),
    Case("csi-name", gcp({"csi": ["pd"]}), "csi.0", gcp({"csi": ["pd"]}), name="gcp--test"),
    Case(
        "csi-docker",
        {"csi": ["ebs"], "pools": {"web": {"os": "windows-2022", "runtime": "docker"}}},
        "pools.web.runtime",
        {"csi": ["ebs"], "pools": {"web": {"os": "windows-2022"}}},
    ),
    Case(
        "csi-containerd",
        {
            "csi": ["smb"],
            "kubernetes": "1.31.14",
            "pools": {"web": {"os": "windows-2022", "containerd": {"version": "1.6.32"}}},
        },
        "pools.web.containerd.version",
        {
            "csi": ["smb"],
            "kubernetes": "1.31.14",
            "pools": {"web": {"os": "windows-2022", "containerd": {"version": "1.7.25"}}},
        },
    ),
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
