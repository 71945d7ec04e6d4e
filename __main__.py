"""The Pulumi program: one stack file, one cluster."""

import pulumi

from components.cluster import MixedCluster
from components.sdk.garbage import collect_rarely
from components.spec import SpecError

collect_rarely()
try:
    cluster = MixedCluster(pulumi.get_stack(), pulumi.Config("mullion").require_object("cluster"))
except SpecError as error:
    raise pulumi.RunError(str(error)) from None

for output in (
    "endpoint",
    "public_endpoint",
    "kubeconfig",
    "ca_certificate",
    "bundle_store",
    "snapshot_store",
    "machines",
    "load_balancers",
    "issuer",
    "pod_roles",
):
    pulumi.export(output, getattr(cluster, output))
for output in ("gmsa_identity", "pod_principals", "pod_provider", "pod_tenant"):  # with some options alone
    if getattr(cluster, output):
        pulumi.export(output, getattr(cluster, output))
