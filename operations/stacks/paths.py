"""Paths on this machine."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
"""The clone that this command belongs to (`mullion` is an editable install of it)."""
