"""Options of a stack file: models, defaults and the form of problems. Imports nothing of Pulumi."""

from components.spec.report import Problem, Severity, SpecError

__all__ = ["Problem", "Severity", "SpecError"]
