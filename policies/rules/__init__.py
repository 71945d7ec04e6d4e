"""The rules of the pack; a module for each concern, one table for all."""

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
"""Every rule; docs/policies.md lists them."""
