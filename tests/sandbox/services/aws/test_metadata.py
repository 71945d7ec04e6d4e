"""Instance metadata: tokens, values, and credentials that are renewed in time."""

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from sandbox import tamper
from sandbox.services.credentials import LIFETIME, OVERLAP
from tests.sandbox.aws.account import REGION
from tests.sandbox.services.aws.test_s3 import code
from tests.sandbox.services.conftest import ServedAccount

TTL, TOKEN = "X-aws-ec2-metadata-token-ttl-seconds", "X-aws-ec2-metadata-token"


def ask(served: ServedAccount, path: str, method: str = "GET", machine: str = "web", **headers: str) -> tuple[int, str]:
    """Status and text of an answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urlopen(Request(served.urls[machine] + path, method=method, headers=named)) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def token(served: ServedAccount, machine: str = "web", seconds: str = "60") -> str:
    return ask(served, "/latest/api/token", "PUT", machine, **{TTL: seconds})[1]


def value(served: ServedAccount, path: str, machine: str = "web") -> str:
    status, text = ask(served, path, machine=machine, **{TOKEN: token(served, machine)})
    assert status == 200, path
    return text


TOKENS = {
    "a token": ("PUT", {TTL: "21600"}, 200),
    "one that lasts too long": ("PUT", {TTL: "21601"}, 400),
    "one that lasts no time": ("PUT", {TTL: "0"}, 400),
    "no time said": ("PUT", {}, 400),
    "no put": ("GET", {TTL: "60"}, 405),
    "through a proxy": ("PUT", {TTL: "60", "X-Forwarded-For": "10.0.0.1"}, 403),
}


@pytest.mark.parametrize(("method", "headers", "status"), TOKENS.values(), ids=TOKENS)
def test_a_put_with_a_lifetime_gets_a_token(served: ServedAccount, method: str, headers: dict, status: int) -> None:
    assert ask(served, "/latest/api/token", method, **headers)[0] == status


def test_nothing_is_read_without_a_good_token_where_tokens_are_required(served: ServedAccount) -> None:
    path = "/latest/meta-data/instance-id"
    good = token(served)
    assert ask(served, path)[0] == 401, "version 1 is refused"
    assert ask(served, path, **{TOKEN: "x" + good})[0] == 401
    assert ask(served, path, **{TOKEN: token(served, "cp")})[0] == 401, "the token of another machine"
    assert ask(served, path, **{TOKEN: good}) == (200, served.machines["web"].id)
    now = served.services.clock()
    served.services.clock = lambda: now + 61
    assert ask(served, path, **{TOKEN: good})[0] == 401, "it has expired"


def test_imdsv1_is_answered_if_the_instance_allows_it(served: ServedAccount) -> None:
    record = served.account.cloud_state.find("aws:ec2/instance:Instance", served.machines["web"].id)
    assert record is not None
    tamper.change(served.account.cloud_state, record, {"metadataOptions.httpTokens": "optional"})
    assert ask(served, "/latest/meta-data/instance-id") == (200, served.machines["web"].id)
    tamper.change(served.account.cloud_state, record, {"metadataOptions.httpEndpoint": "disabled"})
    assert ask(served, "/latest/meta-data/instance-id")[0] == 403


def test_values_are_those_of_the_instance(served: ServedAccount) -> None:
    thing = served.machines["web"]
    expected = {
        "/latest/meta-data/instance-id": thing.id,
        "/latest/meta-data/local-ipv4": thing.outputs["privateIp"],
        "/latest/meta-data/placement/region": REGION,
        "/latest/meta-data/placement/availability-zone": f"{REGION}a",
        "/latest/meta-data/placement/": "availability-zone\nregion",
        "/latest/meta-data/iam/": "info\nsecurity-credentials/",
        "/latest/meta-data/iam/security-credentials/": "web",
        "/latest/user-data": "#cloud-config\n# web\n",
        "/2021-03-23/meta-data/instance-type": "m6i.large",
    }
    assert {path: value(served, path) for path in expected} == expected
    document = json.loads(value(served, "/latest/dynamic/instance-identity/document"))
    assert (document["instanceId"], document["region"]) == (thing.id, REGION)
    for path in ("/latest/meta-data/nothing", "/latest/meta-data/instance-id/more", "/1999/meta-data/"):
        assert ask(served, path, **{TOKEN: token(served)})[0] == 404


def test_credentials_are_renewed_before_they_expire_and_refused_afterwards(served: ServedAccount) -> None:
    start = served.services.clock() // (LIFETIME - OVERLAP) * (LIFETIME - OVERLAP)
    # botocore signs with the clock of this machine, so AWS's may move by what a clock may be off
    first = served.credentials("web")
    assert served.credentials("web")["token"] == first["token"], "the same until newer ones are due"
    real = served.services.clock
    ahead = start + LIFETIME - OVERLAP - real() + 1
    served.services.clock = lambda: real() + ahead
    second = served.credentials("web")
    assert second["token"] != first["token"], f"{OVERLAP} s before the old ones end"
    served.services.clock = lambda: start + LIFETIME + 1
    names = ("access_key", "secret_key", "token")
    s3 = served.client("s3", "web", **{name: first[name] for name in names})
    assert code(lambda: s3.get_object(Bucket="bundles", Key="bundles/web.zip")) == "ExpiredToken"


def test_a_role_without_ec2_trust_gives_no_credentials(served: ServedAccount) -> None:
    record = served.account.cloud_state.find("aws:iam/role:Role", "web")
    assert record is not None
    nobody = record.inputs["assumeRolePolicy"].replace("ec2.", "lambda.")
    tamper.change(served.account.cloud_state, record, {"assumeRolePolicy": nobody})
    document = json.loads(value(served, "/latest/meta-data/iam/security-credentials/web"))
    assert document["Code"] == "AssumeRoleUnauthorizedAccess"
    assert "SecretAccessKey" not in document


def test_a_shared_listener_finds_the_machine_by_its_address(served: ServedAccount) -> None:
    url = served.services.listen()
    served.urls["anyone"] = url
    status, text = ask(served, "/latest/api/token", "PUT", "anyone", **{TTL: "60"})
    assert (status, text) == (404, "the sandbox has no instance 127.0.0.1\n")


def test_no_credential_is_in_the_cloud_state_file(served: ServedAccount) -> None:
    given = served.credentials("web")
    content = b"".join(path.read_bytes() for path in served.account.cloud_state.path.parent.glob("world*")
                       if "secrets" not in path.name)  # fmt: skip
    for name in ("secret_key", "token"):
        assert given[name].encode() not in content
