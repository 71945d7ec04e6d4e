"""`mullion logs`: a machine is asked, and answers, through the bundle store with the roles that the program made."""

import io
import json
import re
import zipfile

import pytest

from operations.engine import Engine
from operations.exits import Exit
from sandbox.answers import NOTE
from sandbox.aws.iam import ROLE_POLICY
from sandbox.world import World

from .clone import Clone

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    """A built cluster."""
    clone = Clone(tmp_path_factory.mktemp("clone"), engine)
    clone.fresh()
    up = clone.up()
    assert up.returncode == 0, up.stderr
    return clone


def test_ops_02_who_asks_gets_the_archive_and_an_issue_template_and_leaves_no_request(clone: Clone) -> None:
    ran = clone.run("logs", clone.stack, "windows-0")
    assert ran.returncode == Exit.OK, ran.stderr
    found = re.match(r"(\S+\.zip) \(", ran.stdout)
    assert found, ran.stdout
    with zipfile.ZipFile(io.BytesIO((clone.folder / found[1]).read_bytes())) as packed:
        assert packed.read("note.txt").decode() == NOTE
    assert "\n/sig windows\n" in ran.stdout
    assert not [each for each in objects(clone) if each.startswith("requests/")]
    assert not clone.differences()


def test_a_machine_that_does_not_exist_is_named_with_those_that_do(clone: Clone) -> None:
    ran = clone.run("logs", clone.stack, "web-7")
    assert ran.returncode == Exit.USAGE
    assert "no machine 'web-7'; it has control-plane-0, " in ran.stderr


def objects(clone: Clone) -> list[str]:
    """Keys of all objects in the world."""
    world = World(clone.sandbox / "world.db")
    try:
        return [row[0] for row in world.connection.execute("SELECT key FROM objects WHERE etag <> ''")]
    finally:
        world.close()


def test_a_machine_reads_only_its_own_request_and_writes_only_its_own_answer(clone: Clone) -> None:
    world = World(clone.sandbox / "world.db")
    policies = [json.loads(each.inputs["policy"]) for each in world.resources(ROLE_POLICY)]
    world.close()
    for policy in policies:
        named = [
            (action, resource.partition("/")[2])
            for statement in policy["Statement"]
            for action in statement["Action"]
            for resource in statement["Resource"]
            if "/requests/" in resource or "/logs/" in resource
        ]
        assert named == [
            ("s3:GetObject", "requests/${aws:userid}.json"),
            ("s3:PutObject", "logs/${aws:userid}.json"),
        ]
