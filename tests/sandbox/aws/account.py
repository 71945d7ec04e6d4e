"""Inputs that tests of the embedded AWS share, and its smallest network."""

import json
from dataclasses import dataclass

from sandbox.aws.regions import UBUNTU, image
from tests.sandbox.account import Thing

REGION = "eu-west-1"
AMI = image(REGION, UBUNTU.format(release="22.04", arch="amd64", volume="ebs-gp2"))
TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}],
    }
)
POLICY = json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}
)


@dataclass
class Network:
    """A VPC with one subnet and one security group."""

    vpc: Thing
    subnet: Thing
    group: Thing
