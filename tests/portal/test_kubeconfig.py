"""Kubeconfigs of persons: who gets which, and that no private key reaches the portal."""

import hashlib
import json
import ssl
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from django.core.management import call_command

from components.machine import pki
from operations.commands import person_kubeconfig
from tests.portal.conftest import PASSWORD
from tests.portal.test_api import Api, approver, made
from tests.portal.test_changes import SignIn, built
from tests.portal.test_jobs import job, work
from tests.portal.test_pages import ask, cluster

AUTHORITY = pki.certificate_authority("kubernetes")
KEY = pki.person_key()
URL = "https://api.red-one.mullion.internal:6443"


def answer_inquiries() -> None:
    """Run the inquiries of the queue."""
    words = {"queue_name": "inquiries,reports", "batch": True, "interval": 0, "startup_delay": False}
    call_command("db_worker", **words, reload=False, verbosity=0)


def inquiry():
    from portal.models import Inquiry

    found = Inquiry.objects.first()
    assert found
    return found


@pytest.fixture
def issuing(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Let `mullion kubeconfig` issue with an authority of this test in place of the state's; return its words."""
    from portal import processes

    seen: list[list[str]] = []

    def run(words: list[str], _seen: Any, output: Path) -> int:
        seen.append(words)
        options = {words[at]: words[at + 1] for at in range(2, len(words), 2)}
        groups = [words[at + 1] for at in range(2, len(words), 2) if words[at] == "--group"]
        who = person_kubeconfig.person(
            options["--user"], options["--role"], groups, int(options["--hours"]), Path(options["--public-key"])
        )
        administrator = pki.administrator_kubeconfig(
            "red-one", URL, "api", AUTHORITY["certificate"], pki.administrator_certificate(AUTHORITY, "red-one")
        )
        output.write_text(person_kubeconfig.issued(words[1], administrator, AUTHORITY, who))
        return 0

    monkeypatch.setattr(processes, "run", run)
    return seen


def subject(certificate: str) -> tuple[str, set[str]]:
    """Return user and groups as the API server reads them (Kubernetes, Authenticating, X.509 client certificates)."""
    found = x509.load_pem_x509_certificate(certificate.encode()).subject
    [user] = found.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(user.value), {str(each.value) for each in found.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)}


@pytest.mark.parametrize(
    ("name", "role", "groups"),
    [
        ("alice", "view", {"mullion:role:view", "mullion:team:red"}),
        ("carol", "cluster-admin", {"mullion:role:cluster-admin", "mullion:team:red"}),
        ("pat", "cluster-admin", {"mullion:role:cluster-admin", "mullion:platform"}),
    ],
)
def test_each_person_gets_a_certificate_of_the_role_that_the_template_chooses(
    name: str, role: str, groups: set[str], sign_in: SignIn, issuing: list[list[str]]
) -> None:
    from portal.models import User

    User.objects.create_user("carol", password=PASSWORD)
    approver("carol")
    built(sign_in("alice"))
    client = sign_in(name)
    page = client.get("/clusters/red-one/").content.decode()
    assert "Get a kubeconfig" in page
    assert ("makes you its administrator" in page) is (role != "view")
    asked = client.post("/clusters/red-one/kubeconfig/", {"public_key": KEY["public"]})
    assert asked.status_code == 202
    answer_inquiries()
    found = client.get(f"/clusters/red-one/inquiries/{asked.json()['id']}/").json()
    parts = found["kubeconfig"]
    assert (found["state"], parts["role"], parts["server"]) == ("done", role, URL), found["said"]
    assert subject(parts["certificate"]) == (f"mullion:{name}", groups)
    certificate = x509.load_pem_x509_certificate(parts["certificate"].encode())
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert certificate.not_valid_after_utc - datetime.now(timezone.utc) <= timedelta(hours=4)
    pki.verify(parts["certificate"], AUTHORITY["certificate"])


def test_another_person_and_another_team_get_nothing_of_it(sign_in: SignIn, issuing: list[list[str]]) -> None:
    from portal.models import Team, User

    Team.objects.get(name="blue").members.add(User.objects.get(username="pat"))
    built(sign_in("alice"))
    number = Api(made("alice")).call("POST", "/clusters/red-one/kubeconfig", {"public_key": KEY["public"]})[1]["id"]
    answer_inquiries()
    place = f"/clusters/red-one/inquiries/{number}"
    assert sign_in("alice").get(f"{place}/").status_code == 200
    assert Api(made("alice")).call("GET", place)[0] == 200
    for name in ("bob", "pat"):
        assert sign_in(name).get(f"{place}/").status_code == 404
    for api in (Api(made("bob", "blue")), Api(made("pat", "blue"))):
        assert api.call("GET", place)[0] == 404
        assert api.call("POST", "/clusters/red-one/kubeconfig", {"public_key": KEY["public"]})[0] == 404
    assert sign_in("bob").post("/clusters/red-one/kubeconfig/", {"public_key": KEY["public"]}).status_code == 404
    assert len(issuing) == 1


@pytest.mark.parametrize(
    ("public", "values", "said"),
    [
        ("", {}, "no public key in PEM"),
        (KEY["private"], {}, "has a private key, which must not leave your computer"),
        (KEY["public"] + KEY["private"], {}, "has a private key"),
        (f"{KEY['private']}\n{KEY['public']}", {}, "has a private key"),
        (pki.signing_key()["public"], {}, "no EC key on the curve P-256"),
        (KEY["public"], {"state": "removing"}, "is not built"),
        (KEY["public"], {"built_at": None}, "is not built"),
    ],
)
def test_a_kubeconfig_is_refused_without_a_key_or_a_cluster(
    public: str, values: dict[str, Any], said: str, sign_in: SignIn, issuing: list[list[str]]
) -> None:
    from portal.models import Cluster, Inquiry

    client = sign_in("alice")
    built(client)
    Cluster.objects.update(**values)
    answer = client.post("/clusters/red-one/kubeconfig/", {"public_key": public})
    assert (answer.status_code, said in answer.json()["detail"]) == (409, True), answer.json()
    assert not Inquiry.objects.exists()


@pytest.mark.parametrize("around", ["{}\0", "of alice\n{}", "{}\nof alice\0", "\r\n{}\r\n"])
def test_only_the_key_itself_is_stored_and_hashed(around: str, sign_in: SignIn, issuing: list[list[str]]) -> None:
    from portal.models import Event

    client = sign_in("alice")
    built(client)
    answer = client.post("/clusters/red-one/kubeconfig/", {"public_key": around.format(KEY["public"])})
    assert answer.status_code == 202, answer.content
    answer_inquiries()
    assert (inquiry().state, inquiry().wish["public_key"]) == ("done", KEY["public"])
    digest = hashlib.sha256(KEY["public"].encode()).hexdigest()
    assert Event.objects.get(action="kubeconfig.ask").detail["key"] == digest


def test_a_template_without_rights_gives_nobody_a_kubeconfig(sign_in: SignIn) -> None:
    from portal.models import Version

    for each in Version.objects.all():
        del each.document["kubeconfig"]
        each.save()
    client = sign_in("alice")
    built(client)
    assert "Get a kubeconfig" not in client.get("/clusters/red-one/").content.decode()
    answer = client.post("/clusters/red-one/kubeconfig/", {"public_key": KEY["public"]})
    assert (answer.status_code, "gives nobody a kubeconfig" in answer.json()["detail"]) == (409, True)


def test_the_trail_names_person_role_key_and_the_certificate_as_the_api_server_logs_it(
    sign_in: SignIn, issuing: list[list[str]]
) -> None:
    from portal.models import Event

    built(sign_in("alice"))
    Api(made("alice")).call("POST", "/clusters/red-one/kubeconfig", {"public_key": KEY["public"]})
    answer_inquiries()
    asked, done = Event.objects.get(action="kubeconfig.ask"), Event.objects.get(action="kubeconfig.done")
    assert (asked.actor, asked.team, asked.detail["role"]) == ("alice (token ci)", "red", "view")
    assert asked.detail["key"] == hashlib.sha256(KEY["public"].encode()).hexdigest()
    der = ssl.PEM_cert_to_DER_cert(inquiry().answer["certificate"])
    assert done.detail["credential"] == f"X509SHA256={hashlib.sha256(der).hexdigest()}"


def test_a_person_waits_for_the_answer_before_asking_again(sign_in: SignIn, issuing: list[list[str]]) -> None:
    client = sign_in("alice")
    built(client)
    answers = [client.post("/clusters/red-one/kubeconfig/", {"public_key": KEY["public"]}) for _ in range(2)]
    assert [each.status_code for each in answers] == [202, 409]
    assert sign_in("pat").post("/clusters/red-one/kubeconfig/", {"public_key": KEY["public"]}).status_code == 202


def test_an_inquiry_whose_worker_was_killed_fails_and_old_answers_are_deleted(
    sign_in: SignIn, issuing: list[list[str]]
) -> None:
    from portal import inquiries
    from portal.models import Inquiry

    client = sign_in("alice")
    built(client)
    number = client.post("/clusters/red-one/kubeconfig/", {"public_key": KEY["public"]}).json()["id"]
    now = datetime.now(timezone.utc)
    Inquiry.objects.update(state="running", beat=now)
    inquiries.tidy()
    assert inquiry().state == "running"
    Inquiry.objects.update(beat=now - timedelta(minutes=1))
    inquiries.tidy()
    assert (inquiry().state, inquiry().said) == ("failed", "Its worker was stopped. Ask again.")
    Inquiry.objects.update(state="waiting", asked_at=now - timedelta(minutes=11), ended_at=None)
    inquiries.tidy()
    assert "No worker took it" in inquiry().said
    Inquiry.objects.update(ended_at=now - timedelta(days=2))
    assert client.get(f"/clusters/red-one/inquiries/{number}/").status_code == 404
    inquiries.tidy()
    assert not Inquiry.objects.exists()


def test_a_version_that_an_older_portal_wrote_without_the_new_key_stays_the_newest(data: Path, tmp_path: Path) -> None:
    from portal import catalogue_files
    from portal.models import Version

    shipped = (catalogue_files.SHIPPED / "windows-ha.yaml").read_text("utf-8")
    (tmp_path / "old.yaml").write_text("".join(line for line in shipped.splitlines(True) if "kubeconfig" not in line))
    [version] = catalogue_files.load(tmp_path, "test")
    del version.document["kubeconfig"]
    Version.objects.filter(pk=version.pk).update(document=version.document)
    assert catalogue_files.load(tmp_path, "test") == []


def test_a_kubeconfig_with_a_key_never_becomes_an_answer() -> None:
    from portal.kubeconfigs import public_parts

    pair = pki.administrator_certificate(AUTHORITY, "red-one")
    text = pki.administrator_kubeconfig("red-one", URL, "api", AUTHORITY["certificate"], pair)
    with pytest.raises(ValueError, match="more than a certificate"):
        public_parts(text)


@pytest.mark.engine
def test_a_worker_asks_the_state_of_a_built_cluster_and_says_what_no_booted_machine_answers(
    sign_in: SignIn, data: Path
) -> None:
    from portal import folders

    client = sign_in("alice")
    ask(client)
    work()
    assert cluster().state == "ready", job().lines
    client.post("/clusters/red-one/kubeconfig/", {"public_key": KEY["public"]})
    answer_inquiries()
    found = inquiry()
    assert found.state == "done", found.said
    assert "nothing answers at its server yet" in found.said
    stored = yaml.safe_load((folders.clone() / ".mullion" / "red-one" / "kubeconfig").read_text("utf-8"))
    assert found.answer["server"] == stored["clusters"][0]["cluster"]["server"]
    assert subject(found.answer["certificate"])[0] == "mullion:alice"
    pki.verify(found.answer["certificate"], found.answer["certificate_authority"])
    assert json.dumps(found.answer).count("PRIVATE KEY") == 0
    for form in ({"kind": "verify"}, {"kind": "logs", "machine": "windows-0"}):
        client.post(f"/clusters/red-one/{form.pop('kind')}/", form)
        answer_inquiries()
        assert (inquiry().state, "is not booted" in inquiry().said) == ("failed", True), inquiry().said
    page = client.get("/clusters/red-one/").content.decode()
    assert "Nothing was tested: neither nodes nor pods, Services, DNS or traffic." in page
    client.post("/clusters/red-one/remove/", {"confirm": "red-one"})
    work()
    assert cluster().state == "removed", job().lines
