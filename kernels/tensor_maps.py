"""Tensor maps, by which the bulk copy engine of Hopper and later reads tiles of a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernels.cuda import driver_result

if TYPE_CHECKING:
    from torch import Tensor

ALIGNMENT_BYTES = 16


def addressable(tensor: Tensor) -> bool:
    """Whether the engine can read it: last axis dense, address and strides of whole 16 bytes."""
    item_bytes = tensor.element_size()
    strides = [stride * item_bytes for stride in tensor.stride()[:-1]]
    return tensor.stride(-1) == 1 and all(
        position % ALIGNMENT_BYTES == 0 for position in (tensor.data_ptr(), *strides)
    )


def tensor_map(tensor: Tensor, box: tuple[int, ...], *, swizzled: bool = True) -> Any:
    """The map of a 16-bit tensor for boxes of `box` elements (one length an axis).

    With `swizzled` the innermost side of the box is 128 bytes, as `wgmma` reads it; otherwise a box
    has its plain layout in shared memory. Elements outside the tensor read as zeros. RuntimeError
    if the driver rejects it.
    """
    import torch
    from cuda.bindings import driver

    kinds = driver.CUtensorMapDataType
    kind = {
        torch.float16: kinds.CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        torch.bfloat16: kinds.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    }[tensor.dtype]
    swizzles = driver.CUtensorMapSwizzle
    strides = [stride * tensor.element_size() for stride in tensor.stride()[:-1]]
    return driver_result(
        driver.cuTensorMapEncodeTiled(
            kind,
            tensor.dim(),
            tensor.data_ptr(),
            [driver.cuuint64_t(side) for side in reversed(tensor.shape)],
            [driver.cuuint64_t(stride) for stride in reversed(strides)],
            [driver.cuuint32_t(side) for side in reversed(box)],
            [driver.cuuint32_t(1)] * tensor.dim(),
            driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzles.CU_TENSOR_MAP_SWIZZLE_128B
            if swizzled
            else swizzles.CU_TENSOR_MAP_SWIZZLE_NONE,
            driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    )
