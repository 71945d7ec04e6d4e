"""Access rules of Windows, as cases name them and in SDDL."""

import re
from collections.abc import Iterable

FULL, READ, WRITE = "FA", "0x1200a9", "0x1301bf"
ACCESS = {"private": {"SY": FULL, "BA": FULL}, "public": {"SY": FULL, "BA": FULL, "BU": READ}}
"""Rights by their owner, with SDDL's names for both."""
SHORT = {"WD": "S-1-1-0", "AU": "S-1-5-11", "LS": "S-1-5-19", "NS": "S-1-5-20"}
"""Well-known SIDs that SDDL abbreviates."""


WRITES = " writes"


def sddl(access: str, others: Iterable[str], *, folder: bool) -> str:
    """Return access rules without inherited ones; others are SIDs that may read, or `<SID> writes`."""
    rights = ACCESS[access] | {each.removesuffix(WRITES): WRITE if each.endswith(WRITES) else READ for each in others}
    return "D:P" + "".join(f"(A;{'OICI' if folder else ''};{right};;;{who})" for who, right in rights.items())


def access_of(rules: str) -> str:
    """Return private, public, either of them with others, or the rules unchanged."""
    pairs: list[tuple[str, str]] = re.findall(r"\(A;(?:OICI)?;(\w+);;;([\w-]+)\)", rules)
    rights = {SHORT.get(who, who): right for right, who in pairs}
    for name, known in reversed(ACCESS.items()):
        others = {who: right for who, right in rights.items() if who not in known}
        if rules.startswith("D:P(") and known.items() <= rights.items() and set(others.values()) <= {READ, WRITE}:
            return ", ".join([name, *sorted(who + (WRITES if right == WRITE else "") for who, right in others.items())])
    return rules
