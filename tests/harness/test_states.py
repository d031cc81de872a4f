"""State that is refilled, and how it shows when somebody writes to it."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from benchmarks.harness.devices.backends import device
from benchmarks.harness.devices.checksums import Checksum
from benchmarks.harness.devices.contents import generator
from benchmarks.harness.rounds import shared_state
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.rounds.shared_state import SharedState
from tests.harness.softmax import softmax_benchmark


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[SharedState]:
    """A state as on a GPU, where a side can write to it, and too large to be read every round."""
    here = device("cpu")
    monkeypatch.setattr(type(here), "read_only_state", False)
    monkeypatch.setattr(shared_state, "_CHECKED_WHOLE_BYTES", 0)
    document = softmax_benchmark()
    setting = SimpleNamespace(
        document=document,
        definition=document["definition"],
        device=here,
        source=generator(here.torch_device),
        checksum=Checksum(here.torch_device),
    )
    axes = {"rows": 8, "columns": 1 << 16}
    with SharedState(cast(Setting, setting), axes, "program") as made:
        yield made


def test_refilled_state_has_new_contents_where_the_old_ones_were(state: SharedState) -> None:
    bias = state.tensors["bias"]
    before = bias.clone()
    state.refill()
    assert state.tensors["bias"].data_ptr() == bias.data_ptr()
    assert float((bias == before).float().mean()) < 0.01
    assert state.intact()


def test_a_write_that_gains_something_shows_after_its_own_round(state: SharedState) -> None:
    # A hundredth, put back before the end: the checksum of the whole would not have told.
    few = state.tensors["bias"][: 1 << 10]
    before = few.clone()
    few.zero_()
    assert not state.seems_intact()
    few.copy_(before)
    assert state.seems_intact()
    assert state.intact()


def test_a_single_word_shows_in_the_checksum_of_the_whole(state: SharedState) -> None:
    state.tensors["bias"][7] += 1
    assert not state.intact()


def test_a_new_checksum_key_gives_stable_checksums_on_a_gpu(
    state: SharedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    checksum = Checksum(device("cpu").torch_device)
    monkeypatch.setattr(checksum, "_kept", None)
    whole = checksum.of(state.arena.memory)
    assert checksum.of(state.arena.memory) == whole
    assert Checksum(device("cpu").torch_device).of(state.arena.memory) != whole
    state.tensors["bias"][7] += 1
    assert checksum.of(state.arena.memory) != whole


def test_small_state_is_read_whole_every_round(
    state: SharedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_state, "_CHECKED_WHOLE_BYTES", 1 << 30)
    state.tensors["bias"][7] += 1
    assert not state.seems_intact()


def test_no_state_at_all_is_intact(state: SharedState) -> None:
    nothing = {**state._setting.definition, "program_state": []}
    setting = SimpleNamespace(**{**vars(state._setting), "definition": nothing})
    with SharedState(cast(Setting, setting), {"rows": 8, "columns": 8}, "program") as empty:
        empty.refill()
        assert empty.seems_intact()
        assert empty.intact()
