"""Prints the tables for the README."""

from __future__ import annotations

from tests.differential.differences import tables

print(tables(), end="")
