"""Regions with their zones and Route 53 hosted-zone ids of service names; public images by parameter name.

Zones and ids: AWS documentation, "Elastic Load Balancing endpoints and quotas", "Amazon S3 endpoints and quotas",
"Availability Zone IDs". Accounts differ in the zones that they see; these are the usual ones.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

ACCOUNT = "000000000000"
WINDOWS = "/aws/service/ami-windows-latest/"
UBUNTU = "/aws/service/canonical/ubuntu/server/{release}/stable/current/{arch}/hvm/{volume}/ami-id"
DEBIAN = "/aws/service/debian/release/{release}/latest/{arch}"


@dataclass(frozen=True)
class Region:
    """One region. zones: letters; zone_id: prefix of zone ids; the rest: Route 53 zone ids of load balancers and
    buckets.
    """

    description: str
    zones: str
    zone_id: str
    network_balancer: str
    application_balancer: str
    bucket: str


_ROWS = """
us-east-1      | US East (N. Virginia)    | abcdef | use1  | Z26RNL4JYFTOTI | Z35SXDOTRQ7X7K | Z3AQBSTGFYJSTF
us-east-2      | US East (Ohio)           | abc    | use2  | ZLMOA37VPKANP  | Z3AADJGX6KTTL2 | Z2O1EMRO9K5GLX
us-west-1      | US West (N. California)  | ac     | usw1  | Z24FKFUX50B4VW | Z368ELLRRE2KJ0 | Z2F56UZL2M1ACD
us-west-2      | US West (Oregon)         | abcd   | usw2  | Z18D5FSROUN65G | Z1H1FL5HABSF5  | Z3BJ6K6RIION7M
ca-central-1   | Canada (Central)         | abd    | cac1  | Z2EPGBW3API2WT | ZQSVJUPU6J1EY  | Z1QDHH18159H29
sa-east-1      | South America (Sao Paulo)| abc    | sae1  | ZTK26PT1VY4CU  | Z2P70J7HTTTPLU | Z7KQH4QJS55SO
eu-west-1      | Europe (Ireland)         | abc    | euw1  | Z2IFOLAFXWLO4F | Z32O12XQLNTSW2 | Z1BKCTXD74EZPE
eu-west-2      | Europe (London)          | abc    | euw2  | ZD4D7Y8KGAS4G  | ZHURV8PSTC4K8  | Z3GKZC51ZF0DB4
eu-west-3      | Europe (Paris)           | abc    | euw3  | Z1CMS0P5QUZ6D5 | Z3Q77PNBQS71R4 | Z3R1K369G5AVDG
eu-central-1   | Europe (Frankfurt)       | abc    | euc1  | Z3F0SRJ5LGBH90 | Z215JYRZR1TBD5 | Z21DNDUVLTQW6Q
eu-north-1     | Europe (Stockholm)       | abc    | eun1  | Z1UDT6IFJ4EJM  | Z23TAZ6LKFMNIO | Z3BAZG2TWCNX0D
ap-southeast-1 | Asia Pacific (Singapore) | abc    | apse1 | ZKVM4W9LS7TM   | Z1LMS91P8CMLE5 | Z3O0J2DXBE1FTB
ap-southeast-2 | Asia Pacific (Sydney)    | abc    | apse2 | ZCT6FZBF4DROD  | Z1GM3OXH4ZPM65 | Z1WCIGYICN2BYD
ap-northeast-1 | Asia Pacific (Tokyo)     | acd    | apne1 | Z31USIVHYNEOWT | Z14GRHDCWA56QT | Z2M4EHUR26P7ZW
"""


def _regions() -> dict[str, Region]:
    rows = [[cell.strip() for cell in line.split("|")] for line in _ROWS.strip().splitlines()]
    return {name: Region(*cells) for name, *cells in rows}


REGIONS = _regions()

PARAMETERS: frozenset[str] = frozenset(
    [
        WINDOWS + f"{launch}Windows_Server-{year}-English-{edition}-Base"
        for launch, years in (("", (2019, 2022, 2025)), ("EC2LaunchV2-", (2016, 2019)))
        for year in years
        for edition in ("Core", "Full")
    ]
    + [
        UBUNTU.format(release=release, arch=arch, volume=volume)
        for release, volume in (("20.04", "ebs-gp2"), ("22.04", "ebs-gp2"), ("24.04", "ebs-gp3"))
        for arch in ("amd64", "arm64")
    ]
    + [DEBIAN.format(release=release, arch=arch) for release in ("11", "12") for arch in ("amd64", "arm64")]
)


def zones(region: str) -> dict[str, str]:
    """Return zone ids by zone name: `eu-west-1a` -> `euw1-az1`."""
    row = REGIONS[region]
    return {f"{region}{letter}": f"{row.zone_id}-az{number}" for number, letter in enumerate(row.zones, 1)}


def image(region: str, parameter: str) -> str:
    """Return the image id of a public parameter in a region."""
    return f"ami-0{hashlib.sha256(f'{region}{parameter}'.encode()).hexdigest()[:16]}"


def images(region: str) -> Mapping[str, str]:
    """Return every image of a region: parameter name by image id."""
    return _IMAGES[region]


_IMAGES = {region: {image(region, name): name for name in PARAMETERS} for region in REGIONS}
