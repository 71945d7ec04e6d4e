"""The requests of each resource type on AWS."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from tests.components.official_models.aws_requests import CHOSEN, Call, Inputs, Row


def tags(values: dict[str, str]) -> list[Inputs]:
    return [{"Key": key, "Value": value} for key, value in values.items()]


def _specified(kind: str) -> Callable[[Any], Inputs]:
    return lambda values: {"TagSpecifications": [{"ResourceType": kind, "Tags": tags(values)}]}


def _listed(values: dict[str, str]) -> Inputs:
    return {"Tags": tags(values)}


def _ec2(operation: str, kind: str, *others: Call, **takes: Any) -> Row:
    return Row((Call(f"ec2/{operation}", {"tags": _specified(kind), **takes}), *others))


def _root_disk(disk: Inputs) -> Inputs:
    return _mapped({**disk, "deviceName": "/dev/sda1"})


def _disks(disks: list[Inputs]) -> Inputs:
    """Return the mapping of the only further disk."""
    [disk] = disks
    return _mapped(disk)


def _mapped(disk: Inputs) -> Inputs:
    volume = {key: value for key, value in disk.items() if key not in ("tags", "deviceName")}
    return {
        "BlockDeviceMappings": [{"DeviceName": disk["deviceName"], "Ebs": volume}],
        **_specified("volume")(disk.get("tags", {})),
    }


def _health_check(check: Inputs) -> Inputs:
    """Return the check's parameters: those of a count keep their names, the others begin with HealthCheck."""
    names = {"interval": "HealthCheckIntervalSeconds", "timeout": "HealthCheckTimeoutSeconds"}
    names |= {f"{kind}Threshold": f"{kind.capitalize()}ThresholdCount" for kind in ("healthy", "unhealthy")}
    matcher = {"Matcher": {"HttpCode": check["matcher"]}} if "matcher" in check else {}
    others = {key: value for key, value in check.items() if key != "matcher"}
    return {names.get(key, f"HealthCheck{key[0].upper()}{key[1:]}"): value for key, value in others.items()} | matcher


def _attribute(key: str) -> Callable[[Any], Inputs]:
    return lambda value: {"Attributes": [{"Key": key, "Value": _text(value)}]}


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, (str, int)) else value


def _scheme(internal: Any) -> Inputs:
    return {
        "Scheme": {True: "internal", False: "internet-facing"}[internal] if isinstance(internal, bool) else internal
    }


def _rule(direction: str) -> Row:
    takes: dict[str, Any] = {
        "fromPort toPort ipProtocol cidrIpv4 referencedSecurityGroupId description": _permission,
        "securityGroupId": "GroupId",
        "tags": _specified("security-group-rule"),
    }
    return Row((Call(f"ec2/AuthorizeSecurityGroup{direction}", takes),))


def _permission(rule: Inputs) -> Inputs:
    """Return a rule of a security group; AWS takes its description with the range or the group."""
    ranges, groups = {"cidrIpv4": "CidrIp"}, {"referencedSecurityGroupId": "GroupId"}
    apart = {"cidrIpv4", "referencedSecurityGroupId", "description"}
    permission: Inputs = {key: value for key, value in rule.items() if key not in apart}
    for members, key in ((ranges, "IpRanges"), (groups, "UserIdGroupPairs")):
        found = {name: rule[given] for given, name in members.items() if given in rule}
        if found:
            permission[key] = [found | ({"Description": rule["description"]} if "description" in rule else {})]
    return {"IpPermissions": [permission]}


def _records(values: list[str]) -> Inputs:
    return _at_record({"ResourceRecords": [{"Value": each} for each in values]})


def _at_record(part: Inputs) -> Inputs:
    return {"ChangeBatch": {"Changes": [{"ResourceRecordSet": part}]}}


def _zone_networks(networks: list[Inputs]) -> Inputs:
    """Return the first network of a private zone; the others are associated by further requests."""
    return {"VPC": {"VPCRegion": "eu-west-1", **{f"VPC{key[3:]}": value for key, value in networks[0].items()}}}


def _encryption(rules: list[Inputs]) -> Inputs:
    """Return the rules with the provider's list of blocked types as the object that the API has."""
    key = "blockedEncryptionTypes"
    told = [{**rule, key: {"EncryptionType": rule[key]}} if key in rule else rule for rule in rules]
    return {"ServerSideEncryptionConfiguration": {"Rules": told}}


_RECORD = "ChangeBatch.Changes[].ResourceRecordSet"
_FACE = "NetworkInterfaces[]"
_LB = "elbv2"

ROWS: dict[str, Row] = {
    "ec2/eip:Eip": _ec2("AllocateAddress", "elastic-ip"),
    "ec2/instance:Instance": Row(
        (
            Call(
                "ec2/RunInstances",
                {
                    "ami": "ImageId",
                    "associatePublicIpAddress": f"{_FACE}.AssociatePublicIpAddress",
                    "iamInstanceProfile": "IamInstanceProfile.Name",
                    "privateIp": f"{_FACE}.PrivateIpAddress",
                    "rootBlockDevice": _root_disk,
                    "ebsBlockDevices": _disks,
                    "subnetId": f"{_FACE}.SubnetId",
                    "tags": _specified("instance"),
                    "vpcSecurityGroupIds": f"{_FACE}.Groups",
                },
                {"MinCount": 1, "MaxCount": 1, "NetworkInterfaces": [{"DeviceIndex": 0}]},
            ),
            Call(
                "ec2/ModifyNetworkInterfaceAttribute",
                {"sourceDestCheck": "SourceDestCheck.Value"},
                {"NetworkInterfaceId": CHOSEN},
            ),
        )
    ),
    "ec2/internetGateway:InternetGateway": _ec2(
        *("CreateInternetGateway", "internet-gateway"),
        Call("ec2/AttachInternetGateway", {"vpcId": "VpcId"}, {"InternetGatewayId": CHOSEN}),
    ),
    "ec2/natGateway:NatGateway": _ec2("CreateNatGateway", "natgateway"),
    "ec2/route:Route": Row((Call("ec2/CreateRoute"),)),
    "ec2/routeTable:RouteTable": _ec2("CreateRouteTable", "route-table"),
    "ec2/routeTableAssociation:RouteTableAssociation": Row((Call("ec2/AssociateRouteTable"),)),
    "ec2/securityGroup:SecurityGroup": Row(
        (Call("ec2/CreateSecurityGroup", {"tags": _specified("security-group")}, {"GroupName": CHOSEN}),)
    ),
    "ec2/subnet:Subnet": _ec2("CreateSubnet", "subnet"),
    "ec2/vpc:Vpc": _ec2(
        *("CreateVpc", "vpc"),
        *(
            Call("ec2/ModifyVpcAttribute", {name: f"{name}.Value"}, {"VpcId": CHOSEN})
            for name in ("enableDnsHostnames", "enableDnsSupport")
        ),
    ),
    "ec2/vpcEndpoint:VpcEndpoint": _ec2("CreateVpcEndpoint", "vpc-endpoint", policy="PolicyDocument"),
    "iam/instanceProfile:InstanceProfile": Row(
        (
            Call("iam/CreateInstanceProfile", {"tags": _listed}, {"InstanceProfileName": CHOSEN}),
            Call("iam/AddRoleToInstanceProfile", {"role": "RoleName"}, {"InstanceProfileName": CHOSEN}),
        )
    ),
    "iam/openIdConnectProvider:OpenIdConnectProvider": Row(
        (Call("iam/CreateOpenIDConnectProvider", {"clientIdLists": "ClientIDList", "tags": _listed}),)
    ),
    "iam/role:Role": Row(
        (
            Call(
                "iam/CreateRole",
                {"assumeRolePolicy": "AssumeRolePolicyDocument", "tags": _listed},
                {"RoleName": CHOSEN},
            ),
        ),
        own=("forceDetachPolicies",),
    ),
    "iam/rolePolicy:RolePolicy": Row(
        (Call("iam/PutRolePolicy", {"policy": "PolicyDocument", "role": "RoleName"}, {"PolicyName": CHOSEN}),)
    ),
    "iam/rolePolicyAttachment:RolePolicyAttachment": Row((Call("iam/AttachRolePolicy", {"role": "RoleName"}),)),
    "lb/listener:Listener": Row((Call(f"{_LB}/CreateListener", {"tags": _listed}),)),
    "lb/loadBalancer:LoadBalancer": Row(
        (
            Call(
                f"{_LB}/CreateLoadBalancer",
                {
                    "internal": _scheme,
                    "loadBalancerType": "Type",
                    "tags": _listed,
                },
            ),
            Call(
                f"{_LB}/ModifyLoadBalancerAttributes",
                {"enableCrossZoneLoadBalancing": _attribute("load_balancing.cross_zone.enabled")},
                {"LoadBalancerArn": CHOSEN},
            ),
        )
    ),
    "lb/targetGroup:TargetGroup": Row(
        (
            Call(f"{_LB}/CreateTargetGroup", {"healthCheck": _health_check, "tags": _listed}),
            Call(
                f"{_LB}/ModifyTargetGroupAttributes",
                {
                    "deregistrationDelay": _attribute("deregistration_delay.timeout_seconds"),
                    "preserveClientIp": _attribute("preserve_client_ip.enabled"),
                },
                {"TargetGroupArn": CHOSEN},
            ),
        )
    ),
    "lb/targetGroupAttachment:TargetGroupAttachment": Row(
        (Call(f"{_LB}/RegisterTargets", {"targetId": "Targets[].Id", "port": "Targets[].Port"}),)
    ),
    "route53/record:Record": Row(
        (
            Call(
                "route53/ChangeResourceRecordSets",
                {
                    **{name: f"{_RECORD}.{name}" for name in ("name", "type", "ttl")},
                    "records": _records,
                    "zoneId": "HostedZoneId",
                },
                {"ChangeBatch": {"Changes": [{"Action": "UPSERT"}]}},
            ),
        )
    ),
    "route53/zone:Zone": Row(
        (
            Call(
                "route53/CreateHostedZone",
                {"comment": "HostedZoneConfig.Comment", "vpcs": _zone_networks},
                {"CallerReference": CHOSEN},
            ),
            Call(
                "route53/ChangeTagsForResource",
                {"tags": lambda values: {"AddTags": tags(values)}},
                {"ResourceType": "hostedzone", "ResourceId": CHOSEN},
            ),
        )
    ),
    "s3/bucket:Bucket": Row(
        (
            Call("s3/CreateBucket", {}, {"Bucket": CHOSEN}),
            Call(
                "s3/PutBucketTagging",
                {"tags": lambda values: {"Tagging": {"TagSet": tags(values)}}},
                {"Bucket": CHOSEN},
            ),
        ),
        own=("forceDestroy",),
    ),
    "s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": Row(
        (Call("s3/PutBucketLifecycleConfiguration", {"rules": "LifecycleConfiguration.Rules"}),)
    ),
    "s3/bucketObjectv2:BucketObjectv2": Row(
        (
            Call(
                "s3/PutObject",
                {
                    "content": "Body",
                    "source": "Body",
                    "tags": lambda values: {"Tagging": urlencode(values)},
                },
            ),
        ),
        own=("etag", "overrideProvider"),
    ),
    "s3/bucketPolicy:BucketPolicy": Row((Call("s3/PutBucketPolicy"),)),
    "s3/bucketPublicAccessBlock:BucketPublicAccessBlock": Row(
        (
            Call(
                "s3/PutPublicAccessBlock",
                {
                    name: f"PublicAccessBlockConfiguration.{name}"
                    for name in ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
                },
            ),
        )
    ),
    "s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": Row(
        (Call("s3/PutBucketEncryption", {"rules": _encryption}),)
    ),
    "s3/bucketVersioning:BucketVersioning": Row((Call("s3/PutBucketVersioning"),)),
    "secretsmanager/secret:Secret": Row((Call("secretsmanager/CreateSecret", {"tags": _listed}, {"Name": CHOSEN}),)),
    "secretsmanager/secretVersion:SecretVersion": Row(
        (Call("secretsmanager/PutSecretValue", {}, {"ClientRequestToken": 36 * "0"}),)
    ),
    "vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("Egress"),
    "vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("Ingress"),
}
"""By resource type without the provider's name."""
