"""Regions of each cloud."""

from difflib import get_close_matches

NAMES: dict[str, frozenset[str]] = {
    cloud: frozenset(names.split())
    for cloud, names in {
        "aws": """
            af-south-1 ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2
            ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 ap-southeast-7
            ca-central-1 ca-west-1 cn-north-1 cn-northwest-1 eu-central-1 eu-central-2 eu-north-1 eu-south-1 eu-south-2
            eu-west-1 eu-west-2 eu-west-3 il-central-1 me-central-1 me-south-1 mx-central-1 sa-east-1 us-east-1
            us-east-2 us-gov-east-1 us-gov-west-1 us-west-1 us-west-2
        """,
        "azure": """
            australiacentral australiacentral2 australiaeast australiasoutheast austriaeast belgiumcentral brazilsouth
            brazilsoutheast canadacentral canadaeast centralindia centralus chilecentral eastasia eastus eastus2
            francecentral francesouth germanynorth germanywestcentral indonesiacentral israelcentral italynorth
            japaneast japanwest koreacentral koreasouth malaysiawest mexicocentral newzealandnorth northcentralus
            northeurope norwayeast norwaywest polandcentral qatarcentral southafricanorth southafricawest
            southcentralus southeastasia southindia spaincentral swedencentral swedensouth switzerlandnorth
            switzerlandwest uaecentral uaenorth uksouth ukwest westcentralus westeurope westindia westus westus2 westus3
        """,
        "gcp": """
            africa-south1 asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3 asia-south1 asia-south2
            asia-southeast1 asia-southeast2 australia-southeast1 australia-southeast2 europe-central2 europe-north1
            europe-north2 europe-southwest1 europe-west1 europe-west10 europe-west12 europe-west2 europe-west3
            europe-west4 europe-west6 europe-west8 europe-west9 me-central1 me-central2 me-west1
            northamerica-northeast1 northamerica-northeast2 northamerica-south1 southamerica-east1 southamerica-west1
            us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4
        """,
    }.items()
}
"""By cloud: regions in 2026-11 (AWS "Regions and Availability Zones", Azure "List of Azure regions", Google Cloud
"Regions and zones"). Clouds open regions at any time, so a name that is missing here can be acknowledged."""

APART = {"aws": ("cn-", "eu-iso", "eusc-", "us-iso"), "azure": ("china", "usdod", "usgov")}
"""By cloud: how names of regions begin whose services have domains of their own. Sources: botocore, partitions.json,
without aws and aws-us-gov, which share a domain; "Compare Azure Government and global Azure"; "Azure operated by
21Vianet"."""


_WITHOUT = """
    australiacentral australiacentral2 australiasoutheast brazilsoutheast canadaeast francesouth germanynorth koreasouth
    northcentralus norwaywest southafricawest southindia swedensouth switzerlandwest uaecentral ukwest westcentralus
    westindia westus
"""
AZURE_WITHOUT_ZONES = frozenset(_WITHOUT.split())
"""Azure's regions without availability zones in 2026-11 ("List of Azure regions"). Azure adds zones to regions at any
time. Every region of AWS and Google Cloud has zones."""


def cloud_of(region: str) -> str | None:
    """Return the cloud that has a region of this name; None when no table has it."""
    return next((cloud for cloud, names in NAMES.items() if region in names), None)


def is_apart(cloud: str, region: str) -> bool:
    """Return whether the region is of another partition (AWS) or cloud (Azure), whose services have other domains."""
    return region.startswith(APART.get(cloud, ()))


def partition(region: str) -> str:
    """Return the partition of a region of AWS (AWS general reference, "Amazon Resource Names"). Rights end at it."""
    begins = (("cn-", "aws-cn"), ("us-gov-", "aws-us-gov"))
    return next((name for begin, name in begins if region.startswith(begin)), "aws")


def nearest(cloud: str, region: str) -> list[str]:
    """Return up to three regions of the cloud with a name like this one, the most similar first."""
    return get_close_matches(region, sorted(NAMES[cloud]), n=3)
