"""What else of an account of AWS stops a cluster: the free plan, a default key for disks, zones without endpoints.

As the AWS command line prints them; what it does not print is unknown, and gives no row.
"""

from components.plan import ClusterPlan
from components.spec.choices import StorageDriver
from components.spec.models import Cloud
from operations.clouds import account_state
from operations.clouds.identity import Identity

FREE_SIZES = frozenset({"t3.micro", "t3.small", "t4g.micro", "t4g.small", "c7i-flex.large", "m7i-flex.large"})
"""Sizes that EC2 starts for an account on the free plan, as `aws ec2 describe-instance-types --filters
Name=free-tier-eligible,Values=true` prints them (aws-samples/eks-workshop-v2, issue 1644)."""
AWS_KEY = "alias/aws/ebs"
"""Answer of GetEbsDefaultKmsKeyId in an account whose default key is AWS's."""
_PLAN = ("aws", "freetier", "get-account-plan-state", "--region", "us-east-1", "--output", "json")
"""The service has an endpoint for all regions, in us-east-1."""
_KEY = ("aws", "ec2", "get-ebs-default-kms-key-id", "--region", "{region}", "--output", "json")


def account_plan(planned: ClusterPlan, identity: Identity) -> list[tuple[str, str]]:
    """Return a line about the account's plan and a fault; the fault is empty if EC2 starts all planned sizes."""
    if planned.spec.cloud is not Cloud.AWS:
        return []
    answer = account_state.asked(_PLAN, "", identity)
    kind = answer.get("accountPlanType") if isinstance(answer, dict) else None
    if not isinstance(kind, str):
        return []
    sizes = sorted({group.size for group in planned.machine_groups if group.machines} - FREE_SIZES)
    fault = (
        f"EC2 refuses {', '.join(sizes)} on the free plan; run: aws freetier upgrade-account-plan --account-plan-type"
        " PAID --region us-east-1"
    )
    return [(f"plan of the account: {kind}", fault if kind == "FREE" and sizes else "")]


def default_key(planned: ClusterPlan, region: str, identity: Identity) -> list[str]:
    """Return a warning if the account encrypts disks with a key of its own, which the caller must be able to use."""
    if planned.spec.cloud is not Cloud.AWS or planned.spec.encryption_key:
        return []
    answer = account_state.asked(_KEY, region, identity)
    key = answer.get("KmsKeyId") if isinstance(answer, dict) else None
    if not isinstance(key, str) or key == AWS_KEY:
        return []
    line = (
        f"disks are encrypted with the account's default key {key}: new machines end at launch unless the identity"
        " that runs Mullion has the rights of docs/permissions/aws-key.json on it"
    )
    if StorageDriver.EBS in planned.spec.csi:
        line += "; claims get no volume: write encryption_key"
    return [line]


def endpoint_zones(planned: ClusterPlan, region: str, identity: Identity) -> tuple[list[tuple[str, str]], list[str]]:
    """Return lines with faults, and warnings, about zones that lack an endpoint which the cluster needs there.

    Named zones are known before `up`, so each that lacks one is a fault; other zones are chosen later.
    """
    if planned.spec.cloud is not Cloud.AWS or planned.network.existing or not planned.private_endpoints:
        return [], []
    names = [f"com.amazonaws.{region}.{each.service}" for each in planned.private_endpoints]
    query = "ServiceDetails[?ServiceType[0].ServiceType=='Interface'].[ServiceName,AvailabilityZones]"
    command = ("aws", "ec2", "describe-vpc-endpoint-services", "--service-names", *names, "--query", query)
    answer = account_state.asked((*command, "--region", "{region}", "--output", "json"), region, identity)
    try:
        zones = {str(name): {str(zone) for zone in found} for name, found in answer or ()}
    except (TypeError, ValueError):  # another version of the command line prints another format
        return [], []
    everywhere, named = set[str]().union(*zones.values()), planned.network.zone_names[: planned.network.zones]
    rows, notes = list[tuple[str, str]](), list[str]()
    for name in filter(zones.__contains__, names):
        if missing := [zone for zone in named if zone not in zones[name]]:
            fault = "write other zones in network.zone_names"
            rows.append((f"network.zone_names: {', '.join(missing)} has no endpoint of {name}", fault))
        elif not named and (missing := sorted(everywhere - zones[name])):
            notes.append(
                f"{', '.join(missing)} has no endpoint of {name}: write other zones in network.zone_names before the"
                " first `up`"
            )
    return rows, notes
