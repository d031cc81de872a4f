"""Render Markdown of the repository's files: headings, paragraphs, lists, tables and code.

HTML in it is escaped. Links to other sites remain links; the site does not serve the repository's
files, so links to them are plain text.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

# The page has its own h1.
_DOWN = {"h1": "h2", "h2": "h3", "h3": "h4", "h4": "h5", "h5": "h6"}
_RENDERER = MarkdownIt("commonmark", {"html": False}).enable("table")


def as_html(text: str) -> SafeString:
    """Render `text` without its first heading, which the page shows itself."""
    tokens = _RENDERER.parse(text)
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        tokens = tokens[3:]
    for token in tokens:
        token.children = token.children and _without_file_links(token.children)
    html = _RENDERER.renderer.render([_placed(token) for token in tokens], _RENDERER.options, {})
    # A wide table scrolls by itself.
    html = html.replace(
        "<table>", '<div class="table-scroll" tabindex="0"><table class="table">'
    ).replace("</table>", "</table></div>")
    return mark_safe(html)  # noqa: S308  the renderer escapes all HTML of the text


def _without_file_links(tokens: list[Token]) -> list[Token]:
    """The inline tokens without links to paths. Links do not nest."""
    kept, is_path = [], False
    for token in tokens:
        if token.type == "link_open":
            is_path = not urlsplit(str(token.attrGet("href"))).scheme
        if not (is_path and token.type in ("link_open", "link_close")):
            kept.append(token)
    return kept


def _placed(token: Token) -> Token:
    if token.type in ("heading_open", "heading_close"):
        token.tag = _DOWN.get(token.tag, token.tag)
    return token
