/* python
"""One kernel: push the partial sums into the peers' memory, signal, wait, add and normalise.

A block is a token. It writes its row into every peer's buffer, then a flag, and waits for the
peers' flags, so a row crosses the link once and nobody asks for it. Buffers alternate by a count of
calls in device memory: a peer can be one call ahead, never two, and a CUDA graph replays correctly.
Ranks add in the same order and get the same bits.
"""

import torch

from kernels import cuda, peers

SCALAR = {torch.float16: "__half", torch.bfloat16: "__nv_bfloat16"}
ITEMS = 8


def prepare(state, axes):
    """Compile for the sizes, and open the peers' buffers."""
    weight = state["weight"].contiguous()
    ranks, tokens, hidden = axes["ranks"], axes["tokens"], axes["hidden"]
    vectors = hidden // ITEMS
    threads = min(1024, -(-vectors // 32) * 32)
    flags_at = 2 * ranks * tokens * hidden * weight.itemsize
    shared = peers.workspace("cuda_push", flags_at + 4 * tokens * ranks, tokens)
    options = [
        ("SCALAR", SCALAR[weight.dtype]),
        ("RANKS", str(ranks)),
        ("HIDDEN", str(hidden)),
        ("THREADS", str(threads)),
        ("PER_THREAD", str(-(-vectors // threads))),
    ]
    kernel = cuda.compile(SOURCE, "push", options=options)
    return kernel, weight, shared, threads


def run(prepared, inputs, out):
    """One call; every rank must make it."""
    kernel, weight, shared, threads = prepared
    x, residual = inputs["x"], inputs["residual"]
    arguments = (x, residual, weight, out["sum"], out["normed"], shared.addresses, shared.counts)
    kernel(len(x), threads, *arguments, len(x), shared.rank)
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int ITEMS = 8;
constexpr int VECTORS = HIDDEN / ITEMS;

union Vector {
    uint4 raw;
    SCALAR item[ITEMS];
};

__device__ void signal(unsigned* flag, unsigned value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__device__ unsigned seen(const unsigned* flag) {
    unsigned value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}

__device__ float summed(float value) {
    __shared__ float of_warps[32];
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < THREADS / 32 ? of_warps[threadIdx.x % 32] : 0.0f;
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    push(const SCALAR* x, const SCALAR* residual, const SCALAR* weight, SCALAR* kept,
         SCALAR* normed, char* const* peers, unsigned* counts, int tokens, int rank) {
    const int row = blockIdx.x;
    const unsigned count = counts[row];
    const size_t part = (size_t)tokens * HIDDEN;
    const size_t half = (count & 1) * RANKS * part;
    const size_t flags_at = 2 * RANKS * part * sizeof(SCALAR);
    const size_t at = (size_t)row * HIDDEN;
    Vector own[PER_THREAD];
    for (int i = 0; i < PER_THREAD; ++i) {
        const int vector = threadIdx.x + i * THREADS;
        if (vector >= VECTORS) break;
        own[i].raw = ((const uint4*)(x + at))[vector];
        for (int peer = 0; peer < RANKS; ++peer) {
            SCALAR* theirs = (SCALAR*)peers[peer] + half + rank * part + at;
            if (peer != rank) ((uint4*)theirs)[vector] = own[i].raw;
        }
    }
    __syncthreads();
    if (threadIdx.x < RANKS && threadIdx.x != rank) {
        unsigned* theirs = (unsigned*)(peers[threadIdx.x] + flags_at);
        const unsigned* mine = (const unsigned*)(peers[rank] + flags_at);
        __threadfence_system();
        signal(theirs + row * RANKS + rank, count + 1);
        while ((int)(seen(mine + row * RANKS + threadIdx.x) - (count + 1)) < 0) {
        }
    }
    __syncthreads();
    const SCALAR* received = (const SCALAR*)peers[rank] + half + at;
    Vector sums[PER_THREAD];
    float squares = 0.0f;
    for (int i = 0; i < PER_THREAD; ++i) {
        const int vector = threadIdx.x + i * THREADS;
        if (vector >= VECTORS) break;
        float total[ITEMS] = {};
        for (int peer = 0; peer < RANKS; ++peer) {
            Vector theirs = own[i];
            if (peer != rank) theirs.raw = __ldcg((const uint4*)(received + peer * part) + vector);
            for (int k = 0; k < ITEMS; ++k) total[k] += (float)theirs.item[k];
        }
        Vector before;
        before.raw = ((const uint4*)(residual + at))[vector];
        for (int k = 0; k < ITEMS; ++k) {
            sums[i].item[k] = (SCALAR)(total[k] + (float)before.item[k]);
            const float rounded = (float)sums[i].item[k];
            squares += rounded * rounded;
        }
        ((uint4*)(kept + at))[vector] = sums[i].raw;
    }
    const float inverse = rsqrtf(summed(squares) / HIDDEN + 1e-5f);
    for (int i = 0; i < PER_THREAD; ++i) {
        const int vector = threadIdx.x + i * THREADS;
        if (vector >= VECTORS) break;
        Vector scale, result;
        scale.raw = ((const uint4*)weight)[vector];
        for (int k = 0; k < ITEMS; ++k)
            result.item[k] = (SCALAR)((float)sums[i].item[k] * inverse * (float)scale.item[k]);
        ((uint4*)(normed + at))[vector] = result.raw;
    }
    if (threadIdx.x == 0) counts[row] = count + 1;
}
