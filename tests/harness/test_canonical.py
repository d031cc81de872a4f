from __future__ import annotations

import pytest

from benchmarks.records.canonical import canonical, digest


def test_canonical_json_is_what_the_standard_says() -> None:
    # RFC 8785, sections 3.2.2 and 3.2.3: numbers as ECMAScript prints them, keys sorted.
    assert canonical({"b": [1e21, 0.002, 4.50, 333333333.33333329], "a": "€"}) == (
        '{"a":"€","b":[1e+21,0.002,4.5,333333333.3333333]}'.encode()
    )


def test_the_order_of_keys_changes_no_digest() -> None:
    assert digest({"a": 1, "b": 2.0}) == digest({"b": 2, "a": 1.0})
    assert digest({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2}, {"a": object()}, 1 << 60])
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="canonical"):
        canonical(value)
