"""Authorization by the API server's AuthorizationConfiguration, so that requests of revoked machines can be refused.

From Kubernetes 1.32 on: the version v1 of the document, which kubeadm knows then, and the certificate of a request as a
credential (kubernetes, apiserver/pkg/apis/apiserver/v1 and cmd/kubeadm/app/phases/controlplane/manifests.go of 1.32.0).
"""

from components import releases
from components.node.kinds import Step, step
from components.node.layout import PKI
from components.node.role import Role
from components.spec.kubeadm_flags import flags
from components.spec.models import ClusterSpec

FOLDER = "/etc/kubernetes/authorization"
FLAG = "authorization-config"
_FIRST = "1.32"
_FIELDS = {"path": f"{FOLDER}/configuration.json", "webhook": f"{FOLDER}/webhook.json"}
_NOBODY = {
    "apiVersion": "v1",
    "kind": "Config",
    # the port discard, where nothing listens; a certificate of the cluster for this address does not exist
    "clusters": [
        {"name": "nobody", "cluster": {"server": "https://127.0.0.1:9", "certificate-authority": f"{PKI}/ca.crt"}}
    ],
    "contexts": [{"name": "nobody", "context": {"cluster": "nobody"}}],
    "current-context": "nobody",
}


def fields(spec: ClusterSpec) -> dict[str, str] | None:
    """Return the paths of the configuration and of its webhook's kubeconfig; None if the API server does not read them.

    It does not before 1.32, nor if the user's configuration has one of its flags that exclude such a file.
    """
    if not _known(spec):
        return None
    theirs = flags(spec.kubeadm.config.get("ClusterConfiguration", {}).get("apiServer"), ())
    return None if any(name.startswith("authorization-") for _, name, _ in theirs) else _FIELDS


def _known(spec: ClusterSpec) -> bool:
    return releases.within(releases.minor(spec.kubernetes), _FIRST, "")


def arguments(role: Role) -> dict[str, str]:
    """Return the API server's flags; without them kubeadm writes --authorization-mode=Node,RBAC."""
    found = fields(role.spec)
    return {FLAG: found["path"]} if found else {}


def volumes(role: Role) -> tuple[tuple[str, str, bool], ...]:
    """Return the host paths to mount into the API server: name, path on the host and in the pod, read-only."""
    return (("authorization", FOLDER, True),) if fields(role.spec) else ()


def steps(role: Role) -> tuple[Step, ...]:
    """Return the steps that write the files before the API server starts, from 1.32 on.

    Also where the plan has no flag: a machine that joins gets the flags of the cluster, which may be those of the plan
    before.
    """
    if not _known(role.spec):
        return ()
    webhook = _FIELDS["webhook"]
    return (
        step("directory", "authorization-folder", path=FOLDER, access="private"),
        step("file", "authorization-webhook", path=webhook, format="json", access="private", content=_NOBODY),
        step("authorization-configuration", "authorization", path=_FIELDS["path"], webhook=webhook),
    )
