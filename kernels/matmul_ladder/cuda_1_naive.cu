/* python
"""Rung 1, naive: one thread an element, and a warp walks down a column.

The 32 threads of a warp hold 32 rows, so each of their loads of `a` and each store of `c` is 32
accesses far apart: the memory pipe serves one warp in 32 steps while everything else waits.
"""

import torch

from kernels import cuda

SCALAR = {torch.float32: "float", torch.float16: "__half", torch.bfloat16: "__nv_bfloat16"}
TILE = 32


def prepare(state, axes):
    """Compile for the dtype; `b` stays as it is."""
    b = state["b"].contiguous()
    return cuda.compile(SOURCE, "naive", options=[("SCALAR", SCALAR[b.dtype])]), b


def run(prepared, inputs, out):
    """One product; writes all of out["c"] [batch, m, n]."""
    kernel, b = prepared
    a, c = inputs["a"], out["c"]
    batch, m, k = a.shape
    n = c.shape[2]
    grid = (-(-m // TILE), -(-n // TILE), batch)
    kernel(grid, (TILE, TILE), a, b, c, m, n, k, a.stride(0), a.stride(1))
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void naive(const SCALAR* a, const SCALAR* b, SCALAR* c, int m, int n, int k,
                                 int stride_batch, int stride_row) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    a += (long long)blockIdx.z * stride_batch + (long long)row * stride_row;
    b += (long long)blockIdx.z * k * n + col;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += (float)a[i] * (float)b[(long long)i * n];
    c[((long long)blockIdx.z * m + row) * n + col] = (SCALAR)sum;
}
