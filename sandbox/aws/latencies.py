"""Durations of AWS calls; sandbox/latency.py names the sources of the figures."""

from collections.abc import Mapping

from sandbox.latency import LOGS, Latency

LATENCIES: Mapping[str, Latency] = {
    "aws:ec2/vpc:Vpc": Latency(
        12, 11, 1, "terraform-aws-modules/terraform-aws-route53#33: 12 s with DNS host names; 1 s and less without"
    ),
    "aws:ec2/internetGateway:InternetGateway": Latency(
        1, 1, 20, LOGS + "create 1 s; delete 1 to 79 s, as it waits for public addresses to go"
    ),
    "aws:ec2/subnet:Subnet": Latency(
        11, 11, 1, LOGS + "11 s where addresses are public by default, 1 s otherwise; counted as the longer"
    ),
    "aws:ec2/routeTable:RouteTable": Latency(1, 1, 1, "DevopsArtFactory/terraform-provisioning#5 and #7: 1 s"),
    "aws:ec2/eip:Eip": Latency(1, 1, 1, "DevopsArtFactory/terraform-provisioning#5 and #7: 0 to 1 s"),
    "aws:ec2/natGateway:NatGateway": Latency(105, 1, 56, LOGS + "create 85 to 125 s, delete 37 to 79 s"),
    "aws:ec2/securityGroup:SecurityGroup": Latency(2, 1, 1, LOGS + "create 2 to 3 s, delete 1 s"),
    "aws:ec2/amiFromInstance:AmiFromInstance": Latency(
        600, 1, 5, "estimate: a snapshot of the whole disk, some minutes for 30 GiB and more"
    ),
    "aws:ec2/instance:Instance": Latency(
        15, 60, 40, LOGS + "delete 20 to 40 s and more; create, and update with stop and start: estimate"
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Latency(6, 6, 6, LOGS + "gateway endpoints 6 to 7 s; delete: estimate"),
    "aws:lb/loadBalancer:LoadBalancer": Latency(
        157, 10, 5, LOGS + "network load balancers 142, 157 and 161 s; delete: estimate"
    ),
    "aws:route53/zone:Zone": Latency(
        65, 30, 30, LOGS + "private zones 62 and 79 s; update and delete wait for the same change: estimate"
    ),
    "aws:route53/record:Record": Latency(35, 35, 35, LOGS + "35 s; any change waits until the servers have it"),
    "aws:iam/instanceProfile:InstanceProfile": Latency(6, 1, 1, LOGS + "1 to 6 s; waits until the profile is seen"),
    "aws:s3/bucket:Bucket": Latency(
        3, 1, 3, LOGS + "delete 3 s; create 2 to 19 s (terraform-aws-modules/terraform-aws-route53#33)"
    ),
    "aws:s3/bucketVersioning:BucketVersioning": Latency(2, 2, 2, LOGS + "create 1 to 2 s"),
}
