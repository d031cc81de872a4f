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

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

constexpr int TILE_M = 128, TILE_N = 256, DEPTH = 64;
constexpr int A_BYTES = TILE_M * DEPTH * 2, B_BYTES = DEPTH * TILE_N * 2;
// `b` comes in pieces of 64 columns: as many as the 128 bytes that are swizzled hold.
constexpr int PIECE = 64, PIECE_BYTES = DEPTH * PIECE * 2;
constexpr int CONSUMERS = 2, WARPGROUP = 128;

struct __align__(64) TensorMap { unsigned long long opaque[16]; };

__device__ unsigned shared_address(const void* at) {
    return (unsigned)__cvta_generic_to_shared(at);
}

__device__ void start_barrier(unsigned long long* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals));
}

__device__ void expect_bytes(unsigned long long* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ void arrive(unsigned long long* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
                 : "memory");
}

__device__ void wait(unsigned long long* barrier, int parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
}

__device__ void fetch(void* to, const TensorMap* map, unsigned long long* barrier, int x, int y,
                      int z) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(to)),
        "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z)
        : "memory");
}

// A matrix in shared memory as wgmma is told of it: address, the two strides in bytes and the
// 128-byte swizzle (PTX ISA, "Matrix descriptor format").
__device__ unsigned long long described(const void* at, int leading_bytes, int stride_bytes) {
    return (unsigned long long)(shared_address(at) >> 4 & 0x3FFF) |
           (unsigned long long)(leading_bytes >> 4) << 16 |
           (unsigned long long)(stride_bytes >> 4) << 32 | 1ull << 62;
}

#define EIGHT(d, i)                                                                         \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define THIRTY_TWO(d, i) EIGHT(d, i), EIGHT(d, i + 8), EIGHT(d, i + 16), EIGHT(d, i + 24)

// sum[64 x 256] (+)= a[64 x 16] b[16 x 256]; b has its columns side by side, hence the last 1.
__device__ void multiply(float (&sum)[128], unsigned long long a, unsigned long long b,
                         int onto_sum) {
    asm volatile(
        "{\n"
        ".reg .pred onto;\n"
        "setp.ne.b32 onto, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32." TEXT(INSTRUCTION) "." TEXT(INSTRUCTION) " "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "
        "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, "
        "%125, %126, %127}, %128, %129, onto, 1, 1, 0, 1;\n"
        "}"
        : THIRTY_TWO(sum, 0), THIRTY_TWO(sum, 32), THIRTY_TWO(sum, 64), THIRTY_TWO(sum, 96)
        : "l"(a), "l"(b), "r"(onto_sum));
}

__device__ void produce(const TensorMap* a_map, const TensorMap* b_map, unsigned char* a_ring,
                        unsigned char* b_ring, unsigned long long* full, unsigned long long* empty,
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
                        const unsigned char* b_ring, unsigned long long* full,
                        unsigned long long* empty, int blocks) {
    const bool speaks = threadIdx.x % WARPGROUP == 0;
    for (int block = 0; block < blocks; ++block) {
        const int stage = block % STAGES, lap = block / STAGES;
        wait(&full[stage], lap & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < DEPTH / 16; ++i)
            multiply(sum, described(a_ring + stage * A_BYTES + i * 32, 16, 1024),
                     described(b_ring + stage * B_BYTES + i * 16 * 128, PIECE_BYTES, 1024),
                     block + i > 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        // All but the newest are done: the tile before this one may be overwritten.
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (speaks && block > 0) arrive(&empty[(block - 1) % STAGES]);
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
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
    __shared__ unsigned long long full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            start_barrier(&full[stage], 1);
            start_barrier(&empty[stage], CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();

    const int group = threadIdx.x / WARPGROUP, blocks = (k + DEPTH - 1) / DEPTH;
    if (group == CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x % WARPGROUP == 0)
            produce(&a_map, &b_map, a_ring, b_ring, full, empty, blocks);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float sum[128];
        consume(sum, a_ring + group * 64 * 128, b_ring, full, empty, blocks);
        store(sum, c + (long long)blockIdx.z * m * n, blockIdx.y * TILE_M + group * 64,
              blockIdx.x * TILE_N, m, n);
    }
}
