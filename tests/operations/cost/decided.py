"""Resource types that cost money and those that do not: each type that a stack registers is in one table here."""

COUNTED = {
    "aws:ec2/natGateway:NatGateway": "nat-gateway",
    "aws:lb/loadBalancer:LoadBalancer": "load-balancer",
    "aws:route53/zone:Zone": "dns-zone",
    "aws:secretsmanager/secret:Secret": "secret",
    "azure-native:network:NatGateway": "nat-gateway",
    "azure-native:network:BastionHost": "bastion",
    "azure-native:network:LoadBalancer": "load-balancer",
    "azure-native:network:PublicIPAddress": "public-ipv4",
    "azure-native:privatedns:PrivateZone": "dns-zone",
    "gcp:compute/forwardingRule:ForwardingRule": "load-balancer",
    "gcp:dns/managedZone:ManagedZone": "dns-zone",
    "gcp:secretmanager/secret:Secret": "secret",
}
"""Type -> key of the price table: the bill has as many as the stack registers (GCP: one price for five rules)."""

MACHINES = {
    "aws:ec2/instance:Instance",
    "azure-native:compute:VirtualMachine",
    "gcp:compute/instance:Instance",
}
"""Machines, with their disk, Windows and public address."""

PART = {
    "aws:ec2/eip:Eip": "public-ipv4, with the addresses of machines and of a public load balancer",
    "gcp:compute/routerNat:RouterNat": "nat-vm, for each machine behind it, and one address",
    "gcp:compute/address:Address": "public-ipv4 for the public load balancer; internal addresses are free",
}
"""Counted in another number than the resources have."""

BY_USE = {
    "aws:s3/bucket:Bucket": "GiB and requests",
    "aws:s3/bucketObjectv2:BucketObjectv2": "GiB and requests",
    "azure-native:keyvault:Vault": "operations",
    "azure-native:keyvault:Secret": "operations",
    "azure-native:storage:StorageAccount": "GiB and operations",
    "azure-native:storage:Blob": "GiB and operations",
    "gcp:storage/bucket:Bucket": "GiB and operations",
    "gcp:storage/bucketObject:BucketObject": "GiB and operations",
}
"""Charged by use only; --stored counts the GiB."""

FREE = {
    "identities and rights": """
        aws:iam/instanceProfile:InstanceProfile aws:iam/role:Role aws:iam/rolePolicy:RolePolicy
        azure-native:authorization:RoleAssignment azure-native:authorization:RoleDefinition
        azure-native:managedidentity:UserAssignedIdentity gcp:projects/iAMCustomRole:IAMCustomRole
        gcp:projects/iAMMember:IAMMember gcp:secretmanager/secretIamMember:SecretIamMember
        gcp:serviceaccount/account:Account gcp:storage/bucketIAMMember:BucketIAMMember
    """,
    "networks, routes and firewall rules; traffic is charged": """
        aws:ec2/internetGateway:InternetGateway aws:ec2/route:Route aws:ec2/routeTable:RouteTable
        aws:ec2/routeTableAssociation:RouteTableAssociation aws:ec2/securityGroup:SecurityGroup aws:ec2/subnet:Subnet
        aws:ec2/vpc:Vpc aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule
        aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule azure-native:network:ApplicationSecurityGroup
        azure-native:network:NetworkInterface azure-native:network:NetworkSecurityGroup azure-native:network:Subnet
        azure-native:network:VirtualNetwork gcp:compute/firewall:Firewall gcp:compute/network:Network
        gcp:compute/route:Route gcp:compute/router:Router gcp:compute/subnetwork:Subnetwork
    """,
    "a gateway endpoint of S3 has no charge, unlike interface endpoints": "aws:ec2/vpcEndpoint:VpcEndpoint",
    "parts of a load balancer, which is charged": """
        aws:lb/listener:Listener aws:lb/targetGroup:TargetGroup aws:lb/targetGroupAttachment:TargetGroupAttachment
        gcp:compute/instanceGroup:InstanceGroup gcp:compute/instanceGroupMembership:InstanceGroupMembership
        gcp:compute/regionBackendService:RegionBackendService gcp:compute/regionHealthCheck:RegionHealthCheck
    """,
    "records of a zone, which is charged": """
        aws:route53/record:Record azure-native:privatedns:PrivateRecordSet
        azure-native:privatedns:VirtualNetworkLink gcp:dns/recordSet:RecordSet
    """,
    "settings of a store": """
        aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration aws:s3/bucketPolicy:BucketPolicy
        aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock
        aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration
        aws:s3/bucketVersioning:BucketVersioning azure-native:storage:BlobContainer
        azure-native:storage:BlobServiceProperties azure-native:storage:ManagementPolicy
    """,
    "versions of a secret, which is charged": """
        aws:secretsmanager/secretVersion:SecretVersion gcp:secretmanager/secretVersion:SecretVersion
    """,
    "parts of a machine and of the subscription": """
        azure-native:compute:VirtualMachineExtension azure-native:resources:ResourceGroup
    """,
    "values of the state": "pulumi:index:Stash",
}
"""No charge, by reason. Components of Mullion (mullion:...) are no resources of a cloud."""

PREFIXES = ("mullion:", "pulumi:pulumi:", "pulumi:providers:")
