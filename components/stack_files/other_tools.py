"""Names that other tools give to options of a stack: Cluster API, EKS, AKS, GKE, kops, Terraform modules."""

OTHER_NAMES: dict[str, str] = {
    **dict.fromkeys(
        ("replicas", "nodes", "nodecount", "numnodes", "desiredcapacity", "desiredsize", "machinecount"), "count"
    ),
    **dict.fromkeys(("instancetype", "machinetype", "vmsize", "vmtype", "nodetype", "flavor", "sku"), "size"),
    **dict.fromkeys(("version", "kubernetesversion", "k8sversion", "clusterversion"), "kubernetes"),
    **dict.fromkeys(("provider", "cloudprovider", "platform"), "cloud"),
    **dict.fromkeys(("nodepools", "nodegroups", "workers", "agentpools", "machinepools", "instancegroups"), "pools"),
    **dict.fromkeys(("master", "masters", "controlplanes", "controllers"), "control_plane"),
    **dict.fromkeys(("disksize", "volumesize", "rootvolumesize", "osdisksizegb", "disksizegb", "disk"), "disk_gb"),
    **dict.fromkeys(("ami", "amiid", "image", "imageid", "machineimage"), "images"),
    **dict.fromkeys(("podcidr", "podsubnet", "clustercidr", "podscidr", "podnetwork"), "pods"),
    **dict.fromkeys(("servicecidr", "servicesubnet", "servicescidr", "serviceclusteriprange"), "services"),
    **dict.fromkeys(("vpccidr", "nodecidr", "networkcidr", "vnetcidr", "cidr"), "nodes"),
    **dict.fromkeys(("dnsdomain", "clusterdomain"), "domain"),
    **dict.fromkeys(("clusterdns", "dnsserviceip", "dnsip"), "dns"),
    **dict.fromkeys(("availabilityzones", "azs"), "zone_names"),
    **dict.fromkeys(("operatingsystem", "ostype", "amifamily", "imagetype", "ossku"), "os"),
    **dict.fromkeys(("containerruntime",), "runtime"),
    **dict.fromkeys(("nodelabels",), "labels"),
    **dict.fromkeys(("nodetaints", "registerwithtaints"), "taints"),
    **dict.fromkeys(("maxpodspernode",), "max_pods"),
    **dict.fromkeys(("maxunavailablecount",), "max_unavailable"),
    **dict.fromkeys(("draintimeout", "nodedraintimeout"), "drain"),
    **dict.fromkeys(("spotinstances", "preemptible", "capacitytype"), "spot"),
    **dict.fromkeys(("systemreserve", "systemreserves"), "system_reserved"),
    **dict.fromkeys(("kubereserve", "kubereserves"), "kube_reserved"),
    **dict.fromkeys(("evictionthresholds", "eviction"), "eviction_hard"),
    **dict.fromkeys(("apiserveraccess", "endpointaccess"), "access"),
    **dict.fromkeys(("authorizedipranges", "publicaccesscidrs", "authorizednetworks", "allowedcidrs"), "allow"),
    **dict.fromkeys(("ttl", "lifetime", "expiry"), "expires"),
    **dict.fromkeys(("deletionprotection",), "protect"),
}
"""Name without case, hyphens and underscores -> option."""

ELSEWHERE: dict[str, str] = {
    "cni": "remove it: Mullion installs flannel; network.mode chooses overlay or l2bridge",
    "networkplugin": "remove it: Mullion installs flannel; network.mode chooses overlay or l2bridge",
    "region": "write aws:region, azure-native:location or gcp:region in config:, beside mullion:cluster",
    "location": "write azure-native:location in config:, beside mullion:cluster",
    "project": "write gcp:project in config:, beside mullion:cluster",
    "projectid": "write gcp:project in config:, beside mullion:cluster",
    "clustername": "remove it: the stack's name is the cluster's name",
    "name": "remove it: the stack's name is the cluster's name, and a pool's key is the pool's name",
    "minsize": "remove it: pools have a fixed count, and no autoscaler runs",
    "maxsize": "remove it: pools have a fixed count, and no autoscaler runs",
    "sshkey": "remove it: no machine takes SSH",
    "sshkeyname": "remove it: no machine takes SSH",
    "keyname": "remove it: no machine takes SSH",
}
"""Name, likewise -> what to do, where no option of mullion:cluster takes its place."""


def normalised(key: str) -> str:
    """Return a key without case, hyphens and underscores, as the tables have it."""
    return key.lower().replace("_", "").replace("-", "")
