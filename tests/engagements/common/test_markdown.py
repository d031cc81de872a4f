"""Markdown of our files becomes HTML that can do nothing but be read."""

from __future__ import annotations

import pytest

from engagements.common.markdown import as_html
from kernels import catalogue
from kernels.catalogue import operators


def test_headings_go_one_down_and_the_first_is_the_pages_own() -> None:
    html = as_html("# Title\n\nWords.\n\n## Part\n")
    assert html == "<p>Words.</p>\n<h3>Part</h3>\n"


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", "a <img src=x onerror=alert(1)>", "[x](javascript:alert(1))"],
)
def test_html_and_scripts_of_the_text_are_only_shown(text: str) -> None:
    html = as_html(text)
    for forbidden in ("<script", "<img", 'href="javascript'):
        assert forbidden not in html


def test_links_to_files_of_the_repository_are_text() -> None:
    html = as_html("[a guide](../RANKS.md) and [a site](https://example.com/)")
    assert html.count("<a ") == 1
    assert "a guide and" in html


def test_a_table_scrolls_in_its_own_frame() -> None:
    assert 'class="table-scroll"' in as_html("| a | b |\n|---|---|\n| 1 | 2 |\n")


@pytest.mark.parametrize("operator", operators())
def test_every_readme_renders(operator: str) -> None:
    folder = catalogue._FOLDER / operator
    html = as_html((folder / "README.md").read_text())
    assert "<table" in html
    assert "| " not in html.split("<pre")[0]
