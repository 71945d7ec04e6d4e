"""Secrets Manager, called by a real SDK."""

import pytest

from tests.sandbox.services.aws.test_s3 import code
from tests.sandbox.services.conftest import ServedAccount


def test_a_value_is_read_by_name_arn_and_partial_arn(served: ServedAccount) -> None:
    manager, arn = served.client("secretsmanager"), served.secrets["pki"]
    for name in ("pki", arn, arn[:-7]):
        got = manager.get_secret_value(SecretId=name)
        assert (got["SecretString"], got["ARN"], got["Name"]) == ("ca.key", arn, "pki")
        assert got["VersionStages"] == ["AWSCURRENT"]


def test_the_newest_value_is_current_and_the_one_before_is_kept(served: ServedAccount) -> None:
    manager = served.client("secretsmanager")
    ids = [manager.put_secret_value(SecretId="join", SecretString=text)["VersionId"] for text in ("a", "b", "c")]
    assert manager.get_secret_value(SecretId="join")["SecretString"] == "c"
    assert manager.get_secret_value(SecretId="join", VersionStage="AWSPREVIOUS")["SecretString"] == "b"
    assert manager.get_secret_value(SecretId="join", VersionId=ids[1])["SecretString"] == "b"
    stages = manager.describe_secret(SecretId="join")["VersionIdsToStages"]
    assert stages == {ids[2]: ["AWSCURRENT"], ids[1]: ["AWSPREVIOUS"]}
    assert code(lambda: manager.get_secret_value(SecretId="join", VersionId=ids[0])) == "ResourceNotFoundException"


def test_a_client_request_token_makes_a_write_idempotent(served: ServedAccount) -> None:
    manager, token = served.client("secretsmanager"), "t" * 32
    for _ in range(2):
        made = manager.put_secret_value(SecretId="join", SecretString="a", ClientRequestToken=token)
        assert made["VersionId"] == token
    again = {"SecretId": "join", "SecretString": "b", "ClientRequestToken": token}
    assert code(lambda: manager.put_secret_value(**again)) == "ResourceExistsException"


def test_a_machine_reads_only_the_secrets_of_its_role(served: ServedAccount) -> None:
    served.client("secretsmanager").put_secret_value(SecretId="join", SecretString="token")
    manager = served.client("secretsmanager", "web")
    assert manager.get_secret_value(SecretId="join")["SecretString"] == "token"
    denied = [
        lambda: manager.get_secret_value(SecretId="pki"),
        lambda: manager.get_secret_value(SecretId="nothing"),
        lambda: manager.put_secret_value(SecretId="join", SecretString="x"),
        lambda: manager.describe_secret(SecretId="join"),
    ]
    assert [code(call) for call in denied] == ["AccessDeniedException"] * len(denied)


CASES = {
    "a secret that is not there": ({"SecretId": "nothing"}, "ResourceNotFoundException"),
    "a secret without a value": ({"SecretId": "join"}, "ResourceNotFoundException"),
    "a stage that is not there": ({"SecretId": "pki", "VersionStage": "AWSPREVIOUS"}, "ResourceNotFoundException"),
}


@pytest.mark.parametrize(("asked", "expected"), CASES.values(), ids=CASES)
def test_a_missing_secret_is_not_found(served: ServedAccount, asked: dict, expected: str) -> None:
    assert code(lambda: served.client("secretsmanager").get_secret_value(**asked)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"secret_key": "x"}, "InvalidSignatureException"),
        ({"token": "x/y"}, "UnrecognizedClientException"),
        ({"access_key": "ASIAX"}, "UnrecognizedClientException"),
    ],
)
def test_wrong_credentials_get_secrets_managers_error(served: ServedAccount, changes: dict, expected: str) -> None:
    manager = served.client("secretsmanager", "cp", **changes)
    assert code(lambda: manager.get_secret_value(SecretId="pki")) == expected


def test_no_secret_value_is_in_the_cloud_state_file_or_the_request_log(served: ServedAccount) -> None:
    served.client("secretsmanager").put_secret_value(SecretId="join", SecretString="not-for-everyone")
    files = served.account.cloud_state.path.parent.glob("world*")
    assert [path.name for path in files if b"not-for-everyone" in path.read_bytes()] == ["world.secrets"]
    assert "not-for-everyone" not in repr(served.services.asked)
