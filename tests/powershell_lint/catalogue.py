"""The commands of Windows PowerShell 5.1 and how it binds their parameters."""

import functools
import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.powershell_lint.tables import ALIASES, COMMON, MODULES
from tools.powershell_facts import parameter_sets

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a parameter set."""

    name: str
    type: str
    mandatory: bool
    positional: bool

    @property
    def switch(self) -> bool:
        """Return whether it takes no value."""
        return not self.type


class Command:
    """A command with its parameter sets."""

    def __init__(self, name: str, sets: list[list[Parameter]]) -> None:
        self.name, self.sets = name, sets
        named = {one.name: one for one_set in sets for one in one_set}
        self.parameters = {**{name: Parameter(name, "object", False, False) for name in COMMON}, **named}
        for name in ("Verbose", "Debug"):
            self.parameters[name] = Parameter(name, "", False, False)

    def find(self, text: str) -> Parameter | None:
        """Return the parameter of a name, alias or unambiguous prefix."""
        low = text.lower()
        names: dict[str, str] = {}
        for name in self.parameters:
            names[name.lower()] = name
            for alias in (ALIASES.get(name), ALIASES.get(f"{self.name}:{name}")):
                if alias:
                    names.setdefault(alias.lower(), name)
        if low in names:
            return self.parameters[names[low]]
        starts = {full for name, full in names.items() if name.startswith(low)}
        return self.parameters[starts.pop()] if len(starts) == 1 else None

    def fitting(self, given: set[str], words: int, piped: bool, partly: bool) -> tuple[list[str], list[str]]:
        """Return which parameters exclude each other, and which are missing; both empty: 5.1 binds the call.

        given: names of parameters; words: arguments without a name; piped: there is input; partly: more may be given.
        """
        missing: list[str] = []
        for one_set in self.sets:
            known = {one.name: one for one in one_set}
            if not given <= {*known, *COMMON}:
                continue
            places = [one for one in one_set if one.positional and one.name not in given]
            if words > len(places) and not any(one.type.endswith("[]") for one in places[-1:]):
                continue
            filled = {*given, *(one.name for one in places[:words])}
            lacks = [one.name for one in one_set if one.mandatory and one.name not in filled]
            if not lacks or partly or (piped and len(lacks) == 1):
                return [], []
            missing = missing or lacks
        return ([], missing) if missing else (sorted(given), [])


@functools.cache
def _facts(name: str = "cmdlets") -> dict[str, Any]:
    return json.loads(lzma.decompress((DATA / f"{name}.json.xz").read_bytes()))


@functools.cache
def accepted(command: str, parameter: str) -> frozenset[str]:
    """Return the values that a parameter accepts, in lower case; empty: any (pages of Microsoft's documentation)."""
    return frozenset(each.lower() for each in _facts("values")["values"].get(command, {}).get(parameter, ()))


@functools.cache
def commands() -> dict[str, Command]:
    """Return the commands of 5.1 by name in lower case."""
    known = {**_facts()["commands"], **{name: parameter_sets(syntax) for name, syntax in MODULES.items()}}
    return {
        name.lower(): Command(name, [[Parameter(*row) for row in rows] for rows in sets])
        for name, sets in known.items()
    }


@functools.cache
def aliases() -> set[str]:
    """Return the names of aliases in 5.1."""
    return {each.lower() for each in _facts()["aliases"]}
