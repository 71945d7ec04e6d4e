"""The linter: what the rules find in manifests."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from components.lint import RULES
from components.lint.conditions import Place
from components.lint.documents import Manifests, Object
from components.lint.rule import Context, Rule, Scope
from components.lint.targets import UNDECLARED, WINDOWS


@dataclass(frozen=True)
class Finding:
    """A place of an object that a rule refuses."""

    rule: Rule
    object: Object
    place: Place

    @property
    def line(self) -> int | None:
        """Return the line in the file, from 1; None if it is unknown."""
        return self.object.line(self.place)


@dataclass(frozen=True)
class Verdict:
    """All findings in some manifests."""

    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]
    """Findings of rules that an annotation or an option ignores."""


def lint(manifests: Manifests, context: Context, ignore: Collection[str] = ()) -> Verdict:
    """Return what the rules find, by object and rule. ignore: ids of rules."""
    found = [each for item in manifests.objects for each in _of(item, manifests, context)]
    ignored = [each for each in found if each.rule.id in ignore or each.rule.id in each.object.ignored]
    return Verdict(tuple(each for each in found if each not in ignored), tuple(ignored))


def _of(item: Object, manifests: Manifests, context: Context) -> Iterator[Finding]:
    for rule in RULES:
        if rule.kinds and item.kind not in rule.kinds:
            continue
        for place in dict.fromkeys(_places(rule, item, manifests, context)):
            yield Finding(rule, item, place)


def _places(rule: Rule, item: Object, manifests: Manifests, context: Context) -> Iterator[Place]:
    if rule.find is not None:
        yield from rule.find(item, manifests, context)
    elif (place := item.pod_place) is not None and item.pod is not None:
        scope = WINDOWS if rule.scope is Scope.WINDOWS else UNDECLARED
        condition = rule.applies(context)
        if condition is not None and scope.holds(item.pod):
            yield from condition.find(item.pod, place)
