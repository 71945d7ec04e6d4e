"""Refusals of the real GCP to inputs of our program or a user's spec: scene or type, changes, error code, words.

None removes a property of the scene; `$name` is the id of a resource that the scene created (conftest.py).
"""

from typing import Any

from tests.sandbox.scenes import Row

from .conftest import PROJECT
from .refusals_of_disks import DISKS
from .refusals_of_pools import POOLS
from .refusals_of_spot import SPOT

FACE = {"subnetwork": "$sub"}
MEMBER = {"member": "user:me@example.com", "role": "roles/storage.objectViewer"}


def face(**more: Any) -> dict[str, Any]:
    return {"networkInterfaces": [FACE | more]}


def disk(**more: Any) -> dict[str, Any]:
    image = "projects/ubuntu-os-cloud/global/images/ubuntu-2204-jammy-v20251112"
    return {"bootDisk": {"initializeParams": {"image": image, **more}}}


NETWORKS: dict[str, Row] = {
    "mtu too large": ("net", {"mtu": 9000}, "invalid", "between 1300 and 8896"),
    "no such network": ("sub", {"network": "projects/p/global/networks/no"}, "notFound", "networks/no' was not found"),
    "host bits": ("sub", {"ipCidrRange": "10.20.0.1/24"}, "invalid", "canonical form"),
    "range too small": ("sub", {"ipCidrRange": "10.20.0.0/30"}, "invalid", "8 addresses or more"),
    "no source of a rule": (
        "Firewall",
        {"name": "a", "network": "$net", "allows": [{"protocol": "tcp"}]},
        "invalid",
        "sourceRanges",
    ),
    "sources of an egress rule": (
        "Firewall",
        {
            "name": "a",
            "network": "$net",
            "direction": "EGRESS",
            "denies": [{"protocol": "all"}],
            "sourceRanges": ["::/0"],
        },
        "invalid",
        "cannot be specified for egress",
    ),
    "ports of a protocol without": (
        "Firewall",
        {
            "name": "a",
            "network": "$net",
            "allows": [{"protocol": "icmp", "ports": ["1"]}],
            "sourceRanges": ["0.0.0.0/0"],
        },
        "invalid",
        "tcp, udp and sctp",
    ),
    "port out of range": (
        "Firewall",
        {
            "name": "a",
            "network": "$net",
            "allows": [{"protocol": "tcp", "ports": ["1-70000"]}],
            "sourceRanges": ["0.0.0.0/0"],
        },
        "invalid",
        "0 to 65535",
    ),
    "unknown protocol": (
        "Firewall",
        {"name": "a", "network": "$net", "allows": [{"protocol": "tpc"}], "sourceRanges": ["0.0.0.0/0"]},
        "invalid",
        "known protocol",
    ),
    "rule with a malformed range": (
        "Firewall",
        {"name": "a", "network": "$net", "allows": [{"protocol": "tcp"}], "sourceRanges": ["10.0.0.1/8"]},
        "invalid",
        "valid CIDR",
    ),
    "tags beside accounts": (
        "Firewall",
        {
            "name": "a",
            "network": "$net",
            "allows": [{"protocol": "tcp"}],
            "sourceTags": ["a"],
            "targetServiceAccounts": ["a@b"],
        },
        "invalid",
        "cannot be in one rule",
    ),
    "rule for nobody": (
        "Firewall",
        {
            "name": "a",
            "network": "$net",
            "allows": [{"protocol": "tcp"}],
            "sourceServiceAccounts": ["no@mullion-sandbox.iam.gserviceaccount.com"],
        },
        "notFound",
        "service account 'no@",
    ),
    "route within a subnetwork": (
        "Route",
        {"name": "r", "network": "$net", "destRange": "10.20.0.0/25", "nextHopIp": "10.20.0.9"},
        "invalid",
        "destRange",
    ),
    "route to outside": (
        "Route",
        {"name": "r", "network": "$net", "destRange": "10.244.1.0/24", "nextHopIp": "10.99.0.9"},
        "invalid",
        "not in the range of any subnetwork",
    ),
    "route to no gateway": (
        "Route",
        {"name": "r", "network": "$net", "destRange": "0.0.0.0/0", "nextHopGateway": "default"},
        "invalid",
        "gateway resource cannot be found",
    ),
    "NAT of a list without one": ("nat", {"subnetworks": None}, "invalid", "LIST_OF_SUBNETWORKS"),
    "NAT addresses with automatic ones": ("nat", {"natIps": ["1.2.3.4"]}, "invalid", "MANUAL_ONLY"),
    "NAT of another network": (
        "nat",
        {"subnetworks": [{"name": "$far-sub", "sourceIpRangesToNats": ["ALL_IP_RANGES"]}]},
        "invalid",
        "network of the router",
    ),
    "NAT without a router": ("nat", {"router": "no"}, "notFound", "routers/no' was not found"),
    "internal address without a subnetwork": ("address", {"subnetwork": None}, "invalid", "Subnetwork is required"),
    "address outside": ("address", {"address": "10.21.0.9"}, "invalid", "outside the network/subnetwork range"),
    "external address in a subnetwork": ("address", {"addressType": "EXTERNAL"}, "invalid", "external addresses"),
}
MACHINES: dict[str, Row] = {
    "no such zone": ("machine", {"zone": "europe-west1-a"}, "notFound", "zones/europe-west1-a' was not found"),
    "no such type": ("machine", {"machineType": "n2-standard-3"}, "invalid", "does not exist in zone 'europe-west1-b'"),
    "type that the zone lacks": (
        "machine",
        {"machineType": "t2a-standard-2"},
        "invalid",
        "t2a-standard-2' does not exist",
    ),
    "no such image": ("machine", disk(image="projects/x/global/images/y"), "invalid", "image resource cannot be found"),
    "arm on an x86 image": (
        "machine",
        {"machineType": "c4a-standard-2"},
        "invalid",
        "architecture ARM64",
    ),
    "disk smaller than the image": ("machine", disk(size=5), "invalid", "smaller than the image size (10 GB)"),
    "disk type that the series lacks": (
        "machine",
        {"machineType": "c4-standard-2", **disk(type="pd-balanced")},
        "badRequest",
        "[pd-balanced] features and [instance_type: VIRTUAL_MACHINE, series: C4]",
    ),
    "disk type that the series does not have yet": (
        "machine",
        disk(type="hyperdisk-balanced"),
        "badRequest",
        "[hyperdisk-balanced] features and [instance_type: VIRTUAL_MACHINE, series: N2]",
    ),
    "no such disk type": ("machine", disk(type="gp3"), "invalid", "diskType resource cannot be found"),
    "reserved address of a machine": ("machine", face(networkIp="10.20.0.1"), "invalid", "reserved by the subnetwork"),
    "address of a machine outside": ("machine", face(networkIp="10.9.0.1"), "invalid", "outside the network"),
    "metadata key": ("machine", {"metadata": {"user data": "x"}}, "invalid", "[a-zA-Z0-9-_]{1,128}"),
    "metadata value": (
        "machine",
        {"metadata": {"user-data": "x" * 262145}},
        "fieldSizeTooLarge",
        "maximum size 262144 character(s); actual size 262145.",
    ),
    "metadata together": (
        "machine",
        {"metadata": {"a": "x" * 262144, "b": "x" * 262144}},
        "fieldSizeTooLarge",
        "maximum size 524288",
    ),
    "no such account": (
        "machine",
        {"serviceAccount": {"email": "no@x", "scopes": ["cloud-platform"]}},
        "notFound",
        "of type 'serviceAccount'",
    ),
    "timeout longer than the interval": (
        "check",
        {"timeoutSec": 9},
        "invalid",
        "less than or equal to checkIntervalSec 5",
    ),
    "member of no group": ("member", {"instanceGroup": "no"}, "notFound", "instanceGroups/no"),
    "member that is no instance": ("member", {"instance": "zones/z/instances/no"}, "notFound", "instances/no"),
    "internal service without a check": (
        "service",
        {"healthChecks": None},
        "invalid",
        "health check must be specified",
    ),
    "protocol of an internal service": ("service", {"protocol": "HTTPS"}, "invalid", "TCP, UDP or UNSPECIFIED"),
    "balancing by use": (
        "service",
        {"backends": [{"group": "$group", "balancingMode": "UTILIZATION"}]},
        "invalid",
        "Must be CONNECTION",
    ),
    "internal rule without a service": ("rule", {"backendService": None}, "invalid", "backend service is required"),
    "rule of another scheme": ("rule", {"loadBalancingScheme": "EXTERNAL"}, "invalid", "is INTERNAL"),
    "rule of another protocol": ("rule", {"ipProtocol": "UDP"}, "invalid", "protocol of the backend service"),
    "rule without ports": ("rule", {"ports": None}, "invalid", "Ports must be specified"),
    "six ports": ("rule", {"ports": ["1", "2", "3", "4", "5", "6"]}, "invalid", "At most 5 ports"),
    "rule without a subnetwork": ("rule", {"subnetwork": None}, "invalid", "custom subnet mode"),
}
STORES: dict[str, Row] = {
    "name outside the zone": ("record", {"name": "api.example.com."}, "invalid", "is not in zone"),
    "A record of a name": ("record", {"rrdatas": ["x.example.com."]}, "invalid", "rrdatas[0]"),
    "record without values": ("record", {"rrdatas": None}, "required", "rrdatas"),
    "record without a zone": ("record", {"managedZone": "no"}, "notFound", "managedZones/no"),
    "networks of a public zone": ("zone", {"visibility": "public"}, "invalid", "privateVisibilityConfig"),
    "no such location": ("bucket", {"location": "MARS"}, "invalid", "location constraint is not valid"),
    "soft deletion for a day": (
        "bucket",
        {"softDeletePolicy": {"retentionDurationSeconds": 86400}},
        "invalid",
        "between 604800 and 7776000",
    ),
    "lifecycle without a condition": (
        "bucket",
        {"lifecycleRules": [{"action": {"type": "Delete"}, "condition": {}}]},
        "invalid",
        "must have a condition",
    ),
    "object without a bucket": ("object", {"bucket": "no"}, "notFound", "bucket does not exist"),
    "long name of an object": ("object", {"name": "x" * 1025}, "invalid", "1025 characters"),
    "wrong digest": ("object", {"sourceMd5hash": "AAAA"}, "invalid", "does not match"),
    "everyone in a closed bucket": (
        "BucketIAMMember",
        {"bucket": "$bucket", "role": "roles/storage.objectViewer", "member": "allUsers"},
        "conditionNotMet",
        "public access prevention is enforced",
    ),
    "unknown role": (
        "BucketIAMMember",
        {"bucket": "$bucket", **MEMBER, "role": "roles/storage.objectReader"},
        "badRequest",
        "roles/storage.objectReader is not supported",
    ),
    "role that the project lacks": (
        "projects/iAMMember:IAMMember",
        {"project": "mullion-sandbox", **MEMBER, "role": f"{PROJECT}/roles/no"},
        "badRequest",
        "there is no",
    ),
    "member without a kind": (
        "projects/iAMMember:IAMMember",
        {"project": "mullion-sandbox", **MEMBER, "member": "me@example.com"},
        "badRequest",
        "type prefix",
    ),
    "account that is not there": (
        "SecretIamMember",
        {
            "secretId": "$secret",
            "role": "roles/secretmanager.secretAccessor",
            "member": "serviceAccount:no@mullion-sandbox.iam.gserviceaccount.com",
        },
        "badRequest",
        "does not exist.",
    ),
    "condition that is none": (
        "BucketIAMMember",
        {"bucket": "$bucket", **MEMBER, "condition": {"title": "t", "expression": "true or so"}},
        "badRequest",
        "Invalid condition expression",
    ),
    "no such permission": (
        "role",
        {"permissions": ["compute.instances"]},
        "badRequest",
        "compute.instances is not valid",
    ),
    "secret in two ways": ("secret", {"replication": {}}, "badRequest", "one of automatic and user-managed"),
    "secret nowhere": (
        "secret",
        {"replication": {"userManaged": {"replicas": [{"location": "mars"}]}}},
        "badRequest",
        "replica location: mars",
    ),
    "large secret": ("version", {"secretData": "x" * 65537}, "badRequest", "at most 65536 bytes"),
    "version of no secret": ("version", {"secret": f"{PROJECT}/secrets/no"}, "notFound", "secrets/no"),
}
ROWS = NETWORKS | POOLS | MACHINES | DISKS | SPOT | STORES
BEFORE = {"route within a subnetwork": "sub", "route to outside": "sub"}
"""Further resources that a row needs in order to be refused."""
