/* python
"""Rung 4, tensor core: the tiles of rung 3 multiplied by `mma` instructions, one step at a time.

A block loads a tile, waits, multiplies it, waits, and loads the next: the tensor cores stand
still while a tile is on its way, and the memory while they work. For 16-bit operands.
"""

import torch

from kernels import cuda
from kernels.definition import NotAvailable

SCALAR = {torch.float16: ("__half", "f16"), torch.bfloat16: ("__nv_bfloat16", "bf16")}
TILE = 128
THREADS = 256
VECTOR = 8


def prepare(state, axes):
    """Compile for the dtype; `b` stays as it is. NotAvailable in fp32: TF32 is another operator."""
    b = state["b"].contiguous()
    if b.dtype not in SCALAR:
        raise NotAvailable("cuda_4_tensor_core multiplies 16-bit operands; take cuda_3_tiled")
    name, instruction = SCALAR[b.dtype]
    return cuda.compile(
        SOURCE, "tensor_core", options=[("SCALAR", name), ("INSTRUCTION", instruction)]
    ), b


def run(prepared, inputs, out):
    """One product; writes all of out["c"] [batch, m, n]."""
    kernel, b = prepared
    a, c = inputs["a"], out["c"]
    batch, m, k = a.shape
    n = c.shape[2]
    whole = all(
        side % VECTOR == 0
        for side in (n, k, a.stride(0), a.stride(1), a.data_ptr() // a.element_size())
    )
    grid = (-(-n // TILE), -(-m // TILE), batch)
    kernel(grid, THREADS, a, b, c, m, n, k, a.stride(0), a.stride(1), int(whole))
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

constexpr int TILE = 128, DEPTH = 32, THREADS = 256, VECTOR = 8;
// Rows are 16 bytes longer than they hold, so that ldmatrix finds its rows in different banks.
constexpr int A_ROW = DEPTH + VECTOR, B_ROW = TILE + VECTOR;
// Eight warps stand 2 x 4 on the tile; each computes 64 x 32 in pieces of 16 x 8.
constexpr int WARP_ROWS = 64, WARP_COLS = 32, DOWN = WARP_ROWS / 16, ALONG = WARP_COLS / 8;

// Copies a rows x cols piece, zeros where it ends: 16 bytes at a time where everything is whole.
template <int ROWS, int COLS, int PITCH>
__device__ void stage(SCALAR* tile, const SCALAR* from, long long pitch, int rows, int cols,
                      bool whole) {
    for (int at = threadIdx.x; at < ROWS * COLS / VECTOR; at += THREADS) {
        const int row = at / (COLS / VECTOR), col = at % (COLS / VECTOR) * VECTOR;
        SCALAR* to = tile + row * PITCH + col;
        if (whole) {
            const bool held = row < rows && col < cols;
            *(uint4*)to = held ? *(const uint4*)(from + row * pitch + col) : uint4{};
        } else {
            for (int i = 0; i < VECTOR; ++i)
                to[i] = row < rows && col + i < cols ? from[row * pitch + col + i] : (SCALAR)0.0f;
        }
    }
}

__device__ unsigned shared_address(const void* at) {
    return (unsigned)__cvta_generic_to_shared(at);
}

__device__ void multiply(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TEXT(INSTRUCTION) "." TEXT(
                     INSTRUCTION) ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    tensor_core(const SCALAR* a, const SCALAR* b, SCALAR* c, int m, int n, int k, int stride_batch,
                int stride_row, int whole) {
    __shared__ __align__(16) SCALAR a_tile[TILE * A_ROW], b_tile[DEPTH * B_ROW];
    const int first_row = blockIdx.y * TILE, first_col = blockIdx.x * TILE;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / 4 * WARP_ROWS, warp_col = warp % 4 * WARP_COLS;
    a += (long long)blockIdx.z * stride_batch + (long long)first_row * stride_row;
    b += (long long)blockIdx.z * k * n + first_col;
    float sum[DOWN][ALONG][4] = {};

    for (int start = 0; start < k; start += DEPTH) {
        stage<TILE, DEPTH, A_ROW>(a_tile, a + start, stride_row, m - first_row, k - start, whole);
        stage<DEPTH, TILE, B_ROW>(b_tile, b + (long long)start * n, n, k - start, n - first_col,
                                  whole);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i += 16) {
            unsigned left[DOWN][4], right[ALONG][2];
#pragma unroll
            for (int y = 0; y < DOWN; ++y) {
                const int row = warp_row + y * 16 + lane % 16, col = i + lane / 16 * 8;
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(left[y][0]), "=r"(left[y][1]), "=r"(left[y][2]),
                               "=r"(left[y][3])
                             : "r"(shared_address(a_tile + row * A_ROW + col)));
            }
#pragma unroll
            for (int x = 0; x < ALONG; ++x) {
                const int row = i + lane % 16, col = warp_col + x * 8;
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                             : "=r"(right[x][0]), "=r"(right[x][1])
                             : "r"(shared_address(b_tile + row * B_ROW + col)));
            }
#pragma unroll
            for (int y = 0; y < DOWN; ++y)
#pragma unroll
                for (int x = 0; x < ALONG; ++x) multiply(sum[y][x], left[y], right[x]);
        }
        __syncthreads();
    }

    c += (long long)blockIdx.z * m * n;
#pragma unroll
    for (int y = 0; y < DOWN; ++y)
#pragma unroll
        for (int x = 0; x < ALONG; ++x)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int row = first_row + warp_row + y * 16 + lane / 4 + i / 2 * 8;
                const int col = first_col + warp_col + x * 8 + lane % 4 * 2 + i % 2;
                if (row < m && col < n) c[(long long)row * n + col] = (SCALAR)sum[y][x][i];
            }
}
