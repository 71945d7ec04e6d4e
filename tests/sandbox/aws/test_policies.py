"""Policy documents as IAM evaluates them; test_simulated_boot.py and tests/sandbox/services judge whole roles."""

import pytest

from sandbox.aws.policies import refused

ROLE = "arn:aws:iam::000000000000:role/web"
ME = {"aws:userid": "AROAEXAMPLE:i-1"}
PLACE = "arn:aws:s3:::b/status/"
CASES = {
    "the variable's value": (PLACE + "${aws:userid}.json", PLACE + "AROAEXAMPLE:i-1.json", ME, True),
    "another's value": (PLACE + "${aws:userid}.json", PLACE + "AROAEXAMPLE:i-2.json", ME, False),
    "more than the value": (PLACE + "${aws:userid}.json", PLACE + "AROAEXAMPLE:i-1.json.json", ME, False),
    "no value": (PLACE + "${aws:userid}.json", PLACE + ".json", {}, False),
    "no value beside a star": (PLACE + "*${aws:userid}", PLACE + "AROAEXAMPLE:i-1", {}, False),
    "a value with a star is taken by the letter": (PLACE + "${aws:userid}", PLACE + "any", {"aws:userid": "*"}, False),
    "a star beside the variable": (PLACE + "${aws:userid}*", PLACE + "AROAEXAMPLE:i-1.json", ME, True),
    "a star by its name": (PLACE + "${*}.json", PLACE + "x.json", ME, False),
    "the star itself": (PLACE + "${*}.json", PLACE + "*.json", ME, True),
}


@pytest.mark.parametrize(("pattern", "resource", "context", "allowed"), CASES.values(), ids=CASES)
def test_a_policy_variable_stands_for_the_callers_value(
    pattern: str, resource: str, context: dict[str, str], allowed: bool
) -> None:
    statement = {"Effect": "Allow", "Action": "s3:PutObject", "Resource": pattern}
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    assert (refused([policy], "s3:PutObject", resource, ROLE, context) == "") == allowed
