"""A stolen machine that asks for much fills no record, ends no round, and keeps no other machine out; a kubelet that
ends between two certificates is no stranger."""

import base64
import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from types import ModuleType
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from tests.agent.cluster import Cluster
from tests.agent.kubelets import PATH, SERVING, answer, ask, bootstrapper, node_user, pem, spec
from tests.agent.test_announcements import described
from tests.agent.test_signing import MEMBERS, OLD, OTHER_NAME, seen, used
from tests.cloud_init.cloud import INSTANCE, FakeCloud
from tests.cloud_init.linux import NUMBER, TOKEN

Module = Callable[[str], ModuleType]
CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
RECORD, REFUSED = f"{CONFIG_MAPS}/mullion-machines", f"{CONFIG_MAPS}/mullion-revoked"
FOLDER = "/api/v1/namespaces/kube-system/secrets"
DAY = 86400.0


@pytest.fixture(autouse=True)
def present(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the cloud have a machine of each name."""
    monkeypatch.setattr(module("machines").compute, "machines", lambda *_: {"web-0": INSTANCE, "web-1": OLD})


def enter(cluster: Cluster, **members: dict[str, Any]) -> None:
    """Write the record of machines."""
    cluster.add(CONFIG_MAPS, "mullion-machines", data={name: json.dumps(each) for name, each in members.items()})


def entry(cluster: Cluster, name: str) -> dict[str, Any]:
    """Return a member's entry in the record of machines."""
    return json.loads(cluster.objects[RECORD]["data"][name])


def sign(cluster: Cluster) -> None:
    """Sign approved requests for a day, as kube-controller-manager does."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(timezone.utc)
    for path, one in cluster.objects.items():
        if path.startswith(PATH) and answer(cluster, one["metadata"]["name"]) == "Approved":
            build = x509.CertificateBuilder(OTHER_NAME, OTHER_NAME, key.public_key(), x509.random_serial_number())
            made = build.not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
            text = base64.b64encode(made.public_bytes(Encoding.PEM)).decode()
            one["status"].setdefault("certificate", text)


def answers(cluster: Cluster, begin: str) -> list[str]:
    """Return the sorted conditions of requests whose names begin so."""
    names = [path.rpartition("/")[2] for path in cluster.objects if path.startswith(f"{PATH}/{begin}")]
    return sorted(answer(cluster, name) for name in names)


@pytest.mark.parametrize("who", [node_user("web-0"), bootstrapper()], ids=["renewals", "joins"])
def test_a_flood_of_requests_gets_four_certificates_an_hour_and_no_other_machine_waits(
    module: Module, run: Any, cluster: Cluster, who: dict[str, Any]
) -> None:
    """Each certificate is on record until it ends, so that a replaced machine can write with none of them."""
    for number in range(15):
        ask(cluster, f"flood-{number}", spec(pem(), **who))
    ask(cluster, "other", spec(pem("system:node:web-1"), **bootstrapper("web-1", OLD)))
    for _ in range(3):
        module("signing").reconcile(seen(module, run, cluster))
        sign(cluster)
    assert answers(cluster, "flood") == ["", "", *["Approved"] * 4, *["Denied"] * 9]
    assert answer(cluster, "other") == "Approved"
    module("signing").reconcile(seen(module, run, cluster))
    assert len(entry(cluster, "web-0")["certificates"]) == 4


def test_a_machine_gets_its_next_certificate_once_the_hour_is_over(module: Module, run: Any, cluster: Cluster) -> None:
    """Four in an hour, and the founder's first one, which is valid for a year, delay no renewal a day later."""
    ends = {f"{number}" * 64: time.time() + DAY - 3700 for number in range(4)} | {64 * "f": time.time() + 300 * DAY}
    enter(cluster, **{"web-0": {"instance": INSTANCE, "certificates": ends}})
    ask(cluster, "renewal", spec(pem(), **used(64 * "f")))
    module("signing").reconcile(seen(module, run, cluster))
    assert answer(cluster, "renewal") == "Approved"


def test_one_requesters_flood_is_judged_in_many_rounds(module: Module, run: Any, cluster: Cluster) -> None:
    """A round that judges all of them would last longer than the agent's Lease."""
    for number in range(50):
        ask(cluster, f"flood-{number}", spec("x", **node_user("web-0")))
    module("signing").reconcile(seen(module, run, cluster))
    assert answers(cluster, "flood").count("Denied") == module("signing").AT_ONCE


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("a" * 64, spec(pem(), **node_user("web-0"))),
        ("large", spec(pem(extra=x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3"), b"x" * 20000)))),
        ("names", spec(pem(names=[f"{n}.{'a' * 60}.example" for n in range(90)]), SERVING, **node_user("web-0"))),
    ],
    ids=["its name", "its size", "its server names"],
)
def test_a_request_that_is_too_long_is_denied_with_a_short_reason(
    module: Module, run: Any, cluster: Cluster, name: str, asked: dict[str, Any]
) -> None:
    ask(cluster, name, asked)
    module("signing").reconcile(seen(module, run, cluster))
    (condition,) = cluster.objects[f"{PATH}/{name}"]["status"]["conditions"]
    assert condition["type"] == "Denied"
    assert len(condition["message"]) <= 500


def test_a_denial_names_five_foreign_names_and_counts_the_others(module: Module) -> None:
    names = [f"{number}.example" for number in range(9)]
    asked, known = spec(pem(names=names), SERVING, **node_user("web-0")), module("signing").Known(INSTANCE)
    reason = module("signing").decide(asked, MEMBERS, known, 0.0).reason
    assert reason.count(".example") == 5
    assert "and 4 more" in reason


def test_a_request_larger_than_any_kubelets_is_not_parsed(module: Module) -> None:
    with pytest.raises(module("requests").Malformed, match="more than 16384"):
        module("requests").parsed(pem() + " " * 16384)


def test_ended_certificates_are_forgotten_and_a_broken_entry_stops_no_other(
    module: Module, run: Any, cluster: Cluster
) -> None:
    held = {64 * "a": time.time() - 1, 64 * "b": time.time() + DAY}
    enter(cluster, **{"web-0": {"asked": 1}, "web-1": {"instance": OLD, "certificates": held, "before": held}})
    ask(cluster, "other", spec(pem("system:node:web-1"), **bootstrapper("web-1", OLD)))
    with pytest.raises(RuntimeError, match="mullion-machines: web-0"):
        module("signing").reconcile(seen(module, run, cluster))
    assert entry(cluster, "web-1")["certificates"] == entry(cluster, "web-1")["before"] == {64 * "b": held[64 * "b"]}
    assert answer(cluster, "other") == "Approved"


def test_one_names_many_certificates_keep_no_other_machine_off_the_list(
    module: Module, run: Any, cluster: Cluster
) -> None:
    """The revoked machine is on the list, and the certificates of each name in turn."""
    flood = {f"{number:064x}": time.time() + DAY for number in range(20000)}
    revoked = {"instance": INSTANCE, "revoked": True, "before": {64 * "b": time.time() + DAY}}
    enter(cluster, **{"web-1": {"instance": OLD, "before": flood}, "web-0": revoked})
    module("revocations").reconcile(seen(module, run, cluster))
    data = cluster.objects[REFUSED]["data"]
    assert {"system.node.web-0", f"X509SHA256.{64 * 'b'}"} <= set(data)
    assert len(json.dumps(data)) < 2**20


def test_a_list_that_the_api_refuses_still_has_the_revoked_machines(
    module: Module, run: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, node = cluster.call, "/api/v1/nodes/web-0"

    def refuse(method: str, path: str, body: Any = None, *more: Any) -> Any:
        if method != "GET" and any(key.startswith("X509") for key in (body or {}).get("data") or ()):
            raise module("api").Refused(413, "too large")
        return call(method, path, body, *more)

    monkeypatch.setattr(cluster, "call", refuse)
    cluster.node("web-0")
    enter(cluster, **{"web-0": {"instance": INSTANCE, "revoked": True, "before": {64 * "b": time.time() + DAY}}})
    with pytest.raises(RuntimeError, match="too large"):
        module("revocations").reconcile(seen(module, run, cluster))
    assert set(cluster.objects[REFUSED]["data"]) == {"system.node.web-0"}
    assert cluster.find(node) is None


@pytest.mark.parametrize("wrong", ["size", "status"])
def test_one_machines_bad_announcement_keeps_no_other_machine_out(
    module: Module, run: Any, cluster: Cluster, cloud: FakeCloud, wrong: str
) -> None:
    cloud.secrets["join"] = TOKEN
    place = "/bundles/join/AROAEXAMPLE:"
    cloud.objects[f"{place}{INSTANCE}.json"] = json.dumps({"number": NUMBER, "instance": INSTANCE}).encode()
    bad = json.dumps({"number": NUMBER, "instance": OLD, "more": "x" * (100000 if wrong == "size" else 0)})
    cloud.objects[f"{place}{OLD}.json"] = bad.encode()
    if wrong == "status":
        cloud.services.faults.plan(f"* {place}{OLD}.json", "status", 400, times=9)
    members = {name: each | {"records": "AROAEXAMPLE:"} for name, each in MEMBERS.items()}
    with pytest.raises(RuntimeError, match=r"web-1: .*(bytes|400)"):
        module("announcements").reconcile(seen(module, run, cluster, members=members))
    assert described(cluster) == f"web-0 {INSTANCE}"


def test_a_document_larger_than_its_limit_is_not_read_whole(loader: ModuleType, run: Any, cloud: FakeCloud) -> None:
    cloud.objects["/bundles/large"] = b"x" * 1001
    url = f"{run.value('facts.bundle_store')}/large"
    assert len(run.ask("store", url, most=1001)) == 1001
    with pytest.raises(loader.Oversized, match="more than 1000 bytes"):
        run.ask("store", url, most=1000)


def test_a_request_is_of_the_machine_whose_token_made_it_although_the_id_has_another_token_now(
    module: Module, run: Any, cluster: Cluster
) -> None:
    """A machine can choose a number whose token has the id of another's; the request of that token may wait."""
    ask(cluster, "waited", spec(pem(), **bootstrapper("web-1", OLD)))
    described_as = {"stringData": {"description": f"web-0 {INSTANCE}"}}
    cluster.add(FOLDER, "bootstrap-token-abcdef", **described_as)
    module("signing").reconcile(seen(module, run, cluster))
    assert answer(cluster, "waited") == "Denied"


def test_a_kubelet_that_ends_before_it_stores_its_first_renewed_certificate_goes_on_with_the_one_before(
    module: Module, run: Any, cluster: Cluster
) -> None:
    """The founder's first certificate is kubeadm's. Its kubelet renews it at once, and kubeadm restarts it then."""
    of_kubeadm = "c" * 64
    ask(cluster, "renewal", spec(pem(), **used(of_kubeadm)))
    module("signing").reconcile(seen(module, run, cluster))
    sign(cluster)
    module("signing").reconcile(seen(module, run, cluster))
    assert len(entry(cluster, "web-0")["certificates"]) == 2
    names = ["web-0", "10.20.1.4"]
    ask(cluster, "after", spec(pem(names=names), SERVING, **used(of_kubeadm)))
    ask(cluster, "strange", spec(pem(names=names), SERVING, **used("d" * 64)))
    module("signing").reconcile(seen(module, run, cluster))
    assert (answer(cluster, "after"), answer(cluster, "strange")) == ("Approved", "Denied")
