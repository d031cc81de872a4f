"""FlashInfer's table of pages holds the same tokens as the operator's state, in their order."""

from __future__ import annotations

import pytest
import torch

from kernels.shared_prefix_attention.baselines import PAGE, _paged


@pytest.mark.parametrize(("prefix_len", "own_len"), [(1, 0), (77, 5), (32, 16), (16, 31)])
def test_pages_contain_the_prompt_once_and_each_sequence_with_a_free_slot(
    prefix_len: int, own_len: int
) -> None:
    torch.manual_seed(1)
    prefix, own = torch.randn(2, prefix_len, 8), torch.randn(3, 2, own_len, 8)
    token = torch.randn(3, 2, 8)
    pages, slot = _paged(prefix, own)
    slot.copy_(token)

    shared = -(-prefix_len // PAGE)
    prompt = pages[:shared].transpose(0, 1).reshape(2, -1, 8)
    mine = pages[shared:].view(3, -1, 2, PAGE, 8).transpose(1, 2).reshape(3, 2, -1, 8)
    assert torch.equal(prompt[:, :prefix_len], prefix)
    assert torch.equal(mine[:, :, :own_len], own)
    assert torch.equal(mine[:, :, own_len], token)
