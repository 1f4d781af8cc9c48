"""The colours of the pages: letters stand out from what is behind them, in the light and in the dark."""

import re

import pytest

from reports.pages.html import TEMPLATES

CSS = (TEMPLATES / "report.css").read_text()
VARIABLE = re.compile(r"--([\w-]+): (#[0-9a-f]{6})")
LIGHT_PART, DARK_PART = CSS.split("@media screen and (prefers-color-scheme: dark)")[0:2]
LIGHT = dict(VARIABLE.findall(LIGHT_PART))
DARK = LIGHT | dict(VARIABLE.findall(DARK_PART.split("\n}\n")[0]))

# Letters to what can be behind them. WCAG 2.1, 1.4.3: 4.5 to 1.
LETTERS = {
    "ink": ("paper", "card", "sunk", "broken-soft", "unknown-soft", "window"),
    "ink-2": ("paper", "card", "sunk", "broken-soft", "unknown-soft", "window"),
    "link": ("paper", "card", "sunk", "broken-soft", "unknown-soft"),
    "holds-ink": ("holds", "paper", "card"),
    "broken-ink": ("broken",),
    "broken-text": ("broken-soft", "paper", "card", "sunk"),
    "unknown-ink": ("unknown",),
    "unknown-text": ("unknown-soft", "paper", "card", "sunk"),
    "op-ink": ("op", "paper"),  # the label of a short operation stands beside its bar
}
# What is drawn, and the edge of what has the focus. WCAG 2.1, 1.4.11: 3 to 1.
DRAWN = ("k-data", "k-metadata", "k-fua", "k-flush", "k-discard", "k-mark", "holds-bar", "broken", "focus")


def luminance(colour: str) -> float:
    """WCAG 2.1, relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_that_of_the_guidelines() -> None:
    """Black on white is 21 to 1, #777777 on white just below 4.5."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_letters_stand_out(colours: dict[str, str]) -> None:
    """Also those of charts and drawings, which a checker cannot ask about."""
    pairs = [(name, ground) for name, grounds in LETTERS.items() for ground in grounds]
    found = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: round(ratio, 2) for pair, ratio in found.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_what_is_drawn_stands_out(colours: dict[str, str]) -> None:
    """From the page, from a card and from a shaded window of the time line."""
    pairs = [(name, ground) for name in DRAWN for ground in ("paper", "card", "window")]
    found = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: round(ratio, 2) for pair, ratio in found.items() if ratio < 3} == {}


def test_the_dark_has_a_colour_of_its_own_for_each() -> None:
    """None was forgotten."""
    assert {name for name in LIGHT if DARK[name] == LIGHT[name]} == set()
