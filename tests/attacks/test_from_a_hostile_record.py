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

from components.rollout.provider_calls import status_record
from components.rollout.workers import PASSING_STATES
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
    Seen in: the report, with the rest of the answer.
    """
    row = Row("metadata", "web-0", f"pod {HOSTILE}", Verdict.FAILED, f"it says {HOSTILE}\x00")
    case = ElementTree.fromstring(as_junit("aws-dev", [row])).find("testcase")
    assert case is not None
    assert case.attrib["name"].isprintable()
    message = case.find("failure").attrib["message"]  # type: ignore[union-attr]
    assert message.isprintable() and "it says" in message and "web-0: ready" in message


def test_a_record_cannot_control_the_terminal() -> None:
    """Write escapes, line breaks and marks of direction into each field of a status record.

    Refused by: the reader of records, which keeps printable characters.
    Seen in: the report of `mullion wait`, with the rest of each field.
    """
    names = ("state", "message", "phase", "step", "code", "name", "kubernetes")
    report = judge(MACHINE, record(json.dumps({"instance": INSTANCE, **dict.fromkeys(names, HOSTILE)})), None)
    table = table_of([report])
    for line in (report.problem, *table.splitlines()):
        assert line.isprintable()
    assert "owned" in table and "web-0: ready" in table


def test_a_record_cannot_flood_the_operator() -> None:
    """Write a message of 60000 characters, and a number of 3000 digits.

    Refused by: the reader of records, which cuts them.
    Seen in: the report of `mullion wait`, with the first 2000 characters.
    """
    found = record(json.dumps({"instance": INSTANCE, "state": "failed", "message": 60_000 * "x", "code": 10**3000}))
    problem = judge(MACHINE, found, None).problem
    assert len(problem) < 3000 and 2000 * "x" in problem


def test_a_record_that_says_absent_does_not_stop_the_program() -> None:
    """Write the state that Mullion itself gives to missing records, without its message.

    Refused by: the reader of records.
    Seen in: the report of `mullion wait`: `absent, it is not a status record`.
    """
    assert record(json.dumps({"instance": INSTANCE, "state": "absent"}))["message"] == "it is not a status record"


@pytest.mark.parametrize("text", ["[]", "7", '"ready"', "null", "{", "", '{"state": ["ready"]}', '{"state": {"a": 1}}'])
def test_a_record_of_another_form_is_absent(text: str) -> None:
    """Write JSON of another form where a record is expected.

    Refused by: the reader of records.
    Seen in: the report of `mullion wait`: `absent`, and `it is no JSON` or `it is not a status record`.
    """
    found = record(text)
    assert found["state"] == "absent"
    assert judge(MACHINE, found, None).problem.startswith(
        ("absent, it is no JSON", "absent, it is not a status record")
    )


def test_a_record_of_deeply_nested_json_does_not_end_the_run() -> None:
    """Write JSON that is nested so deep that the reader fails, where `up` waits for a record.

    Refused by: the reader of records.
    Seen in: the report of `mullion wait`: `absent, it is no JSON`.
    """
    assert record(60_000 * "[")["message"].startswith("it is no JSON")


def test_a_record_that_is_too_large_is_absent() -> None:
    """Write a true record with megabytes behind it, so that each look of `up` and `mullion wait` reads them.

    Refused by: the reader of records, from 64 KiB on.
    Seen in: the report of `mullion wait`: `absent, it is larger than 65536 bytes`.
    """
    ready = {"instance": INSTANCE, "state": "ready"}
    assert record(json.dumps({**ready, "more": 60_000 * "x"}))["state"] == "ready"
    assert record(json.dumps({**ready, "more": 70_000 * "x"}))["message"] == "it is larger than 65536 bytes"


def test_a_record_of_another_instance_is_absent() -> None:
    """Copy the record of a ready machine to the name of another.

    Refused by: the reader of records, by the instance.
    Seen in: the report of `mullion wait`: `absent, it is of another instance`.
    """
    assert record(json.dumps({"instance": "i-2", "state": "ready"}))["message"] == "it is of another instance"


def test_a_pods_log_cannot_control_the_terminal_or_stop_verify() -> None:
    """Print escapes, foreign digits and endless numbers as answers to `mullion verify`.

    Refused by: the reader of answers.
    Seen in: the report of `mullion verify`, with the rest of each answer.
    """
    found = answers(f"1 ok {HOSTILE.splitlines()[0]}\n\u00b2 ok x\n{5000 * '9'} ok x\n2 no {10**6 * 'y'}\n")
    assert set(found) == {1, 2}
    assert found[1][1].isprintable() and "owned" in found[1][1]
    assert len(found[2][1]) < 3000


@pytest.mark.parametrize(
    "archive",
    [base64.b64encode(b"no zip").decode(), "\u00fc", "====", 7, None, ["a"], "A" * 5],
    ids=["no-zip", "letters", "padding", "number", "none", "list", "cut-off"],
)
def test_an_answer_without_a_zip_is_refused(archive: Any) -> None:
    """Answer a request for logs with something else than a zip archive.

    Refused by: `mullion logs`.
    Seen in: the standard error of `mullion logs`: `NAME answered with`, and what it is.
    """
    with pytest.raises(Stop, match="web-0 answered with"):
        _archive("web-0", {"id": "x", "archive": archive})


def test_an_archive_is_never_unpacked() -> None:
    """Answer with a zip whose members leave the folder, or unpack to gigabytes.

    Refused by: `mullion logs`, which writes it as it is.
    Seen in: the archive, with the members as the machine sent them.
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
    Seen in: the archive, as `[secret]`.
    """
    said = redacted(line)
    assert PLANTED not in said and "[secret]" in said


@pytest.mark.parametrize("version", ["v1.x", "x", "v1.37", f"v{5000 * '9'}.0.0", f"v1.2.3{HOSTILE}", "v²ndˢ.1.1"])
def test_an_unreadable_version_of_a_kubelet_is_a_finding(version: str) -> None:
    """Report a version of your kubelet that is none, so that `mullion upgrade` fails without naming the Node.

    Refused by: `mullion upgrade --check`, which reports the Node and its version.
    Seen in: the report of `mullion upgrade --check`.
    """
    node = {"metadata": {"name": "web-0"}, "status": {"nodeInfo": {"kubeletVersion": version}}}
    (found,) = machines._kubelet(node, "1.37.1")
    assert found.stops and found.subject == "Node web-0"
    assert "replace the machine" in found.fix and found.says.startswith("its kubelet reports the version")
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
    Seen in: the report of `mullion verify`, as a failed check of the node with what it answered.
    """
    cluster: Any = SimpleNamespace(get=lambda path: summary)
    node: Any = SimpleNamespace(name="web-0", os="linux", ready=True)
    row = _judged("linux node web-0", "stats/summary", "linux", lambda: _summary(cluster, node))
    assert row.verdict is Verdict.FAILED and row.where == "linux node web-0"
    assert row.said.startswith("memory ")


def test_a_refusal_of_an_api_server_cannot_control_the_terminal() -> None:
    """Let the API of a cluster of yours, which somebody checks with `mullion join --check`, answer with escapes.

    Refused by: the command, which prints its last message without them.
    Seen in: the standard error of `mullion join`, with the rest of the answer.
    """
    code, message = ending(Stop(Exit.FAILED, f"the API at https://x failed: {HOSTILE}"))
    assert code is Exit.FAILED
    assert not re.search(r"[^\x20-\x7e\n]", message)
    assert "web-0: ready" in message
