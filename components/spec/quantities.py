"""Kubernetes quantities and durations as numbers."""

import re

CPU = re.compile(r"(?:(\d+)m|(\d+(?:\.\d{1,3})?))")
MEMORY = re.compile(r"(\d+)(|k|M|G|T|Ki|Mi|Gi|Ti)")
DURATION = re.compile(r"(\d+)(s|m|h|d)")
WINDOW = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")
PERCENTAGE = re.compile(r"([1-9][0-9]?|100)%")
_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BYTES = {**_DECIMAL, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def cpu_milli(text: str) -> int:
    """Return a CPU quantity in thousandths of a core. Raises ValueError if the text is not one."""
    match = CPU.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a CPU quantity; write 500m or 2")
    return int(match[1]) if match[1] else round(float(match[2]) * 1000)


def memory_bytes(text: str) -> int:
    """Return a memory or disk quantity in bytes. Raises ValueError if the text is not one."""
    match = MEMORY.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a memory quantity; write 2Gi or 500Mi")
    return int(match[1]) * _BYTES[match[2]]


def duration_seconds(text: str) -> int:
    """Return a duration in seconds. Raises ValueError if the text is not one."""
    match = DURATION.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a duration; write 90s, 10m, 2h or 3d")
    return int(match[1]) * _SECONDS[match[2]]


def share_of(share: int | str, count: int) -> int:
    """Return a number, or a percentage of count rounded down but at least 1. Raises ValueError if it is neither."""
    if isinstance(share, int):
        return share
    if not (match := PERCENTAGE.fullmatch(share)):
        raise ValueError(f"{share!r} is no percentage; write 1% to 100%, or a number")
    return max(1, count * int(match[1]) // 100)


def check_share(share: object) -> int | str:
    """Return the number or percentage. Raises ValueError if it is neither, or less than 1."""
    if isinstance(share, float) and share.is_integer():
        share = int(share)  # Pulumi's numbers have no integers
    if isinstance(share, bool) or not isinstance(share, int | str):
        raise ValueError("it is neither a number nor a percentage; write 2 or 25%")  # noqa: TRY004 pydantic reports ValueError only
    if share_of(share, 100) < 1:
        raise ValueError("it is less than 1; write 1 or more, or 25%")
    return share


def check_cpu(text: str) -> str:
    """Return the text. Raises ValueError if it is not a CPU quantity."""
    cpu_milli(text)
    return text


def check_memory(text: str) -> str:
    """Return the text. Raises ValueError if it is not a memory quantity."""
    memory_bytes(text)
    return text


def check_duration(text: str) -> str:
    """Return the text. Raises ValueError if it is not a duration."""
    duration_seconds(text)
    return text


def window_minutes(text: str) -> tuple[int, int]:
    """Return the minute of the day at which a daily window begins, and its length in minutes. Raises ValueError."""
    match = WINDOW.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a time of the day; write 02:00-05:00, in UTC")
    begin, end = (int(match[hour]) * 60 + int(match[hour + 1]) for hour in (1, 3))
    if begin == end:
        raise ValueError("the window is empty; write 02:00-05:00, in UTC")
    return begin, (end - begin) % 1440


def check_window(text: str) -> str:
    """Return the text. Raises ValueError if it is not a daily window."""
    window_minutes(text)
    return text


def waits_for(index: int, wave: int, *, canary: bool) -> int | None:
    """Return the index of the pool's machine that must be replaced before this one; None for the first wave.

    wave: how many are replaced at the same time. canary: the first machine is a wave of its own.
    """
    before = index - wave
    if before >= 0:
        return before
    return 0 if canary and index else None
