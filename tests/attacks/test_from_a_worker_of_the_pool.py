"""From another worker of the same pool on GCP.

With `worker_identity: machine` each has a service account of its own; with `pool` both have the same one, and so the
same rights.
"""

import base64
import importlib
import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from types import ModuleType
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from sandbox.services.gcp import identity, machine
from tests.agent.cluster import Cluster
from tests.agent.test_signing import GIVEN
from tests.attacks.worker_accounts import Accounts
from tests.cloud_init.accounts import GCP_EMAIL, GCP_INSTANCE, GCP_PROJECT, GCP_ZONE, put
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.linux import NUMBER, OWN_TOKEN, TOKEN

pytestmark = pytest.mark.parametrize("cloud", ["gcp"], indirect=True)

SECRET = f"/api/v1/namespaces/kube-system/secrets/bootstrap-token-{OWN_TOKEN[:6]}"
MEMBER = {"name": "web-0", "pool": "web", "address": "10.20.1.4", "pods": None, "labels": {}, "taints": []}
RECORDS = "web:"
"""Prefix of the pool's records, whose workers share an account."""
OWN = "web-0:"
"""Prefix of the records of web-0, if each worker has an account of its own."""
THIEF = "5000000000000000005"
"""Instance id of the other worker of the pool."""
WORKER = "6000000000000000006"
"""Instance id of web-0, if each worker has an account of its own; GCP_INSTANCE then runs the agent."""
STALE = "0" * 32
"""A number that web-0 did not announce."""

UNSIGNED = (
    *("it is not an identity token", "it is not signed with RS256", "its signature is wrong"),
    *("no published key has signed it", "its claim instance_id has another value"),
)
"""What the agent says of a token that Google did not sign, or that names no machine."""


class Pool:
    """Two workers of a pool: web-0 does not run yet, the thief does."""

    def __init__(self, cloud: FakeCloud, module: Callable[[str], ModuleType], run: Any) -> None:
        self.cloud, self.module, self.run, self.api = cloud, module, run, Cluster()
        self.log = ""
        """What the agent said in its last round."""
        account = {"email": GCP_EMAIL, "scopes": ["cloud-platform"]}
        given: dict[str, Any] = {"name": "shop-web-1", "zone": GCP_ZONE, "project": GCP_PROJECT}
        with cloud.services.cloud_state.transaction():
            put(
                cloud.services.cloud_state,
                machine.INSTANCE,
                "thief",
                given | {"serviceAccount": account},
                instanceId=THIEF,
            )

    def token(self, number: str, instance: str = GCP_INSTANCE, full: bool = True) -> str:
        """Return the identity token that an instance gets from its metadata server for a number."""
        state = self.cloud.services.cloud_state
        [found] = [one for one in state.resources(machine.INSTANCE) if str(one.outputs["instanceId"]) == instance]
        return identity.token(state, found, GCP_EMAIL, f"urn:mullion:join:{number}", full, 1.8e9)

    def announce(self, number: str = NUMBER, **fields: Any) -> None:
        """Write web-0's announcement, as any worker of the pool may with `worker_identity: pool`."""
        body = json.dumps({"number": number, "instance": GCP_INSTANCE, **fields})
        self.cloud.objects[f"/bundles/join/{RECORDS}{GCP_INSTANCE}.json"] = body.encode()

    def admitted(self, records: str = RECORDS) -> bool:
        """Run the agent; return whether web-0 got a token for NUMBER. records: prefix of its records."""
        members = {"web-0": MEMBER | {"records": records}}
        seen = self.module("seen").Seen(self.run, self.api, **GIVEN | {"members": members})
        log = io.StringIO()
        with redirect_stdout(log):
            self.module("announcements").reconcile(seen)
        self.log = log.getvalue()
        return self.api.find(SECRET) is not None


@pytest.fixture
def pool(cloud: FakeCloud, module: Callable[[str], ModuleType], run: Any, monkeypatch: pytest.MonkeyPatch) -> Pool:
    """Return the pool, seen by the agent."""
    monkeypatch.setattr(module("machines").compute, "machines", lambda run, addresses: {"web-0": GCP_INSTANCE})
    cloud.secrets["join"] = TOKEN
    importlib.import_module("clouds.gcp")._published.clear()
    return Pool(cloud, module, run)


def test_the_machine_itself_is_admitted(pool: Pool, cloud: FakeCloud) -> None:
    """Not an attack: the announcement that the executor writes, with a token of the metadata server."""
    announcing = importlib.import_module("announcing")
    pool.run.told["facts"]["status_url"] = f"{cloud.url}/status/{RECORDS}"
    (pool.run.path(announcing.NUMBER).parent).mkdir(parents=True)
    pool.run.path(announcing.NUMBER).write_text(NUMBER)
    assert announcing.announce(pool.run, "join") == OWN_TOKEN
    assert pool.admitted()


def test_an_announcement_without_proof_admits_nobody(pool: Pool) -> None:
    """Write the announcement of a worker of your pool that does not run, with a number whose token you know.

    Refused by: the agent, which asks for the machine's identity token.
    Seen in: the agent's log: `the announcement of machine ID for NAME is refused`, because `it has no identity token`.
    """
    pool.announce()
    assert not pool.admitted()
    assert pool.log == refusal("it has no identity token")
    assert not pool.api.asked


def test_a_token_of_the_thief_admits_nobody(pool: Pool) -> None:
    """Announce another worker of your pool with the identity token of your own machine.

    Refused by: the agent, by the instance id that Google signed.
    Seen in: the agent's log: `the announcement of machine ID for NAME is refused`, because `its claim instance_id has
    another value`.
    """
    pool.announce(identity=pool.token(NUMBER, THIEF))
    assert not pool.admitted()
    assert pool.log == refusal("its claim instance_id has another value")


def test_a_token_for_another_number_admits_nobody(pool: Pool) -> None:
    """Copy the identity token of another worker's announcement, and announce your own number with it.

    Refused by: the agent, by the token's audience, which contains the number.
    Seen in: the agent's log: `the announcement of machine ID for NAME is refused`, because `its claim aud has another
    value`.
    """
    pool.announce(identity=pool.token(STALE))
    assert not pool.admitted()
    assert pool.log == refusal("its claim aud has another value")


def refusal(why: str, instance: str = GCP_INSTANCE) -> str:
    """Return the agent's line about an announcement of web-0 that it refuses."""
    return f"mullion: the announcement of machine {instance} for web-0 is refused: {why}\n"


def _forged(pool: Pool, header: dict[str, str], signature: Callable[[bytes], bytes]) -> str:
    """Return a token with the true claims, another header and signature."""
    claims = pool.token(NUMBER).split(".")[1]
    signed = f"{base64.urlsafe_b64encode(json.dumps(header).encode()).decode().rstrip('=')}.{claims}"
    return f"{signed}.{base64.urlsafe_b64encode(signature(signed.encode())).decode().rstrip('=')}"


def test_a_token_that_google_did_not_sign_admits_nobody(pool: Pool) -> None:
    """Sign the token yourself, with no algorithm, with HMAC and Google's public key, or with the signature padded.

    Refused by: the agent, which accepts only RS256 with a published key.
    Seen in: the agent's log: `the announcement of machine ID for NAME is refused`, with what is wrong with the token.
    """
    key = rsa.generate_private_key(65537, 2048)
    true = {"alg": "RS256", "kid": "sandbox-1"}

    def sign(text: bytes) -> bytes:
        return key.sign(text, padding.PKCS1v15(), SHA256())

    good = pool.token(NUMBER)
    for forged in (
        _forged(pool, true, sign),
        _forged(pool, {**true, "kid": "mine"}, sign),
        _forged(pool, {**true, "alg": "none"}, lambda text: b""),
        _forged(pool, {**true, "alg": "HS256"}, lambda text: 32 * b"x"),
        _forged(pool, true, lambda text: b""),
        _forged(pool, true, lambda text: 255 * b"\0" + b"\1"),
        f"{good}AAAA",
        f"{good}.{good}",
        pool.token(NUMBER, full=False),
        "",
        20_000 * "[",
    ):
        pool.announce(identity=forged)
        assert not pool.admitted(), forged[:80]
        assert pool.log in map(refusal, UNSIGNED), forged[:80]
    for other in (None, 7, [good], {"a": good}):
        pool.announce(identity=other)
        assert not pool.admitted()
        assert pool.log == refusal("it has no identity token")
    pool.announce(identity=good)
    assert pool.admitted(), "the same token with its true signature"


def test_keys_that_cannot_be_read_admit_nobody(pool: Pool, cloud: FakeCloud) -> None:
    """Keep the agent from reading Google's keys, to be admitted without verification.

    Refused by: the agent, which waits and reports the error.
    Seen in: the agent's log and the status record, with the error of the request.
    """
    cloud.services.faults.plan("* /oauth2/v3/certs", "status", 503, times=1000)
    pool.announce(identity=pool.token(NUMBER))
    with pytest.raises((OSError, RuntimeError), match="503"):
        pool.admitted()
    assert not pool.api.asked
    cloud.release()


@pytest.fixture
def accounts(pool: Pool) -> Accounts:
    """Return the workers with accounts of their own, both running."""
    made = Accounts(pool.cloud)
    made.launch("web-0", WORKER)
    made.launch("web-1", THIEF)
    return made


@pytest.mark.parametrize("folder", ["status", "logs", "join"])
def test_objects_of_another_worker_of_the_pool_cannot_be_written(accounts: Accounts, folder: str) -> None:
    """Overwrite, create or delete the status record, the logs or the announcement of another worker of your pool, with
    `worker_identity: machine`.

    Refused by: Cloud Storage, by the condition of the account's right: names that begin with the worker's own.
    Seen in: the cloud's audit log (Data Access, if switched on), as a refused request of the worker's account.
    """
    key = f"{folder}/{OWN}{WORKER}.json"
    assert accounts.ask("PUT", key, WORKER, b"true") == 200
    assert accounts.ask("PUT", key, THIEF, b"false") == 403
    assert accounts.ask("DELETE", key, THIEF) == 403
    assert accounts.ask("PUT", f"{folder}/{OWN}1.json", THIEF, b"false") == 403
    assert accounts.ask("PUT", f"{folder}/{RECORDS}{WORKER}.json", THIEF, b"false") == 403, "the pool's prefix"
    assert accounts.cloud.objects[f"/bundles/{key}"] == b"true"


def test_objects_of_another_worker_of_the_pool_cannot_be_read(accounts: Accounts) -> None:
    """Read the announcement of another worker of your pool, for the number from which its bootstrap token is derived,
    its status record or its logs.

    Refused by: Cloud Storage, by the condition of the account's right, which allows reading no such object at all.
    Seen in: the cloud's audit log (Data Access, if switched on), as a refused request of the worker's account.
    """
    for folder in ("status", "logs", "join"):
        key = f"{folder}/{OWN}{WORKER}.json"
        accounts.cloud.objects[f"/bundles/{key}"] = b"{}"
        assert [accounts.ask("GET", key, each) for each in (THIEF, WORKER)] == [403, 403], key


def test_tokens_of_a_replaced_machine_admit_nobody(
    accounts: Accounts, pool: Pool, module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Announce the successor of your machine with your machine's tokens, which outlive it by up to an hour, also with
    `worker_identity: machine`: the access token may write what the successor may.

    Refused by: the agent, by the instance id that Google signed.
    Seen in: the agent's log: `the announcement of machine ID for NAME is refused`, because `its claim instance_id has
    another value`.
    """
    monkeypatch.setattr(module("machines").compute, "machines", lambda run, addresses: {"web-0": WORKER})
    before = "4000000000000000001"
    accounts.launch("web-0", before)
    stolen = pool.token(NUMBER, before)
    accounts.launch("web-0", WORKER)
    body = json.dumps({"number": NUMBER, "instance": WORKER, "identity": stolen}).encode()
    key = f"join/{OWN}{WORKER}.json"
    assert accounts.ask("PUT", key, before, body) == 200, "it has the successor's account"
    assert accounts.ask("GET", key, before) == 403
    assert not pool.admitted(OWN)
    assert pool.log == refusal("its claim instance_id has another value", WORKER)
