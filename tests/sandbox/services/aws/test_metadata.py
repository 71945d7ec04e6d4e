"""Instance metadata: tokens, values, and credentials that are renewed in time."""

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from sandbox import tamper
from sandbox.services.credentials import LIFETIME, OVERLAP
from tests.sandbox.conftest import REGION
from tests.sandbox.services.aws.test_s3 import code
from tests.sandbox.services.conftest import Site

TTL, TOKEN = "X-aws-ec2-metadata-token-ttl-seconds", "X-aws-ec2-metadata-token"


def ask(site: Site, path: str, method: str = "GET", machine: str = "web", **headers: str) -> tuple[int, str]:
    """Return status and text of an answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urlopen(Request(site.urls[machine] + path, method=method, headers=named)) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def token(site: Site, machine: str = "web", seconds: str = "60") -> str:
    return ask(site, "/latest/api/token", "PUT", machine, **{TTL: seconds})[1]


def value(site: Site, path: str, machine: str = "web") -> str:
    status, text = ask(site, path, machine=machine, **{TOKEN: token(site, machine)})
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
def test_a_put_with_a_lifetime_gets_a_token(site: Site, method: str, headers: dict, status: int) -> None:
    assert ask(site, "/latest/api/token", method, **headers)[0] == status


def test_nothing_is_read_without_a_good_token_where_tokens_are_required(site: Site) -> None:
    path = "/latest/meta-data/instance-id"
    good = token(site)
    assert ask(site, path)[0] == 401, "version 1 is refused"
    assert ask(site, path, **{TOKEN: "x" + good})[0] == 401
    assert ask(site, path, **{TOKEN: token(site, "cp")})[0] == 401, "the token of another machine"
    assert ask(site, path, **{TOKEN: good}) == (200, site.machines["web"].id)
    now = site.services.clock()
    site.services.clock = lambda: now + 61
    assert ask(site, path, **{TOKEN: good})[0] == 401, "it has expired"


def test_imdsv1_is_answered_if_the_instance_allows_it(site: Site) -> None:
    record = site.account.cloud_state.find("aws:ec2/instance:Instance", site.machines["web"].id)
    assert record is not None
    tamper.change(site.account.cloud_state, record, {"metadataOptions.httpTokens": "optional"})
    assert ask(site, "/latest/meta-data/instance-id") == (200, site.machines["web"].id)
    tamper.change(site.account.cloud_state, record, {"metadataOptions.httpEndpoint": "disabled"})
    assert ask(site, "/latest/meta-data/instance-id")[0] == 403


def test_values_are_those_of_the_instance(site: Site) -> None:
    thing = site.machines["web"]
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
    assert {path: value(site, path) for path in expected} == expected
    document = json.loads(value(site, "/latest/dynamic/instance-identity/document"))
    assert (document["instanceId"], document["region"]) == (thing.id, REGION)
    for path in ("/latest/meta-data/nothing", "/latest/meta-data/instance-id/more", "/1999/meta-data/"):
        assert ask(site, path, **{TOKEN: token(site)})[0] == 404


def test_credentials_are_renewed_before_they_expire_and_refused_afterwards(site: Site) -> None:
    start = site.services.clock() // (LIFETIME - OVERLAP) * (LIFETIME - OVERLAP)
    # botocore signs with this machine's clock, so AWS's clock may move only by the allowed skew
    first = site.credentials("web")
    assert site.credentials("web")["token"] == first["token"], "the same until newer ones are due"
    real = site.services.clock
    ahead = start + LIFETIME - OVERLAP - real() + 1
    site.services.clock = lambda: real() + ahead
    second = site.credentials("web")
    assert second["token"] != first["token"], f"{OVERLAP} s before the old ones end"
    site.services.clock = lambda: start + LIFETIME + 1
    names = ("access_key", "secret_key", "token")
    s3 = site.client("s3", "web", **{name: first[name] for name in names})
    assert code(lambda: s3.get_object(Bucket="bundles", Key="bundles/web.zip")) == "ExpiredToken"


def test_a_role_without_ec2_trust_gives_no_credentials(site: Site) -> None:
    record = site.account.cloud_state.find("aws:iam/role:Role", "web")
    assert record is not None
    nobody = record.inputs["assumeRolePolicy"].replace("ec2.", "lambda.")
    tamper.change(site.account.cloud_state, record, {"assumeRolePolicy": nobody})
    document = json.loads(value(site, "/latest/meta-data/iam/security-credentials/web"))
    assert document["Code"] == "AssumeRoleUnauthorizedAccess"
    assert "SecretAccessKey" not in document


def test_a_shared_listener_finds_the_machine_by_its_address(site: Site) -> None:
    url = site.services.listen()
    site.urls["anyone"] = url
    status, text = ask(site, "/latest/api/token", "PUT", "anyone", **{TTL: "60"})
    assert (status, text) == (404, "the sandbox has no instance 127.0.0.1\n")


def test_no_credential_is_in_the_cloud_state_file(site: Site) -> None:
    given = site.credentials("web")
    content = b"".join(path.read_bytes() for path in site.account.cloud_state.path.parent.glob("world*")
                       if "secrets" not in path.name)  # fmt: skip
    for name in ("secret_key", "token"):
        assert given[name].encode() not in content
