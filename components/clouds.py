"""CloudFacts: what differs between the clouds, as data. `Cloud.facts` gives a cloud's description."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from components.naming import Share

METADATA_ADDRESS = "169.254.169.254"
"""Address of every cloud's metadata service."""

WIRE_SERVER = "168.63.129.16"
"""Azure's host service: health probes, extension settings, DNS ("What is IP address 168.63.129.16")."""

GCP_METADATA = "metadata.google.internal"
"""Google's name of the metadata server, which serves NTP too."""

GOOGLE_APIS = IPv4Network("199.36.153.8/30")
"""Addresses of private.googleapis.com."""

_SERVICES = r"HKLM\SYSTEM\CurrentControlSet\Services"
_TCP = rf"{_SERVICES}\Tcpip\Parameters"

RegistryRow = tuple[str, str, str, Any]
"""Key, value, type and data of a registry step."""


@dataclass(frozen=True)
class ClosedAddress:
    """An address that pods may not reach; tcp_ports: only these (empty: all protocols and ports)."""

    address: str
    tcp_ports: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CloudFacts:
    """Facts of one cloud that checks, plan and node plans use."""

    title: str
    """Name of the cloud for people."""

    region_key: str
    """The provider's configuration key of the region."""
    region_example: str
    region_form: re.Pattern[str]
    """Form of a region's name."""
    zone_form: str
    """Regular expression of a zone's name; {} stands for the region."""
    zone_words: str
    """Form of the id in words, for messages."""

    zone_label: str
    """Value of the Node label topology.kubernetes.io/zone, as the cloud's own controller writes it."""

    image_form: re.Pattern[str]
    """Form of a pinned image's id."""
    image_words: str
    """Form of the id in words, for messages."""
    images_looked_up: bool
    """Whether the program looks up the newest image at the first `up`; else each new machine takes the newest."""
    without_cloud_init: frozenset[str] = frozenset()
    """Operating systems whose images run no user-data."""

    linux_size: str
    """Default instance type of Linux machines: 2 vCPU, 8 GiB."""
    windows_size: str
    """Default instance type of Windows pools: 4 vCPU, 16 GiB."""
    windows_image_gib: int = 30
    """GiB of Windows images; a root disk cannot be smaller."""

    spot_notice_seconds: int
    """Time from the notice that spot capacity is taken back to the machine's end, at least."""

    user_data_limit: int
    """Maximum bytes of user-data, before base64."""
    powershell_tags: tuple[str, str] = ("", "")
    """Text before and after a PowerShell script in user-data."""
    names_identity: bool = False
    """Whether a machine must name its identity when it requests a token: the fact `identity`."""
    workers_share: Share
    """Which workers share an identity, unless `worker_identity` says otherwise."""
    identity_of_pool: bool = False
    """Whether `worker_identity` may be `pool`; else rights are limited to the machine in any case."""
    bindings_limit: int | None = None
    """Maximum conditional role bindings in the policy of a store; None: conditions are not counted by store."""
    creates_administrator: bool = False
    """Whether the cloud creates an administrator account on every machine."""
    temporary_disk: bool = False
    """Whether Windows machines may have a temporary disk, on which the cloud puts the page file."""

    regional_nat: bool = False
    """Whether NAT is one service of the whole region; else a gateway in one zone or in each."""
    edge_subnets: bool = False
    """Whether NAT gateways and load balancers need public subnets; else they belong to the region."""
    private_ranges: tuple[IPv4Network, ...] = ()
    """Ranges of the cloud's own services: the routes of machines that have no way to the internet."""
    endpoint_subnets: bool = False
    """Whether private endpoints of the cloud's services are network interfaces in subnets."""
    zonal_endpoints: bool = False
    """Whether a private endpoint has an interface in each zone; else it has one, for the region."""
    gateway_endpoints: bool = False
    """Whether the stores have an endpoint in route tables instead of a private one."""
    route_limit: int
    """NET-06: default maximum of routes in a network's route table."""
    deregistration_seconds: int = 0
    """Time in which a load balancer may open new connections to a removed target, after the call that removed it."""
    single_health_check: bool = False
    """Whether a load balancer has one health check for all of its ports."""
    probe_ranges: tuple[IPv4Network, ...] = ()
    """Sources of health probes, where load balancers keep a packet's source address and have no firewall rules: there
    the machines' rules allow probes and people. Empty where load balancers have security groups."""
    session_sources: tuple[IPv4Network, ...] = ()
    """Sources of sessions, where the cloud's service connects to a machine from outside its network."""
    session_host: bool = False
    """Whether sessions come through a host in a subnet of the network (Azure Bastion). The host carries connections to
    the API only: no account of the machines accepts a person's key, so there are no shells."""
    stores_need_allow: bool = False
    """Whether the stores answer only listed addresses, so that `api.allow` must hold the program's address."""

    mtu: int
    """Maximum bytes of a packet that the cloud's network carries unfragmented between any two machines."""
    time_server: str | None
    """NTP server in the cloud's network; None: the images use the host's clock."""
    metadata_routes: tuple[str, ...] = (METADATA_ADDRESS,)
    """NET-14: link-local addresses that Windows machines have a route for, which the first HNS network moves."""
    closed_to_pods: tuple[ClosedAddress, ...]
    no_proxy: tuple[str, ...] = ()
    """Hosts that the machine's agent and identity use, besides METADATA_ADDRESS; never through a web proxy."""
    windows_registry: tuple[RegistryRow, ...] = ()
    windows_udp_ports: tuple[int, int] | None = None
    """First dynamic UDP port of new Windows machines, and number of ports; None: Windows' own, 49152 to 65535."""

    key_form: re.Pattern[str]
    """Form of an encryption key's id, with its region as group `region` where it has one."""
    key_words: str
    """Form of the id in words, for messages."""
    key_identity_form: re.Pattern[str] | None = None
    """Form of the id of the identity with which services use the key; None: they have accounts of their own."""
    registries: frozenset[str] = frozenset()
    """Credential providers that registry_credentials may name."""
    tags_are_labels: bool = False
    """Whether tags become labels, which allow fewer characters."""


_AZURE_GROUP = r"/subscriptions/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[\w.()-]{1,90}/providers"

CLOUDS: dict[str, CloudFacts] = {
    "aws": CloudFacts(
        title="AWS",
        region_key="aws:region",
        region_example="eu-west-1",
        region_form=re.compile(r"^[a-z]{2,4}(-[a-z]+)+-\d$"),  # eusc-de-east-1 is the longest beginning
        zone_form="{}[a-z]",
        zone_words="the region's name and a letter",
        zone_label="{zone}",
        image_form=re.compile(r"ami-([0-9a-f]{8}|[0-9a-f]{17})"),
        image_words="ami- and 8 or 17 hexadecimal digits",
        images_looked_up=True,
        linux_size="m6i.large",
        windows_size="m6i.xlarge",
        # EC2 user guide, "Add user data": 16 KB in raw form, before it is base64-encoded
        spot_notice_seconds=120,
        user_data_limit=16384,
        powershell_tags=("<powershell>\n", "</powershell>\n"),
        workers_share=Share.ALL,  # policies name the machine itself, by aws:userid
        edge_subnets=True,
        endpoint_subnets=True,
        zonal_endpoints=True,
        gateway_endpoints=True,
        deregistration_seconds=120,  # aws/containers-roadmap issue 470
        route_limit=500,  # since June 2025, before 50
        # machines have 9001 (EC2 user guide, "Network MTU"), but HNS gives Windows pods 1450 (Azure/AKS#2873)
        mtu=1500,
        time_server="169.254.169.123",
        # EC2Launch routes these by the adapter whose address the virtual switch takes: metadata, time, DNS, activation
        metadata_routes=(METADATA_ADDRESS, *(f"169.254.169.{number}" for number in (123, 249, 250, 251, 253))),
        closed_to_pods=(ClosedAddress(METADATA_ADDRESS),),
        # an alias or a bare id differs from what EC2 reports, and the provider would replace the machines
        key_form=re.compile(r"arn:aws[a-z-]*:kms:(?P<region>[a-z0-9-]+):\d{12}:key/[0-9a-z-]+"),
        key_words="arn:aws:kms:REGION:ACCOUNT:key/ID (no alias)",
        registries=frozenset({"ecr"}),
    ),
    "azure": CloudFacts(
        title="Azure",
        region_key="azure-native:location",
        region_example="westeurope",
        region_form=re.compile(r"^[a-z][a-z0-9]+$"),
        zone_form="[1-3]",
        zone_words="1, 2 or 3, in quotes",
        zone_label="{region}-{zone}",  # cloud-provider-azure, MakeZone
        image_form=re.compile(
            # no managed image (Microsoft.Compute/images): it cannot boot with trusted launch ("Trusted Launch for
            # Azure virtual machines", unsupported features)
            r"[\w.-]+(:[\w.-]+){2}:(latest|\d+\.\d+\.\d+)|/subscriptions/[^/]+/resourceGroups/[^/]+/providers"
            r"/Microsoft\.Compute/galleries/[\w.]{1,80}/images/[\w.-]{1,80}(/versions/\d+\.\d+\.\d+)?"
        ),
        image_words="PUBLISHER:OFFER:SKU:VERSION, or the id of an image in a gallery of yours, /subscriptions/..."
        "/galleries/GALLERY/images/IMAGE[/versions/VERSION] (a managed image cannot boot with trusted launch)",
        images_looked_up=False,
        linux_size="Standard_D2s_v5",
        windows_size="Standard_D4s_v5",
        # REST reference, OSProfile.customData: the decoded array has at most 65535 bytes
        spot_notice_seconds=30,
        user_data_limit=65535,
        names_identity=True,
        # two role assignments for each worker, of 4000 in a subscription ("Azure RBAC limits")
        workers_share=Share.NONE,
        creates_administrator=True,
        temporary_disk=True,
        session_host=True,
        endpoint_subnets=True,
        route_limit=400,
        probe_ranges=(IPv4Network(f"{WIRE_SERVER}/32"),),
        stores_need_allow=True,
        # the network cuts larger packets into fragments (TCP/IP performance tuning for Azure VMs), and Windows loses
        # those of VXLAN packets (kubernetes-sigs/cluster-api-provider-azure#1335)
        mtu=1400,
        time_server=None,
        # WireServer gives out extension settings, with secrets (CVE-2021-27075)
        closed_to_pods=(ClosedAddress(METADATA_ADDRESS), ClosedAddress(WIRE_SERVER, (80, 32526))),
        registries=frozenset({"acr"}),
        no_proxy=(WIRE_SERVER,),
        # with a version, which disk encryption sets require of the first one (REST reference, keyUrl)
        key_form=re.compile(
            rf"{_AZURE_GROUP}/Microsoft\.KeyVault/vaults/(?P<vault>[A-Za-z][A-Za-z0-9-]{{1,22}}[A-Za-z0-9])"
            r"/keys/(?P<key>[A-Za-z0-9-]{1,127})/versions/(?P<version>[0-9a-f]{32})"
        ),
        key_words="/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.KeyVault/vaults/VAULT/keys/KEY"
        "/versions/VERSION",
        key_identity_form=re.compile(
            rf"{_AZURE_GROUP}/Microsoft\.ManagedIdentity/userAssignedIdentities/[\w-]{{3,128}}"
        ),
        # the host's clock
        windows_registry=((rf"{_SERVICES}\W32Time\TimeProviders\VMICTimeProvider", "Enabled", "DWord", 1),),
        # up to 65329: the host drops packets with the UDP source port 65330 (Virtual Network FAQ; Azure/AKS#2988)
        windows_udp_ports=(49152, 65330 - 49152),
    ),
    "gcp": CloudFacts(
        title="GCP",
        region_key="gcp:region",
        region_example="europe-west1",
        region_form=re.compile(r"^[a-z]+(-[a-z]+)+\d+$"),
        zone_form="{}-[a-z]",
        zone_words="the region's name, a hyphen and a letter",
        zone_label="{zone}",
        image_form=re.compile(r"projects/[a-z][a-z0-9-]+/global/images/[a-z][a-z0-9-]*"),
        image_words="projects/PROJECT/global/images/NAME",
        images_looked_up=True,
        without_cloud_init=frozenset({"debian-12"}),  # Google's Debian has the guest agent instead
        linux_size="n2-standard-2",
        windows_size="n2-standard-4",
        windows_image_gib=50,  # Compute Engine, "Operating system details": Windows Server
        # Compute Engine, "About VM metadata": 256 KB for one value
        spot_notice_seconds=30,
        user_data_limit=262144,
        workers_share=Share.NONE,
        # a project has 100 service accounts unless Google raises the quota (IAM, "Quotas and limits")
        identity_of_pool=True,
        bindings_limit=100,  # IAM, "Overview of IAM Conditions": no more, because of the size of a policy
        regional_nat=True,
        # APIs (VPC, "Configure Private Google Access"), and kms.windows.googlecloud.com, which activates Windows
        # (Compute Engine, "Create a route to Windows activation host")
        private_ranges=(GOOGLE_APIS, IPv4Network("35.190.247.13/32")),
        single_health_check=True,  # a backend service takes one ("Backend services overview")
        route_limit=250,  # of a network's quota
        # Load balancing documentation, "Probe IP ranges and firewall rules": internal and external passthrough
        probe_ranges=tuple(map(IPv4Network, ("35.191.0.0/16", "130.211.0.0/22", "209.85.152.0/22", "209.85.204.0/22"))),
        # IAP, "Using IAP for TCP forwarding": all addresses that it connects from
        session_sources=(IPv4Network("35.235.240.0/20"),),
        mtu=1500,  # set on the cluster's network; GCP's default of 1460 is below what images and peers expect
        time_server=GCP_METADATA,
        # the metadata server is the network's name server too, which CoreDNS asks; only HTTP and HTTPS are closed
        closed_to_pods=(ClosedAddress(METADATA_ADDRESS, (80, 443)),),
        no_proxy=(GCP_METADATA,),
        registries=frozenset({"gar"}),
        key_form=re.compile(
            r"projects/[a-z][a-z0-9:.-]+/locations/(?P<region>[a-z0-9-]+)/keyRings/[\w-]{1,63}/cryptoKeys/[\w-]{1,63}"
        ),
        key_words="projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY (no version)",
        # Google's network drops a connection without traffic for ten minutes (GCE's own set-up of Windows nodes)
        windows_registry=(
            (_TCP, "KeepAliveTime", "DWord", 60000),
            (_TCP, "KeepAliveInterval", "DWord", 1000),
            (_TCP, "TcpMaxDataRetransmissions", "DWord", 10),
        ),
        tags_are_labels=True,
    ),
}
"""Facts by cloud, as stack files spell it."""
