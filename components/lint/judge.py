"""The linter: what the rules find in manifests."""

from collections.abc import Collection
from dataclasses import dataclass

from components.lint import RULES
from components.lint.conditions import Condition, Place
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
    rules = [(rule, rule.applies(context)) for rule in RULES]
    skipped = frozenset(ignore)
    found: list[Finding] = []
    ignored: list[Finding] = []
    for item in manifests.objects:
        scopes = _scopes(item)
        for rule, condition in rules:
            if rule.kinds and item.kind not in rule.kinds:
                continue
            if rule.find is not None:
                places = rule.find(item, manifests, context)
            else:
                places = _in_pod(item, condition) if rule.scope in scopes else ()
            goal = ignored if rule.id in skipped or rule.id in item.ignored else found
            goal += [Finding(rule, item, place) for place in dict.fromkeys(places)]
    return Verdict(tuple(found), tuple(ignored))


def _scopes(item: Object) -> set[Scope]:
    """Return the scopes that an object's pod is in; none if it has no pod."""
    if item.pod is None:
        return set()
    conditions = {Scope.WINDOWS: WINDOWS, Scope.UNDECLARED: UNDECLARED}
    return {scope for scope, condition in conditions.items() if condition.holds(item.pod)}


def _in_pod(item: Object, condition: Condition | None) -> list[Place]:
    """Return the places of an object's pod that meet a condition; none if the rule does not apply."""
    place = item.pod_place
    return [] if condition is None or place is None else condition.find(item.pod, place)
