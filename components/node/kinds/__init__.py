"""The kinds of steps in a node plan, and the references that a plan may contain.

This table is the only definition: steps are checked against it when they are created, the JSON schema of node plans and
its page are generated from it, and both executors implement it.
"""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.references import REFERENCES, ref
from components.node.kinds.step import Step, step
from components.node.kinds.table import KINDS, TUNING

__all__ = ["KINDS", "REFERENCES", "TUNING", "Cut", "Field", "Kind", "OnChange", "Step", "ref", "step"]
