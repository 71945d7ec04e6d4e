"""IAM actions that the provider of AWS needs, by resource type.

Sources: requests in the code of the AWS provider for Terraform, which pulumi-aws wraps (internal/service); the Service
Authorization Reference ("Actions, resources, and condition keys"), with its dependent actions. On S3 actions have
other names than requests: "Required permissions for Amazon S3 API operations".
"""

from sandbox.aws import permissions_of_stores
from sandbox.permissions import REST, Permissions, Table

_EC2_TAGS = "ec2:CreateTags ec2:DeleteTags"
_TAGGED = {"tags": "ec2:CreateTags"}
_LB = "elasticloadbalancing:"
_LB_TAGGED = {"tags": f"{_LB}AddTags"}
_LB_TAGS = {"tags": f"{_LB}AddTags {_LB}RemoveTags"}
_RESTARTED = "ec2:StopInstances ec2:ModifyInstanceAttribute ec2:StartInstances"
KEY = "kms:Decrypt kms:GenerateDataKey kms:DescribeKey"
DISK_KEY = "kms:DescribeKey kms:CreateGrant kms:GenerateDataKeyWithoutPlaintext kms:ReEncryptFrom kms:ReEncryptTo"
"""AWS KMS developer guide, "How Amazon EBS uses AWS KMS", permissions of the principal that starts an instance."""
LINKED_ROLE = "iam:CreateServiceLinkedRole"


def _ec2(create: str, read: str, delete: str, **update: str) -> Permissions:
    """Return the row of a resource of EC2 that is tagged when it is created. update: by input."""
    return Permissions(create, read, delete, _TAGGED, {"tags": _EC2_TAGS, **update})


def _rule(direction: str) -> Permissions:
    return _ec2(
        f"ec2:AuthorizeSecurityGroup{direction}",
        "ec2:DescribeSecurityGroupRules",
        f"ec2:RevokeSecurityGroup{direction}",
        **{REST: "ec2:ModifySecurityGroupRules"},
    )


_NETWORK = {
    "aws:ec2/vpc:Vpc": _ec2(
        "ec2:CreateVpc ec2:ModifyVpcAttribute",
        "ec2:DescribeVpcs ec2:DescribeVpcAttribute ec2:DescribeNetworkAcls ec2:DescribeRouteTables"
        " ec2:DescribeSecurityGroups",
        "ec2:DeleteVpc",
        enableDnsHostnames="ec2:ModifyVpcAttribute",
        enableDnsSupport="ec2:ModifyVpcAttribute",
    ),
    "aws:ec2/subnet:Subnet": _ec2(
        "ec2:CreateSubnet", "ec2:DescribeSubnets", "ec2:DeleteSubnet ec2:DescribeNetworkInterfaces"
    ),
    "aws:ec2/internetGateway:InternetGateway": Permissions(
        "ec2:CreateInternetGateway ec2:AttachInternetGateway",
        "ec2:DescribeInternetGateways",
        "ec2:DetachInternetGateway ec2:DeleteInternetGateway",
        _TAGGED,
        {"tags": _EC2_TAGS},
        fixed=("vpcId",),
    ),
    "aws:ec2/eip:Eip": _ec2(
        "ec2:AllocateAddress",
        "ec2:DescribeAddresses ec2:DescribeAddressesAttribute",
        "ec2:DisassociateAddress ec2:ReleaseAddress",
    ),
    "aws:ec2/natGateway:NatGateway": _ec2("ec2:CreateNatGateway", "ec2:DescribeNatGateways", "ec2:DeleteNatGateway"),
    "aws:ec2/routeTable:RouteTable": _ec2(
        "ec2:CreateRouteTable", "ec2:DescribeRouteTables", "ec2:DisassociateRouteTable ec2:DeleteRouteTable"
    ),
    "aws:ec2/route:Route": Permissions(
        "ec2:CreateRoute", "ec2:DescribeRouteTables", "ec2:DeleteRoute", update={REST: "ec2:ReplaceRoute"}
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Permissions(
        "ec2:AssociateRouteTable",
        "ec2:DescribeRouteTables",
        "ec2:DisassociateRouteTable",
        update={"routeTableId": "ec2:ReplaceRouteTableAssociation"},
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Permissions(
        "ec2:CreateVpcEndpoint",
        "ec2:DescribeVpcEndpoints ec2:DescribePrefixLists",
        "ec2:DeleteVpcEndpoints",
        {**_TAGGED, "privateDnsEnabled": "route53:AssociateVPCWithHostedZone"},
        {"tags": _EC2_TAGS, REST: "ec2:ModifyVpcEndpoint"},
    ),
    "aws:ec2/securityGroup:SecurityGroup": _ec2(
        "ec2:CreateSecurityGroup ec2:RevokeSecurityGroupEgress",  # AWS makes a rule that lets everything out
        "ec2:DescribeSecurityGroups",
        "ec2:DeleteSecurityGroup ec2:DescribeNetworkInterfaces",
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("Ingress"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("Egress"),
}

_MACHINES = {
    # tagged by CreateImage; the provider also deletes the snapshots of what it made (ec2_ami.go, manage_ebs_snapshots)
    "aws:ec2/amiFromInstance:AmiFromInstance": _ec2(
        "ec2:CreateImage ec2:DescribeImages", "ec2:DescribeImages", "ec2:DeregisterImage ec2:DeleteSnapshot"
    ),
    "aws:ec2/instance:Instance": Permissions(
        "ec2:RunInstances ec2:DescribeImages",
        "ec2:DescribeInstances ec2:DescribeInstanceTypes ec2:DescribeInstanceAttribute ec2:DescribeVolumes"
        " ec2:DescribeInstanceCreditSpecifications ec2:DescribeTags",
        "ec2:ModifyInstanceAttribute ec2:TerminateInstances",  # it takes the protection off first
        {
            **_TAGGED,
            "rootBlockDevice.tags": "ec2:CreateTags",
            "rootBlockDevice.kmsKeyId": DISK_KEY,  # further disks have the same key
            "ebsBlockDevices[].tags": "ec2:CreateTags",
            "iamInstanceProfile": "iam:PassRole",
            "sourceDestCheck": "ec2:ModifyInstanceAttribute",
            "instanceMarketOptions": f"{LINKED_ROLE} ec2:DescribeSpotInstanceRequests",
        },
        {
            "tags": _EC2_TAGS,
            "instanceType": _RESTARTED,
            "userData": _RESTARTED,
            "metadataOptions": "ec2:ModifyInstanceMetadataOptions",
            "rootBlockDevice": f"ec2:ModifyVolume ec2:DescribeVolumesModifications {_EC2_TAGS}",
            "sourceDestCheck": "ec2:ModifyInstanceAttribute",
            "vpcSecurityGroupIds": "ec2:ModifyNetworkInterfaceAttribute",
        },
        # a profile lives as long as its cluster; etcd's disk and nested virtualization as long as their machine
        fixed=("iamInstanceProfile", "ebsBlockDevices", "cpuOptions"),
        given_up={"instanceMarketOptions": "ec2:CancelSpotInstanceRequests"},
    ),
}

# made by a storage driver, deleted by `mullion down`
_VOLUMES = {
    "aws:ebs/volume:Volume": Permissions("", "ec2:DescribeVolumes", "ec2:DeleteVolume"),
    "aws:ebs/snapshot:Snapshot": Permissions("", "ec2:DescribeSnapshots", "ec2:DeleteSnapshot"),
}

_BALANCERS = {
    "aws:lb/loadBalancer:LoadBalancer": Permissions(
        f"{_LB}CreateLoadBalancer {_LB}ModifyLoadBalancerAttributes {LINKED_ROLE}"
        " ec2:DescribeAccountAttributes ec2:DescribeInternetGateways ec2:DescribeSecurityGroups ec2:DescribeSubnets"
        " ec2:DescribeVpcs",
        f"{_LB}DescribeLoadBalancers {_LB}DescribeLoadBalancerAttributes {_LB}DescribeTags",
        f"{_LB}DeleteLoadBalancer ec2:DescribeNetworkInterfaces",
        _LB_TAGGED,
        {
            **_LB_TAGS,
            "enableCrossZoneLoadBalancing": f"{_LB}ModifyLoadBalancerAttributes",
            "securityGroups": f"{_LB}SetSecurityGroups",
            "subnetMappings": f"{_LB}SetSubnets",
            "subnets": f"{_LB}SetSubnets",
        },
    ),
    "aws:lb/targetGroup:TargetGroup": Permissions(
        f"{_LB}CreateTargetGroup {_LB}ModifyTargetGroupAttributes",
        f"{_LB}DescribeTargetGroups {_LB}DescribeTargetGroupAttributes {_LB}DescribeTags",
        f"{_LB}DeleteTargetGroup",
        _LB_TAGGED,
        {**_LB_TAGS, "healthCheck": f"{_LB}ModifyTargetGroup", REST: f"{_LB}ModifyTargetGroupAttributes"},
    ),
    "aws:lb/targetGroupAttachment:TargetGroupAttachment": Permissions(
        f"{_LB}RegisterTargets", f"{_LB}DescribeTargetHealth", f"{_LB}DeregisterTargets"
    ),
    "aws:lb/listener:Listener": Permissions(
        f"{_LB}CreateListener",
        f"{_LB}DescribeListeners {_LB}DescribeListenerAttributes {_LB}DescribeTags",
        f"{_LB}DeleteListener",
        _LB_TAGGED,
        {**_LB_TAGS, REST: f"{_LB}ModifyListener"},
    ),
    # made by the cloud controller, deleted by `mullion down`
    "aws:elb/loadBalancer:LoadBalancer": Permissions(
        "",
        f"{_LB}DescribeLoadBalancers {_LB}DescribeLoadBalancerAttributes {_LB}DescribeTags",
        f"{_LB}DeleteLoadBalancer ec2:DescribeNetworkInterfaces",
    ),
}

_PATHS = "route53:GetHostedZone route53:ListResourceRecordSets"
_NAMES = {
    "aws:route53/zone:Zone": Permissions(
        "route53:CreateHostedZone route53:GetChange ec2:DescribeVpcs",
        f"{_PATHS} route53:ListTagsForResource",
        "route53:DeleteHostedZone",
        {"tags": "route53:ChangeTagsForResource"},
        {
            "tags": "route53:ChangeTagsForResource",
            "comment": "route53:UpdateHostedZoneComment",
            "vpcs": "route53:AssociateVPCWithHostedZone route53:DisassociateVPCFromHostedZone",
        },
    ),
    "aws:route53/record:Record": Permissions(
        "route53:ChangeResourceRecordSets route53:GetChange",
        _PATHS,
        "route53:ChangeResourceRecordSets route53:GetChange",
        update={REST: "route53:ChangeResourceRecordSets route53:GetChange"},
    ),
}

FUNCTIONS = {
    "aws:ebs/getEbsVolumes:getEbsVolumes": "ec2:DescribeVolumes",
    "aws:ebs/getSnapshotIds:getSnapshotIds": "ec2:DescribeSnapshots",
    "aws:ec2/getAmiIds:getAmiIds": "ec2:DescribeImages",
    "aws:ec2/getInstance:getInstance": "ec2:DescribeInstances ec2:DescribeInstanceAttribute ec2:DescribeVolumes"
    " ec2:DescribeInstanceCreditSpecifications ec2:DescribeInstanceTypes",
    "aws:ec2/getInstances:getInstances": "ec2:DescribeInstances",
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": "ec2:DescribeInstanceTypeOfferings",
    "aws:ec2/getRouteTable:getRouteTable": "ec2:DescribeRouteTables",
    "aws:ec2/getRouteTables:getRouteTables": "ec2:DescribeRouteTables",
    "aws:ec2/getSecurityGroup:getSecurityGroup": "ec2:DescribeSecurityGroups",
    "aws:ec2/getSubnet:getSubnet": "ec2:DescribeSubnets",
    "aws:ec2/getVpc:getVpc": "ec2:DescribeVpcs ec2:DescribeVpcAttribute ec2:DescribeRouteTables",
    "aws:ec2/getVpcDhcpOptions:getVpcDhcpOptions": "ec2:DescribeDhcpOptions",
    "aws:ec2/getVpcEndpoint:getVpcEndpoint": "ec2:DescribeVpcEndpoints ec2:DescribePrefixLists",
    "aws:elb/getLoadBalancer:getLoadBalancer": f"{_LB}DescribeLoadBalancers {_LB}DescribeLoadBalancerAttributes"
    f" {_LB}DescribeTags",
    "aws:index/getAvailabilityZones:getAvailabilityZones": "ec2:DescribeAvailabilityZones",
    "aws:index/getCallerIdentity:getCallerIdentity": "sts:GetCallerIdentity",
    **dict.fromkeys((f"aws:index/get{name}:get{name}" for name in ("Partition", "Region", "Service")), ""),
    "aws:lb/getLoadBalancer:getLoadBalancer": f"{_LB}DescribeLoadBalancers {_LB}DescribeLoadBalancerAttributes"
    f" {_LB}DescribeTags",
    "aws:lb/getTargetGroup:getTargetGroup": f"{_LB}DescribeTargetGroups {_LB}DescribeTargetGroupAttributes"
    f" {_LB}DescribeTags",
    "aws:resourcegroupstaggingapi/getResources:getResources": "tag:GetResources",
    "aws:route53/getRecords:getRecords": "route53:ListResourceRecordSets",
    # versions of the provider look a zone up in the list of all
    "aws:route53/getZone:getZone": f"{_PATHS} route53:ListTagsForResource route53:ListHostedZones",
    "aws:s3/getObject:getObject": "s3:GetObject s3:GetObjectTagging",
    "aws:s3/getObjects:getObjects": "s3:ListBucket",
    "aws:ssm/getParameter:getParameter": "ssm:GetParameter",
}

COMMANDS = {
    "aws ec2 describe-instance-type-offerings": "ec2:DescribeInstanceTypeOfferings",
    "aws ec2 describe-vpc-endpoint-services": "ec2:DescribeVpcEndpointServices",
    "aws ec2 get-ebs-default-kms-key-id": "ec2:GetEbsDefaultKmsKeyId",
    "aws freetier get-account-plan-state": "freetier:GetAccountPlanState",
    "aws iam get-instance-profile": "iam:GetInstanceProfile",
    "aws iam get-role": "iam:GetRole",
    "aws resourcegroupstaggingapi get-resources": "tag:GetResources",
    "aws service-quotas get-service-quota": "servicequotas:GetServiceQuota",
    "aws sts get-caller-identity": "sts:GetCallerIdentity",
    "aws ssm start-session": "ssm:StartSession ssmmessages:OpenDataChannel ssm:ResumeSession ssm:TerminateSession",
}

WITHOUT_CALL = {
    "iam:PassRole": "RunInstances with an instance profile, and AddRoleToInstanceProfile, ask for it (Service"
    " Authorization Reference, dependent actions)",
    LINKED_ROLE: "Elastic Load Balancing and EC2 Spot create their service-linked role in the name of the first caller"
    " of an account (their user guides, service-linked roles)",
    **dict.fromkeys(
        sorted({*KEY.split(), *DISK_KEY.split()}),
        "S3, Secrets Manager and EC2 use `encryption_key` in the caller's name (AWS KMS developer guide)",
    ),
    "ssmmessages:OpenDataChannel": "the Session Manager plugin signs the opening of its connection (Systems Manager"
    " user guide, release 1.2.764.0 of the plugin, and the sample policies for Session Manager)",
    "ssm:ResumeSession": "the Session Manager plugin connects again by it (Systems Manager user guide)",
    "ssm:TerminateSession": "the Session Manager plugin ends its session by it (Systems Manager user guide)",
}

TABLE = Table(
    {**_NETWORK, **_MACHINES, **_VOLUMES, **_BALANCERS, **_NAMES, **permissions_of_stores.TYPES},
    FUNCTIONS,
    COMMANDS,
    WITHOUT_CALL,
)
