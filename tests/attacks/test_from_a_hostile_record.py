"""From a hostile record: a compromised machine or pod that writes what operators read."""

import asyncio
import base64
import io
import json
import re
import zipfile
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from components.rollout.gates import PASSING_STATES
from components.rollout.provider_calls import status_record
from components.spec.choices import Gate
from operations.commands.logs import _archive
from operations.commands.wait import ExpectedMachine, judge, table_of
from operations.console.exits import Exit, Stop, ending
from operations.verification.interface import _judged, _summary
from operations.verification.run import answers
from operations.verification.upgrading import machines
from operations.verification.verdicts import Row, Verdict, as_junit
from tests.cloud_init.test_redaction import redacted

INSTANCE = "i-1"
MACHINE = ExpectedMachine("web-0", INSTANCE, PASSING_STATES[Gate.READY], "1.36.4", control_plane=False)
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\nweb-0: ready\u202e\u2066\u200b\u2028"
"""Escapes of terminals in 7 and 8 bits, line breaks, and marks of direction."""


def record(text: str) -> dict[str, Any]:
    """Return the record as `up` and `mullion wait` read it."""

    async def read() -> str:
        return text

    return asyncio.run(status_record(read(), INSTANCE))


def test_a_pods_answer_leaves_the_junit_report_readable() -> None:
    """Answer a check of `verify` with escapes and characters that no XML document may contain.

    Refused by: the writer of the report, which keeps printable characters.
    """
    row = Row("metadata", "web-0", f"pod {HOSTILE}", Verdict.FAILED, f"it says {HOSTILE}\x00")
    case = ElementTree.fromstring(as_junit("aws-dev", [row])).find("testcase")
    assert case is not None
    assert case.attrib["name"].isprintable()
    assert case.find("failure").attrib["message"].isprintable()  # type: ignore[union-attr]


def test_a_record_cannot_control_the_terminal() -> None:
    """Write escapes, line breaks and marks of direction into each field of a status record.

    Refused by: the reader of records, which keeps printable characters.
    """
    names = ("state", "message", "phase", "step", "code", "name", "kubernetes")
    report = judge(MACHINE, record(json.dumps({"instance": INSTANCE, **dict.fromkeys(names, HOSTILE)})), None)
    for line in (report.problem, *table_of([report]).splitlines()):
        assert line.isprintable()


def test_a_record_cannot_flood_the_operator() -> None:
    """Write a message of a million characters, and a number with as many digits.

    Refused by: the reader of records, which cuts them.
    """
    found = record(json.dumps({"instance": INSTANCE, "state": "failed", "message": 10**6 * "x", "code": 10**3000}))
    assert len(judge(MACHINE, found, None).problem) < 3000


def test_a_record_that_says_absent_does_not_stop_the_program() -> None:
    """Write the state that Mullion itself gives to missing records, without its message.

    Refused by: the reader of records.
    """
    assert record(json.dumps({"instance": INSTANCE, "state": "absent"}))["message"] == "it is not a status record"


@pytest.mark.parametrize("text", ["[]", "7", '"ready"', "null", "{", "", '{"state": ["ready"]}', '{"state": {"a": 1}}'])
def test_a_record_of_another_form_is_absent(text: str) -> None:
    """Write JSON of another form where a record is expected.

    Refused by: the reader of records.
    """
    assert record(text)["state"] == "absent"


def test_a_record_of_deeply_nested_json_does_not_end_the_run() -> None:
    """Write JSON that is nested so deep that the reader fails, where `up` waits for a record.

    Refused by: the reader of records.
    """
    assert record(60_000 * "[")["message"].startswith("it is no JSON")


def test_a_record_that_is_too_large_is_absent() -> None:
    """Write a true record with megabytes behind it, so that each look of `up` and `mullion wait` reads them.

    Refused by: the reader of records, from 64 KiB on.
    """
    ready = {"instance": INSTANCE, "state": "ready"}
    assert record(json.dumps({**ready, "more": 60_000 * "x"}))["state"] == "ready"
    assert record(json.dumps({**ready, "more": 70_000 * "x"}))["message"] == "it is larger than 65536 bytes"


def test_a_record_of_another_instance_is_absent() -> None:
    """Copy the record of a ready machine to the name of another.

    Refused by: the reader of records, by the instance.
    """
    assert record(json.dumps({"instance": "i-2", "state": "ready"}))["message"] == "it is of another instance"


def test_a_pods_log_cannot_control_the_terminal_or_stop_verify() -> None:
    """Print escapes, foreign digits and endless numbers as answers to `mullion verify`.

    Refused by: the reader of answers.
    """
    found = answers(f"1 ok {HOSTILE.splitlines()[0]}\n\u00b2 ok x\n{5000 * '9'} ok x\n2 no {10**6 * 'y'}\n")
    assert set(found) == {1, 2}
    assert found[1][1].isprintable()
    assert len(found[2][1]) < 3000


@pytest.mark.parametrize(
    "archive",
    [base64.b64encode(b"no zip").decode(), "\u00fc", "====", 7, None, ["a"], "A" * 5],
    ids=["no-zip", "letters", "padding", "number", "none", "list", "cut-off"],
)
def test_an_answer_without_a_zip_is_refused(archive: Any) -> None:
    """Answer a request for logs with something else than a zip archive.

    Refused by: `mullion logs`.
    """
    with pytest.raises(Stop, match="web-0 answered with"):
        _archive("web-0", {"id": "x", "archive": archive})


def test_an_archive_is_never_unpacked() -> None:
    """Answer with a zip whose members leave the folder, or unpack to gigabytes.

    Refused by: `mullion logs`, which writes it as it is.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("../../../etc/cron.d/owned", "x")
        packed.writestr("bomb", 10**7 * "0")
    content = base64.b64encode(buffer.getvalue()).decode()
    assert _archive("web-0", {"id": "x", "archive": content}) == buffer.getvalue()


PLANTED = "hunter2hunter2"


@pytest.mark.parametrize(
    "line",
    [
        f"AWS_SECRET_ACCESS_KEY={PLANTED}",
        f"DB_PASSWORD={PLANTED}",
        f"SECRET={PLANTED}",
        f"app --password {PLANTED} --port 3",
        f"https://a.blob.core.windows.net/c?sv=1&sig={PLANTED}&se=2",
        f"https://storage.googleapis.com/b?X-Goog-Signature={PLANTED}",
        f"AccountName=a;AccountKey={PLANTED};EndpointSuffix=x",
        f'{{"apiKey": "{PLANTED}"}}',
        f'{{"name":"API_TOKEN","value":"{PLANTED}"}}',
        f'"{{\\"password\\":\\"{PLANTED}\\"}}"',
        f"url\\u0026sig={PLANTED}",
        f"redis://:{PLANTED}@cache:6379",
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{PLANTED}\n-----END PGP PRIVATE KEY BLOCK-----",
        f"Authorization: SharedKey account:{PLANTED}",
    ],
)
def test_secrets_of_programs_do_not_leave_the_machine(line: str) -> None:
    """Read the passwords of programs in an archive of logs that was shared.

    Refused by: redaction on the machine.
    """
    assert PLANTED not in redacted(line)


@pytest.mark.parametrize("version", ["v1.x", "x", "v1.37", f"v{5000 * '9'}.0.0", f"v1.2.3{HOSTILE}", "v²ndˢ.1.1"])
def test_an_unreadable_version_of_a_kubelet_is_a_finding(version: str) -> None:
    """Report a version of your kubelet that is none, so that `mullion upgrade` fails without naming the Node.

    Refused by: `mullion upgrade --check`, which reports the Node and its version.
    """
    node = {"metadata": {"name": "web-0"}, "status": {"nodeInfo": {"kubeletVersion": version}}}
    (found,) = machines._kubelet(node, "1.37.1")
    assert found.stops and found.subject == "Node web-0"
    assert "replace the machine" in found.fix
    assert len(found.says) < 200
    assert HOSTILE not in found.says


@pytest.mark.parametrize(
    "summary",
    [
        [],
        "x",
        {"node": [], "pods": []},
        {"node": {"memory": [], "cpu": "x"}, "pods": []},
        {"node": {"memory": {"workingSetBytes": "1"}, "cpu": {"usageCoreNanoSeconds": [7]}}, "pods": []},
        {"node": {"memory": {"workingSetBytes": 1.5}, "cpu": {"usageCoreNanoSeconds": 7}}, "pods": []},
        {"node": {"memory": {"workingSetBytes": 10**5000}, "cpu": {"usageCoreNanoSeconds": 7}}, "pods": []},
        {"node": {"memory": {"workingSetBytes": 1}, "cpu": {"usageCoreNanoSeconds": 7}}, "pods": 3},
    ],
    ids=lambda each: f"{type(each).__name__}",
)
def test_a_summary_of_another_form_fails_its_own_check_alone(summary: Any) -> None:
    """Answer the question for a kubelet's summary with JSON of another form, so that `verify` ends.

    Refused by: the check, which fails, and the run goes on.
    """
    cluster: Any = SimpleNamespace(get=lambda path: summary)
    node: Any = SimpleNamespace(name="web-0", os="linux", ready=True)
    row = _judged("linux node web-0", "stats/summary", "linux", lambda: _summary(cluster, node))
    assert row.verdict is Verdict.FAILED


def test_a_refusal_of_an_api_server_cannot_control_the_terminal() -> None:
    """Let the API of a cluster of yours, which somebody checks with `mullion join --check`, answer with escapes.

    Refused by: the command, which prints its last message without them.
    """
    code, message = ending(Stop(Exit.FAILED, f"the API at https://x failed: {HOSTILE}"))
    assert code is Exit.FAILED
    assert not re.search(r"[^\x20-\x7e\n]", message)
    assert "web-0: ready" in message
