"""The rows about gMSA: what each answer of the API server means, by dry runs alone."""

from typing import Any

import pytest

from components.rollout.kubernetes_api import Refused
from operations.verification import cluster, identities
from operations.verification.cluster import Cluster
from operations.verification.verdicts import Verdict

CONTENTS = {"web": '{"a":1}', "shop": '{"b":2}'}
DENIED = "pods is forbidden: ValidatingAdmissionPolicy 'mullion-gmsa' with binding 'mullion-gmsa' denied request"


ACCOUNT = "/api/v1/namespaces/verify/serviceaccounts/default"


class Judging:
    """Answers each creation like an API server: by contents, then by the right."""

    def __init__(self, status: int = 403, says: str = DENIED, keeps: bool = False) -> None:
        self.status, self.says, self.keeps, self.asked = status, says, keeps, list[tuple[str, str]]()
        self.early = 0

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        self.asked.append((method, path))
        if method == "GET":
            self.early -= 1
            if self.early >= 0:
                raise Refused(404, 'serviceaccounts "default" not found')
            return {}
        options = body["spec"]["securityContext"]["windowsOptions"]
        if options["gmsaCredentialSpec"] != CONTENTS[options["gmsaCredentialSpecName"]]:
            raise Refused(422, self.says)
        if not self.keeps:
            raise Refused(self.status, self.says)
        return body


def rows(api: Judging, contents: dict[str, str]) -> list[tuple[str, Verdict]]:
    made = identities.rows(Cluster(api, "verify"), contents)  # type: ignore[arg-type]
    return [(row.what, row.verdict) for row in made]


def test_refusals_of_the_policy_pass_and_nothing_is_kept() -> None:
    api = Judging()
    assert rows(api, CONTENTS) == [
        ("gMSA shop without the right", Verdict.PASSED),
        ("gMSA web without the right", Verdict.PASSED),
        ("gMSA shop with other contents", Verdict.PASSED),
    ]
    assert api.asked[0] == ("GET", ACCOUNT)
    assert set(api.asked[1:]) == {("POST", "/api/v1/namespaces/verify/pods?dryRun=All")}


def test_the_account_of_a_new_namespace_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "POLL_SECONDS", 0.01)
    api = Judging()
    api.early = 2
    assert {verdict for _, verdict in rows(api, CONTENTS)} == {Verdict.PASSED}
    assert [path for _, path in api.asked[:4]].count(ACCOUNT) == 3


@pytest.mark.parametrize(
    "api",
    [
        Judging(keeps=True),
        Judging(status=422),
        Judging(says="exceeded quota"),
        Judging(says='pods "gmsa" is forbidden'),
    ],
    ids=["kept", "status", "other", "name"],
)
def test_an_accepted_pod_and_a_refusal_for_another_reason_fail(api: Judging) -> None:
    assert rows(api, {"web": CONTENTS["web"]})[0] == ("gMSA web without the right", Verdict.FAILED)


def test_without_credential_specs_the_check_is_not_covered() -> None:
    assert rows(Judging(), {}) == [("gMSA", Verdict.NOT_COVERED)]
