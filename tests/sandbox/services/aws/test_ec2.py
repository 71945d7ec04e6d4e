"""DescribeInstances, called by a real SDK."""

from sandbox.aws.network import INSTANCE
from tests.sandbox.services.aws.test_s3 import code
from tests.sandbox.services.conftest import ServedAccount


def found(answer: dict) -> list[str]:
    return [one["InstanceId"] for reservation in answer["Reservations"] for one in reservation["Instances"]]


def test_instances_are_described_by_id_filter_and_tag(served: ServedAccount) -> None:
    ec2, ids = served.client("ec2"), {name: thing.id for name, thing in served.machines.items()}
    assert found(ec2.describe_instances()) == list(ids.values())
    answer = ec2.describe_instances(InstanceIds=[ids["web"]])
    one = answer["Reservations"][0]["Instances"][0]
    assert one["State"] == {"Code": 16, "Name": "running"}
    assert one["PrivateIpAddress"] == served.machines["web"].outputs["privateIp"]
    assert {"Key": "Name", "Value": "web"} in one["Tags"]
    for filters in (
        [{"Name": "tag:Name", "Values": ["web", "other"]}],
        [{"Name": "private-ip-address", "Values": [one["PrivateIpAddress"]]}],
        [{"Name": "instance-id", "Values": list(ids.values())}, {"Name": "tag:Name", "Values": ["web"]}],
    ):
        assert found(ec2.describe_instances(Filters=filters)) == [ids["web"]], filters
    assert found(ec2.describe_instances(Filters=[{"Name": "instance-state-name", "Values": ["stopped"]}])) == []


def test_deleted_unknown_and_denied_instances_are_refused(served: ServedAccount) -> None:
    ec2 = served.client("ec2")
    gone = served.machines["web"]
    web = served.client("ec2", "web")
    assert code(web.describe_instances) == "UnauthorizedOperation"
    served.account.delete(gone)
    assert code(web.describe_instances) == "AuthFailure", "its credentials went with it"
    assert code(lambda: ec2.describe_instances(InstanceIds=[gone.id])) == "InvalidInstanceID.NotFound"
    assert code(lambda: ec2.describe_instances(Filters=[{"Name": "colour", "Values": ["red"]}])) == (
        "InvalidParameterValue"
    )
    assert code(lambda: ec2.describe_instances(MaxResults=5)) == "UnknownParameter"
    assert code(ec2.describe_vpcs) == "InvalidAction"


def test_a_further_disk_is_described_with_its_volume(served: ServedAccount) -> None:
    """EC2 API reference, InstanceBlockDeviceMapping; the executor finds the disk by the volume's id."""
    web = served.machines["web"]
    record = served.account.cloud_state.find(INSTANCE, web.id)
    assert record
    with served.account.cloud_state.transaction():
        disk = {"deviceName": "/dev/sdf", "volumeId": "vol-0123456789abcdef0", "deleteOnTermination": True}
        record.outputs["ebsBlockDevices"] = [disk]
        served.account.cloud_state.put(record)
    answer = served.client("ec2").describe_instances(InstanceIds=[web.id])
    [mapped] = answer["Reservations"][0]["Instances"][0]["BlockDeviceMappings"]
    assert mapped["DeviceName"] == "/dev/sdf"
    assert (mapped["Ebs"]["VolumeId"], mapped["Ebs"]["DeleteOnTermination"]) == ("vol-0123456789abcdef0", True)
