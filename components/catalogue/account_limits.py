"""Limits of new accounts that a cluster reaches first. Clouds raise them on request; older accounts may have more."""

from collections.abc import Mapping
from dataclasses import dataclass

VCPUS, ADDRESSES, SSD = "vCPU", "public addresses", "SSD GiB"
"""What is limited: vCPU of running machines, public addresses, GiB of SSD disks, each in one region."""
EVERYWHERE, STATIC = "vCPU in all regions", "reserved public addresses"
"""vCPU of a project of GCP in all its regions; public addresses of its load balancers in one region."""
NETWORKS, FIREWALLS = "networks", "firewall rules"
"""Networks in a region of AWS, or in a project of GCP; firewall rules in a project of GCP."""
ACCOUNTS = "service accounts"
"""Service accounts of a project of GCP."""
ENDPOINTS = "private endpoints"
"""Interface endpoints in a VPC of AWS."""


@dataclass(frozen=True)
class Limit:
    """One limit of a region or project. title: its name in the cloud's console.

    new: its value in a new account; 0 if the cloud chooses it for each account.
    """

    new: int
    title: str


NEW_ACCOUNT: Mapping[str, Mapping[str, Limit]] = {
    "aws": {
        # EC2 service quota L-1216C47A: 5, which AWS raises by itself with use
        VCPUS: Limit(5, "Running On-Demand Standard instances"),
        # EC2 service quota L-0263D0A3
        ADDRESSES: Limit(5, "EC2-VPC Elastic IPs"),
        # VPC service quota L-F678F1CE
        NETWORKS: Limit(5, "VPCs per Region"),
        # VPC service quota L-29B6F2EB
        ENDPOINTS: Limit(50, "Interface VPC endpoints per VPC"),
    },
    "azure": {
        # "Azure subscription and service limits": 20 per region, and as many of each family; a free trial has 4
        VCPUS: Limit(20, "Total Regional vCPUs"),
        ADDRESSES: Limit(20, "Public IPv4 Addresses - Standard"),
    },
    "gcp": {
        # Compute Engine, "Allocation quotas": 24 per region; a free trial has 8, and no Windows
        VCPUS: Limit(24, "CPUs"),
        # Compute Engine, "Allocation quotas": counts all machine families, differs by project
        EVERYWHERE: Limit(0, "CPUs (all regions)"),
        ADDRESSES: Limit(8, "In-use IP addresses"),
        STATIC: Limit(8, "Static IP addresses"),
        SSD: Limit(500, "Persistent Disk SSD (GB)"),
        # VPC, "Quotas and limits", "Per project": defaults differ by project; these are those of new ones
        NETWORKS: Limit(5, "Networks"),
        FIREWALLS: Limit(100, "Firewall rules"),
        # IAM, "Quotas and limits"; the project's default accounts count too
        ACCOUNTS: Limit(100, "Service Account Count"),
    },
}
"""Limits by cloud. Sources: the cloud's page of quotas, read 2026-11."""

REQUEST = {
    "aws": "Service Quotas",
    "azure": "Subscriptions, Usage + quotas",
    "gcp": "IAM & Admin, Quotas & System Limits",
}
"""Page of the cloud's console that shows the account's limits and takes requests for more."""
