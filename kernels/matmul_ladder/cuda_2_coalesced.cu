/* python
"""Rung 2, coalesced: one thread an element, and a warp walks along a row.

The one change to rung 1 is which index the fast thread index is: the warp's 32 loads of `b` and
its stores of `c` are neighbours and travel together, its load of `a` is one for all. Every
element is still fetched from the caches anew for each product it takes part in.
"""

import torch

from kernels import cuda

SCALAR = {torch.float32: "float", torch.float16: "__half", torch.bfloat16: "__nv_bfloat16"}
TILE = 32


def prepare(state, axes):
    """Compile for the dtype; `b` stays as it is."""
    b = state["b"].contiguous()
    return cuda.compile(SOURCE, "coalesced", options=[("SCALAR", SCALAR[b.dtype])]), b


def run(prepared, inputs, out):
    """One product; writes all of out["c"] [batch, m, n]."""
    kernel, b = prepared
    a, c = inputs["a"], out["c"]
    batch, m, k = a.shape
    n = c.shape[2]
    grid = (-(-n // TILE), -(-m // TILE), batch)
    kernel(grid, (TILE, TILE), a, b, c, m, n, k, a.stride(0), a.stride(1))
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void coalesced(const SCALAR* a, const SCALAR* b, SCALAR* c, int m, int n,
                                     int k, int stride_batch, int stride_row) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    a += (long long)blockIdx.z * stride_batch + (long long)row * stride_row;
    b += (long long)blockIdx.z * k * n + col;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += (float)a[i] * (float)b[(long long)i * n];
    c[((long long)blockIdx.z * m + row) * n + col] = (SCALAR)sum;
}
