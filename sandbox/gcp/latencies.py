"""Durations of GCP calls; sandbox/latency.py names the sources of the figures."""

from collections.abc import Mapping

from sandbox.gcp import names
from sandbox.latency import Latency

_POLLED = "estimate: the provider asks each 10 s whether the operation is done, and most are within one or two waits"
_DRAINED = (
    "estimate: ends like the others, after connection draining, which takes 30 s here and up to 60 s more (Cloud Load"
    ' Balancing, "Enable connection draining")'
)
_POLICY = "estimate: the provider changes the policy, then reads it three times, a second apart"
LATENCIES: Mapping[str, Latency] = {
    names.NETWORK: Latency(22, 12, 22, _POLLED),
    names.SUBNETWORK: Latency(12, 12, 12, _POLLED),
    names.FIREWALL: Latency(12, 12, 12, _POLLED),
    names.ROUTE: Latency(12, 1, 12, _POLLED),
    names.ROUTER: Latency(12, 12, 12, _POLLED),
    names.NAT: Latency(12, 12, 12, _POLLED),
    names.ADDRESS: Latency(12, 1, 12, _POLLED),
    names.INSTANCE: Latency(15, 12, 45, _POLLED),
    names.GROUP: Latency(12, 12, 12, _POLLED),
    names.MEMBERSHIP: Latency(12, 1, 90, _DRAINED),
    names.CHECK: Latency(12, 12, 12, _POLLED),
    names.BACKEND: Latency(12, 12, 12, _POLLED),
    names.FORWARDING: Latency(12, 12, 12, _POLLED),
    "gcp:projects/iAMMember:IAMMember": Latency(10, 10, 10, "estimate: reads, changes and writes a policy, and waits"),
    "gcp:storage/bucketIAMMember:BucketIAMMember": Latency(4, 4, 4, _POLICY),
    "gcp:secretmanager/secretIamMember:SecretIamMember": Latency(4, 4, 4, _POLICY),
    "gcp:serviceaccount/iAMMember:IAMMember": Latency(4, 4, 4, _POLICY),
}
QUEUED: Mapping[str, str] = {
    "gcp:storage/bucketIAMMember:BucketIAMMember": "gcp:storage/bucket:Bucket",
    "gcp:secretmanager/secretIamMember:SecretIamMember": "gcp:secretmanager/secret:Secret",
    "gcp:serviceaccount/iAMMember:IAMMember": "gcp:serviceaccount/account:Account",
}
"""Grants, and what has their policy, which the provider changes by one grant after the other (a lock for each policy:
terraform-provider-google, google/tpgiamresource/iam.go)."""
