"""Model families: costs, what covers them, and the page that lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.published import families as published
from kernels import catalogue, families


def test_the_page_is_the_one_that_is_printed() -> None:
    """By `python -m kernels families > kernels/FAMILIES.md`."""
    page = Path(families.__file__).with_name("FAMILIES.md").read_text()
    assert page == published.page()


def test_a_llama_layers_cache_costs_two_kilobytes_a_token() -> None:
    found = families.uses("Llama 3 8B")
    [use] = [use for use in found if (use.batch, use.context) == (16, 32768)]
    assert use.bytes_moved == pytest.approx(16 * 32768 * 2048, rel=0.01)
    assert use.floor_us == pytest.approx(250, rel=0.01)
    assert use.is_bound_by_bytes


def test_decoding_one_token_reads_every_weight_of_a_layer_once() -> None:
    [use] = [
        use
        for use in families.uses("Llama 3 8B")
        if use.batch == 1 and use.part.startswith("linear") and not use.operator
    ]
    assert use.bytes_moved == pytest.approx(2 * 218e6, rel=0.01)


def test_families_use_the_catalogues_operators() -> None:
    assert set(families.operators("attention")) <= set(catalogue.operators())
    uses = families.of_operator("mla_decode")
    assert {use.family for use in uses} == {"DeepSeek V3"}
    assert len(uses) == len(families.BATCHES) * len(families.CONTEXTS)


def test_what_is_shorter_than_a_launch_does_not_pay() -> None:
    found = [use for one in families.FAMILIES for use in families.uses(one.name)]
    assert {published.pays(use) for use in found if use.floor_us < 1} == {"no, a launch"}
    assert published.library(families.of_operator("mla_decode")[0]) is not None
