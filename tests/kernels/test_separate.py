"""Views of one buffer as tensors without a common storage."""

from __future__ import annotations

import torch

from kernels.separate import separate


def test_results_in_one_buffer_share_no_storage_and_keep_their_memory() -> None:
    buffer = torch.zeros(256, dtype=torch.uint8)
    kinds = torch.float32, torch.bfloat16, torch.float8_e4m3fn
    views = [buffer[64 * place :][:32].view(kind) for place, kind in enumerate(kinds)]

    alone = separate(*views)

    assert [one.dtype for one in alone] == list(kinds)
    assert [one.data_ptr() for one in alone] == [view.data_ptr() for view in views]
    assert len({one.untyped_storage()._cdata for one in alone}) == len(kinds)
