"""Policy evaluation: identity and bucket policies of one account, as IAM evaluates them.

Source: IAM user guide, "Policy evaluation logic": an explicit deny wins, then any allow, otherwise deny. OPERATORS
lists the known conditions; an unknown condition counts against the caller (an Allow does not apply, a Deny does).
Variables such as `${aws:userid}` in resources and conditions stand for the context's value, letter by letter.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address, ip_network
from typing import Any

from sandbox.aws.iam import document
from sandbox.cloud import Refusal

_VARIABLE = re.compile(r"\$\{([^}]*)\}")


def _matches(value: str, pattern: str, flags: int = 0, context: Mapping[str, str] | None = None) -> bool:
    """Match a pattern: `*` is any text, `?` one character. A pattern whose variable has no value matches nothing."""
    parts = _VARIABLE.split(pattern)  # the split alternates text and variable names
    names, known = parts[1::2], {"*": "*", "?": "?", "$": "$", **(context or {})}
    if not set(names) <= set(known):
        return False
    wild = [re.escape(text).replace(r"\*", ".*").replace(r"\?", ".") for text in parts[::2]]
    exact = [*(re.escape(known[name]) for name in names), ""]
    whole = "".join(part for pair in zip(wild, exact, strict=True) for part in pair)
    return re.fullmatch(whole, value, flags | re.DOTALL) is not None


OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "Bool": lambda value, wanted: value.lower() == wanted.lower(),
    "StringEquals": lambda value, wanted: value == wanted,
    "StringNotEquals": lambda value, wanted: value != wanted,
    "StringLike": _matches,
    "IpAddress": lambda value, wanted: ip_address(value) in ip_network(wanted, strict=False),
    "ArnEquals": _matches,
    "ArnLike": _matches,
}
ANY = "ForAnyValue:"
"""Prefix of an operator that compares each value of a key that has several; false without a value."""
_TAGS, _TAG_KEYS = "aws:RequestTag/", "aws:TagKeys"
MACHINE = {"aws:SecureTransport": "true"}
"""Context of every machine call: TLS."""


def refused(
    policies: Iterable[Any], action: str, resource: str, principal: str, context: Mapping[str, str] = MACHINE
) -> str:
    """Return why a call is denied, or an empty string. policies: documents of the identity or of the resource."""
    allowed = False
    for statement in _statements(policies):
        named = _names(statement, "Action", action) and _names(statement, "Resource", resource, context)
        deny = statement["Effect"] == "Deny"
        if named and _is_for(statement, principal) and _holds(statement, context, unknown=deny):
            if deny:
                return f"{principal} may not {action} on {resource}: a statement denies it"
            allowed = True
    return "" if allowed else f"{principal} may not {action} on {resource}: no statement allows it"


def assumes(trust: Any, service: str) -> bool:
    """Return whether a role's trust policy lets a service assume the role."""
    for statement in _statements([trust]):
        services = _list((statement.get("Principal") or {}).get("Service"))
        if statement["Effect"] == "Allow" and service in services and _names(statement, "Action", "sts:AssumeRole"):
            return True
    return False


def _statements(policies: Iterable[Any]) -> Iterable[dict[str, Any]]:
    for policy in policies:
        try:
            yield from document(policy)["Statement"]
        except Refusal:
            continue  # the program marked the policy secret, so its content is unknown


def _names(statement: Mapping[str, Any], field: str, value: str, context: Mapping[str, str] | None = None) -> bool:
    """Match actions without case and resources with case; NotAction and NotResource match all others."""
    flags = re.IGNORECASE if field == "Action" else 0
    if f"Not{field}" in statement:
        return not any(_matches(value, pattern, flags, context) for pattern in _list(statement[f"Not{field}"]))
    return any(_matches(value, pattern, flags, context) for pattern in _list(statement.get(field)))


def _is_for(statement: Mapping[str, Any], principal: str) -> bool:
    """Match the principal: identity policies name none; bucket policies name everyone, the role, or its account."""
    if "Principal" not in statement:
        return "NotPrincipal" not in statement
    named = statement["Principal"]
    account = principal.split(":")[4]
    known = ("*", principal, account, f"arn:aws:iam::{account}:root")
    return any(each in known for each in _list(named.get("AWS") if isinstance(named, dict) else named))


def _holds(statement: Mapping[str, Any], context: Mapping[str, str], *, unknown: bool) -> bool:
    for operator, keys in (statement.get("Condition") or {}).items():
        if operator == "Null":  # true: the key is absent (IAM user guide, "Condition operator to check existence")
            if any((key in context) == (str(absent).lower() == "true") for key, absent in keys.items()):
                return False
            continue
        compare = OPERATORS.get(operator.removeprefix(ANY))
        for key, wanted in keys.items():
            if compare and operator.startswith(ANY):
                values = _values(context, key)
                if not any(_compared(compare, value, str(each), context) for value in values for each in _list(wanted)):
                    return False
            elif compare is None or key not in context:
                if not unknown:
                    return False
            elif not any(_compared(compare, context[key], str(each), context) for each in _list(wanted)):
                return False
    return True


def _compared(compare: Callable[[str, str], bool], value: str, wanted: str, context: Mapping[str, str]) -> bool:
    if compare is _matches:
        return _matches(value, wanted, context=context)
    parts = _VARIABLE.split(wanted)
    if not set(parts[1::2]) <= set(context):
        return False
    return compare(value, "".join(context[part] if index % 2 else part for index, part in enumerate(parts)))


def _values(context: Mapping[str, str], key: str) -> list[str]:
    """Return the values of a key; those of aws:TagKeys are the keys of the request's tags."""
    if key == _TAG_KEYS:
        return [each.removeprefix(_TAGS) for each in context if each.startswith(_TAGS)]
    return [context[key]] if key in context else []


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
