"""Colours of the page, light and dark. A test computes their contrast (WCAG 2, level AA)."""

from __future__ import annotations

LIGHT = {
    "page": "#ffffff",
    "panel": "#f5f7f9",
    "line": "#d3dae1",
    "ink": "#1a2027",
    "muted": "#56616d",
    "accent": "#1d5f9e",
    "on-accent": "#ffffff",
    "slope": "#a8480f",
    "good": "#1a6e37",
    "warn": "#7a4d00",
    "warn-panel": "#fff5dc",
    "control": "#76828e",
    "s1": "#1d5f9e",
    "s2": "#a8480f",
    "s3": "#1f6f43",
    "s4": "#7d3a86",
    "s5": "#80590c",
    "s6": "#136b78",
    "s7": "#a02c50",
    "s8": "#4d5560",
}
DARK = {
    "page": "#10151b",
    "panel": "#19212a",
    "line": "#313c48",
    "ink": "#e8edf2",
    "muted": "#a3afbb",
    "accent": "#74b4ee",
    "on-accent": "#0d1620",
    "slope": "#f0a36b",
    "good": "#6fd08c",
    "warn": "#f0c869",
    "warn-panel": "#2d2611",
    "control": "#7f8d9b",
    "s1": "#74b4ee",
    "s2": "#f0a36b",
    "s3": "#7fd3a0",
    "s4": "#d29be0",
    "s5": "#dcbc5c",
    "s6": "#67c7d6",
    "s7": "#f290ad",
    "s8": "#aeb8c4",
}
# Share of the accent in the darkest cell of the interaction map: numbers stay readable on it.
STRONGEST_CELL = 0.5


def variables(colours: dict[str, str]) -> str:
    """Colours as CSS custom properties."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())
