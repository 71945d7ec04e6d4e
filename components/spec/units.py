"""Units and forms of options in words, for `mullion explain` and the component package's schema."""

from collections.abc import Mapping
from typing import Any

from components.spec.quantities import CPU, DURATION, MEMORY, PERCENTAGE, WINDOW

UNITS = {
    "disk_gb": "GiB",
    "size_gb": "GiB",
    "iops": "operations a second",
    "throughput": "MiB a second",
    "ArtifactEntry.size": "bytes",
    "max_pods": "pods for each node",
    "count": "machines",
    "every_minutes": "minutes",
    "keep_days": "days",
    "audit_days": "days",
    "keep_daily": "days",
    "keep_weekly": "weeks",
}
"""By option, or by MODEL.OPTION."""

QUANTITIES = {
    f"^({CPU.pattern})$": "CPU quantity: cores (2) or thousandths of a core (500m)",
    f"^({MEMORY.pattern})$": "size in bytes, with a unit: Ki, Mi, Gi, Ti or k, M, G, T",
    f"^({DURATION.pattern})$": "duration, with a unit: s, m, h or d",
    f"^({WINDOW.pattern})$": "times of the day, UTC: 02:00-05:00",
    f"^({PERCENTAGE.pattern})$": "whole number or percentage: 2 or 25%",
}
"""By the pattern in the schema."""

FORMATS = {"ipv4": "IPv4 address", "ipv4network": "IPv4 range (address/prefix)"}
"""By the format in the schema."""


def unit(model: str, option: str) -> str:
    """Return the unit of an option, or an empty text."""
    return UNITS.get(f"{model}.{option}") or UNITS.get(option, "")


def allowed(kind: Mapping[str, Any]) -> str:
    """Return the allowed values of a property of the schema of stack files, or an empty text if any value is."""
    if "enum" in kind:
        return ", ".join(str(value) for value in kind["enum"])
    ends = [str(kind[key]) if key in kind else "" for key in ("minimum", "maximum")]
    if all(ends):
        return f"{ends[0]} to {ends[1]}"
    return f"{ends[0]} or more" if ends[0] else f"at most {ends[1]}" if ends[1] else ""
