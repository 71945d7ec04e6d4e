"""The contract: what a stack file may say, and whether it holds together. Nothing here imports Pulumi."""

from components.spec.report import Problem, Severity, SpecError

__all__ = ["Problem", "Severity", "SpecError"]
