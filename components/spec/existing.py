"""Options of a network, and of a cluster, that the user owns."""

from ipaddress import IPv4Network
from urllib.parse import urlsplit

from components.spec.options import Model

LONGEST_HOST = 100
"""Maximum characters of the host of an existing cluster's endpoint, which user-data has twice. Names of load balancers
in AWS have up to 90."""


class ExistingSubnet(Model):
    """A subnet that you own and in which machines are built."""

    id: str
    """Id of the subnet: subnet-... (AWS), /subscriptions/.../subnets/NAME (Azure), projects/.../subnetworks/NAME."""
    range: IPv4Network
    """Range of the subnet; machines have fixed addresses in it, so nothing else may use addresses of this subnet."""


class ExistingBastion(Model):
    """An Azure Bastion host that you own, in the network or in a peered one, with the native client switched on."""

    id: str
    """Id of the host: /subscriptions/.../bastionHosts/NAME."""
    range: IPv4Network
    """Range of the host's subnet (AzureBastionSubnet), which the control plane admits to the API."""


class ExistingNetwork(Model):
    """A network that you own and in which the cluster is built. Mullion changes, tags and deletes nothing of it."""

    network: str
    """Id of the network: vpc-... (AWS), /subscriptions/.../virtualNetworks/NAME (Azure), projects/.../networks/NAME."""
    subnets: list[ExistingSubnet]
    """Subnets of machines, one per zone; on Azure and GCP one may serve all zones."""
    public_subnets: list[str] = []
    """AWS only: ids of subnets with a route to an internet gateway, for public load balancers."""
    private_zone: str | None = None
    """AWS only: id of the private hosted zone NAME.mullion.internal, if another account owns the VPC."""
    service_zones: list[str] = []
    """With `egress: none`: DNS zones (AWS: names; Azure: .../virtualNetworkLinks/NAME; GCP: .../managedZones/NAME)."""
    bastion: ExistingBastion | None = None
    """Azure only: your Bastion host for sessions (`access: session`), because Mullion builds none in your network."""


class ExistingCluster(Model):
    """A Linux cluster that somebody else made with kubeadm, and that the pools join. Mullion changes no machine of it.

    `kubernetes` is the version of the Windows nodes; `network` has the cluster's ranges, DNS, VNI and port.
    """

    endpoint: str
    """URL of the API for nodes, https://HOST:PORT; the host must be in the API server's certificate."""
    ca: str
    """The cluster's certificate authority (PEM), from kube-public/cluster-info. Not secret."""
    nodes: list[IPv4Network]
    """Ranges of the cluster's own machines, from which the pools' firewall admits pods' traffic and the API servers."""

    @property
    def host(self) -> str:
        """Return the endpoint's host, once the checks have passed."""
        return urlsplit(self.endpoint).hostname or ""

    @property
    def port(self) -> int:
        """Return the endpoint's port, once the checks have passed."""
        return urlsplit(self.endpoint).port or 0
