"""Requests to the pitch check, and its parsed answers."""

from __future__ import annotations

import html
import io
import re
from typing import Any

from django.test import Client

URL = "/pitch/"
NUMBERS = {
    "share": "40",
    "speedup": "3",
    "weeks": "6",
    "life": "52",
    "fee": "60000",
    "bill": "40000",
    "currency": "EUR",
    "hours": "12",
    "maintainer": "Performance team",
    "libraries": "FlashInfer: skip connections",
    "shapes": "8x4096 12000\n16x4096 3000",
}


def asked(client: Client, **numbers: str) -> str:
    response = client.get(URL, NUMBERS | numbers)
    assert response.status_code == 200, response.content.decode()
    return response.content.decode()


def text(page: str) -> str:
    """A page as somebody reads it."""
    main = page.partition("<main")[2].partition("</main>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


def outcomes(page: str) -> list[str]:
    """What the six checks came to, in their order."""
    return re.findall(r'id="check-\w+".*?class="badge[^"]*">(\w+)<', page, re.DOTALL)


def sent(client: Client, content: bytes, name: str = "t.json", **numbers: str) -> Any:
    file = io.BytesIO(content)
    file.name = name
    return client.post(URL, {**numbers, "file": file})
