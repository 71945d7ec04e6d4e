"""Rules about manifests for clusters with Windows nodes. The linter and the admission policies come from them."""

from components.lint import resources, scheduling, security, services, storage, volumes
from components.lint.rule import Context, Level, Rule, Scope

__all__ = ["RULES", "TABLES", "Context", "Level", "Rule", "Scope", "by_id"]

TABLES: dict[str, tuple[Rule, ...]] = {
    "Nodes that a pod may land on": scheduling.RULES,
    "Security contexts and the host": security.RULES,
    "Images, memory, ports and names": resources.RULES,
    "Volumes": volumes.RULES,
    "Claims, classes and isolation": storage.RULES,
    "Services": services.RULES,
}
RULES: tuple[Rule, ...] = tuple(rule for rules in TABLES.values() for rule in rules)


def by_id() -> dict[str, Rule]:
    """Return the rules by id."""
    return {rule.id: rule for rule in RULES}
