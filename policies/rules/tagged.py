"""Tags: whose a resource is, and which resource of the program it is."""

from collections.abc import Iterator

from policies.rules.rule import UNKNOWN, Resource, ResourceRule

TYPES = frozenset(
    {
        "aws:ebs/volume:Volume",
        "aws:ec2/eip:Eip",
        "aws:ec2/instance:Instance",
        "aws:ec2/internetGateway:InternetGateway",
        "aws:ec2/natGateway:NatGateway",
        "aws:ec2/routeTable:RouteTable",
        "aws:ec2/securityGroup:SecurityGroup",
        "aws:ec2/subnet:Subnet",
        "aws:ec2/vpc:Vpc",
        "aws:iam/instanceProfile:InstanceProfile",
        "aws:iam/role:Role",
        "aws:lb/listener:Listener",
        "aws:lb/loadBalancer:LoadBalancer",
        "aws:lb/targetGroup:TargetGroup",
        "aws:route53/zone:Zone",
        "aws:s3/bucket:Bucket",
        "aws:s3/bucketObjectv2:BucketObjectv2",
        "aws:secretsmanager/secret:Secret",
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    }
)
"""What takes tags, of what the program makes or is likely to."""
NEEDED = ("Name", "mullion:cluster", "mullion:urn")


def _tags(resource: Resource) -> Iterator[str]:
    tags = resource.properties.get("tags", {})
    if tags is UNKNOWN:
        return
    missing = [each for each in NEEDED if not tags.get(each)]
    if missing:
        yield f"has no tag {', '.join(missing)}; a cut update could not find it again, nor anyone whose it is"
    urn = tags.get("mullion:urn")
    # `$` is not allowed in tags of every service
    if isinstance(urn, str) and urn != resource.urn.replace("$", "+"):
        yield f"its tag mullion:urn names another resource, {urn}; a cut update would find the wrong one"


RULES = (ResourceRule("tags-present", "What takes tags says whose it is, and which resource it is.", TYPES, _tags),)
