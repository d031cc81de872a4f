/* python
"""Rung 5, pipelined: the copy engine fills a ring of tiles while `wgmma` empties it.

One warpgroup asks for tiles, two multiply 64 x 256 each; barriers in shared memory hand tiles
over, and no thread copies an element itself. For 16-bit operands on Hopper (sm_90a).
"""

import torch

from kernels import cuda
from kernels.definition import NotAvailable
from kernels.tensor_maps import addressable, tensor_map

SCALAR = {torch.float16: ("__half", "f16"), torch.bfloat16: ("__nv_bfloat16", "bf16")}
TILE_M, TILE_N, DEPTH, STAGES = 128, 256, 64, 4
THREADS = 3 * 128
SHARED_BYTES = STAGES * (TILE_M + TILE_N) * DEPTH * 2 + 1024


def prepare(state, axes):
    """Compile, and map `b` for the copy engine. NotAvailable where engine or wgmma cannot be."""
    b = state["b"].contiguous()
    if b.dtype not in SCALAR:
        raise NotAvailable("cuda_5_pipelined multiplies 16-bit operands; take cuda_3_tiled")
    if torch.cuda.get_device_capability()[0] != 9:
        raise NotAvailable("cuda_5_pipelined is written for Hopper (compute capability 9.0)")
    if axes["n"] % 8 or axes["k"] % 8:
        raise NotAvailable("cuda_5_pipelined needs n and k in multiples of 8")
    name, instruction = SCALAR[b.dtype]
    options = [("SCALAR", name), ("INSTRUCTION", instruction), ("STAGES", str(STAGES))]
    kernel = cuda.compile(SOURCE, "pipelined", options=options)
    return kernel, tensor_map(b, (1, DEPTH, 64)), b


def run(prepared, inputs, out):
    """One product; writes all of out["c"] [batch, m, n]."""
    kernel, b_map, _ = prepared
    a, c = inputs["a"], out["c"]
    a = a if addressable(a) else a.clone(memory_format=torch.contiguous_format)
    batch, m, k = a.shape
    n = c.shape[2]
    grid = (-(-n // TILE_N), -(-m // TILE_M), batch)
    a_map = tensor_map(a, (1, TILE_M, DEPTH))
    kernel(grid, THREADS, a_map, b_map, c, m, n, k, shared_bytes=SHARED_BYTES)
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "hopper.cuh"

constexpr int TILE_M = 128, TILE_N = 256, DEPTH = 64;
constexpr int A_BYTES = TILE_M * DEPTH * 2, B_BYTES = DEPTH * TILE_N * 2;
// `b` comes in pieces of 64 columns: as many as the 128 bytes that are swizzled hold.
constexpr int PIECE = 64, PIECE_BYTES = DEPTH * PIECE * 2;
constexpr int CONSUMERS = 2, WARPGROUP = 128;

__device__ void produce(const TensorMap* a_map, const TensorMap* b_map, unsigned char* a_ring,
                        unsigned char* b_ring, Barrier* full, Barrier* empty,
                        int blocks) {
    for (int block = 0; block < blocks; ++block) {
        const int stage = block % STAGES, lap = block / STAGES, depth = block * DEPTH;
        wait(&empty[stage], lap & 1 ^ 1);
        expect_bytes(&full[stage], A_BYTES + B_BYTES);
        fetch(a_ring + stage * A_BYTES, a_map, &full[stage], depth, blockIdx.y * TILE_M,
              blockIdx.z);
        for (int piece = 0; piece < TILE_N / PIECE; ++piece)
            fetch(b_ring + stage * B_BYTES + piece * PIECE_BYTES, b_map, &full[stage],
                  blockIdx.x * TILE_N + piece * PIECE, depth, blockIdx.z);
    }
}

__device__ void consume(float (&sum)[128], const unsigned char* a_ring,
                        const unsigned char* b_ring, Barrier* full,
                        Barrier* empty, int blocks) {
    const bool speaks = threadIdx.x % WARPGROUP == 0;
    for (int block = 0; block < blocks; ++block) {
        const int stage = block % STAGES, lap = block / STAGES;
        wait(&full[stage], lap & 1);
        begin_products();
#pragma unroll
        for (int i = 0; i < DEPTH / 16; ++i)
            multiply(sum, described(a_ring + stage * A_BYTES + i * 32, 16, 1024),
                     described(b_ring + stage * B_BYTES + i * 16 * 128, PIECE_BYTES, 1024),
                     block + i > 0);
        end_products();
        // All but the newest are done: the tile before this one may be overwritten.
        await_products<1>();
        if (speaks && block > 0) arrive(&empty[(block - 1) % STAGES], 0);
    }
    await_products<0>();
}

__device__ void store(const float (&sum)[128], SCALAR* c, int first_row, int first_col, int m,
                      int n) {
    const int warp = threadIdx.x % WARPGROUP / 32, lane = threadIdx.x % 32;
    const int row = first_row + warp * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < 128; i += 2) {
        const int at_row = row + i / 2 % 2 * 8, col = first_col + i / 4 * 8 + lane % 4 * 2;
        SCALAR pair[2] = {(SCALAR)sum[i], (SCALAR)sum[i + 1]};
        // n is a multiple of 8, so a pair is inside or outside as a whole.
        if (at_row < m && col < n) *(unsigned*)(c + (long long)at_row * n + col) = *(unsigned*)pair;
    }
}

extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)
    pipelined(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
              SCALAR* c, int m, int n, int k) {
    extern __shared__ unsigned char shared[];
    // The swizzle counts from multiples of 1024 bytes.
    unsigned char* a_ring = shared + (1024 - shared_address(shared) % 1024) % 1024;
    unsigned char* b_ring = a_ring + STAGES * A_BYTES;
    __shared__ Barrier full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            start_barrier(&full[stage], 1);
            start_barrier(&empty[stage], CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    const int group = threadIdx.x / WARPGROUP, blocks = (k + DEPTH - 1) / DEPTH;
    if (group == CONSUMERS) {
        keep_registers<40>();
        if (threadIdx.x % WARPGROUP == 0)
            produce(&a_map, &b_map, a_ring, b_ring, full, empty, blocks);
    } else {
        take_registers<232>();
        float sum[128];
        consume(sum, a_ring + group * 64 * 128, b_ring, full, empty, blocks);
        store(sum, c + (long long)blockIdx.z * m * n, blockIdx.y * TILE_M + group * 64,
              blockIdx.x * TILE_N, m, n);
    }
}
