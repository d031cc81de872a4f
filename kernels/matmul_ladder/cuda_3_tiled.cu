/* python
"""Rung 3, tiled: a block stages tiles of `a` and `b` in shared memory, a thread keeps 8 x 8 sums.

Each element fetched from memory serves 128 products, each one read from shared memory 8. A block
still waits for its loads before it multiplies; and without any waiting it would be bound by the
ordinary cores' multiply-adds, 67 TFLOP/s in fp32 where the tensor cores have 990 (datasheet).
"""

import torch

from kernels import cuda

SCALAR = {torch.float32: "float", torch.float16: "__half", torch.bfloat16: "__nv_bfloat16"}
TILE = 128
THREADS = 256


def prepare(state, axes):
    """Compile for the dtype; `b` stays as it is."""
    b = state["b"].contiguous()
    return cuda.compile(SOURCE, "tiled", options=[("SCALAR", SCALAR[b.dtype])]), b


def run(prepared, inputs, out):
    """One product; writes all of out["c"] [batch, m, n]."""
    kernel, b = prepared
    a, c = inputs["a"], out["c"]
    batch, m, k = a.shape
    n = c.shape[2]
    grid = (-(-n // TILE), -(-m // TILE), batch)
    kernel(grid, THREADS, a, b, c, m, n, k, a.stride(0), a.stride(1))
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int TILE = 128, DEPTH = 16, THREADS = 256, SIDE = 16, SPREAD = TILE / SIDE;

// A thread's 8 rows (and columns) lie 16 apart, so that the threads of a warp read neighbouring
// words of shared memory; the tile of `a` is stored with its depth first for the same reason.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    tiled(const SCALAR* a, const SCALAR* b, SCALAR* c, int m, int n, int k, int stride_batch,
          int stride_row) {
    __shared__ float a_tile[DEPTH][TILE + 1], b_tile[DEPTH][TILE];
    const int first_row = blockIdx.y * TILE, first_col = blockIdx.x * TILE;
    const int down = threadIdx.x / SIDE, along = threadIdx.x % SIDE;
    a += (long long)blockIdx.z * stride_batch;
    b += (long long)blockIdx.z * k * n;
    c += (long long)blockIdx.z * m * n;
    float sum[SPREAD][SPREAD] = {};

    for (int start = 0; start < k; start += DEPTH) {
        for (int at = threadIdx.x; at < TILE * DEPTH; at += THREADS) {
            const int row = at / DEPTH, i = at % DEPTH;
            const bool held = first_row + row < m && start + i < k;
            a_tile[i][row] =
                held ? (float)a[(long long)(first_row + row) * stride_row + start + i] : 0.0f;
        }
        for (int at = threadIdx.x; at < TILE * DEPTH; at += THREADS) {
            const int i = at / TILE, col = at % TILE;
            const bool held = start + i < k && first_col + col < n;
            b_tile[i][col] = held ? (float)b[(long long)(start + i) * n + first_col + col] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; ++i) {
            float left[SPREAD], right[SPREAD];
#pragma unroll
            for (int s = 0; s < SPREAD; ++s) {
                left[s] = a_tile[i][down + s * SIDE];
                right[s] = b_tile[i][along + s * SIDE];
            }
#pragma unroll
            for (int y = 0; y < SPREAD; ++y)
#pragma unroll
                for (int x = 0; x < SPREAD; ++x) sum[y][x] += left[y] * right[x];
        }
        __syncthreads();
    }

#pragma unroll
    for (int y = 0; y < SPREAD; ++y)
#pragma unroll
        for (int x = 0; x < SPREAD; ++x) {
            const int row = first_row + down + y * SIDE, col = first_col + along + x * SIDE;
            if (row < m && col < n) c[(long long)row * n + col] = (SCALAR)sum[y][x];
        }
}
