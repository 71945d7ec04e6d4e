"""The rules of the pack, one module for each concern."""

from policies.rules import exposure, leaks, machines, nodes, permissions, stores, tagged
from policies.rules.rule import ResourceRule, StackRule

RULES: tuple[ResourceRule | StackRule, ...] = (
    *machines.RULES,
    *exposure.RULES,
    *leaks.RULES,
    *stores.RULES,
    *permissions.RULES,
    *nodes.RULES,
    *tagged.RULES,
)
"""All rules; docs/policies.md lists them."""
