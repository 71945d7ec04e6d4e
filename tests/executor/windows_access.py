"""Access rules of Windows, as cases name them and as SDDL writes them."""

import re
from collections.abc import Iterable

FULL, READ = "FA", "0x1200a9"
ACCESS = {"private": {"SY": FULL, "BA": FULL}, "public": {"SY": FULL, "BA": FULL, "BU": READ}}
"""Rights by who has them, as SDDL names both."""
SHORT = {"WD": "S-1-1-0", "AU": "S-1-5-11", "LS": "S-1-5-19", "NS": "S-1-5-20"}
"""Well-known SIDs that SDDL abbreviates."""


def sddl(access: str, readers: Iterable[str], *, folder: bool) -> str:
    """Access rules without inherited ones."""
    rights = {**ACCESS[access], **dict.fromkeys(readers, READ)}
    return "D:P" + "".join(f"(A;{'OICI' if folder else ''};{right};;;{who})" for who, right in rights.items())


def access_of(rules: str) -> str:
    """private, public, either with readers, or the rules as they are."""
    pairs: list[tuple[str, str]] = re.findall(r"\(A;(?:OICI)?;(\w+);;;([\w-]+)\)", rules)
    found = {SHORT.get(who, who): right for right, who in pairs}
    for name, known in reversed(ACCESS.items()):
        others = {who: right for who, right in found.items() if who not in known}
        if rules.startswith("D:P(") and known.items() <= found.items() and set(others.values()) <= {READ}:
            return ", ".join([name, *sorted(others)])
    return rules
