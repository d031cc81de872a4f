/* python
"""Template of a CUDA candidate: shared-prefix decode attention, correct but slow.

Copy it, rename it (cuda_mine.cu), and replace the kernel below. This first comment is the launcher
in Python; the rest is CUDA C++. The interface and its rules are in kernels/CANDIDATES.md.
"""

import torch

from kernels import cuda

SCALAR = {torch.float32: "float", torch.float16: "__half", torch.bfloat16: "__nv_bfloat16"}
THREADS = 128


def prepare(state, axes):
    """Called once a layer, untimed: compile; may copy state to another layout."""
    macros = [
        ("SCALAR", SCALAR[state["prefix_k"].dtype]),
        ("WIDTH", str(axes["head_dim"])),
        ("GROUP", str(axes["heads"] // axes["kv_heads"])),
        ("THREADS", str(THREADS)),
    ]
    kernel = cuda.compile(SOURCE, "decode", options=macros)
    return kernel, {name: tensor.contiguous() for name, tensor in state.items()}


def run(prepared, inputs, out):
    """Timed: queue one launch on torch's current stream; writes all of out["out"]."""
    kernel, state = prepared
    q, k_new, v_new, result = inputs["q"], inputs["k_new"], inputs["v_new"], out["out"]
    batch, heads, width = q.shape
    kernel(
        (heads, batch), THREADS,
        q, k_new, v_new, state["prefix_k"], state["prefix_v"], state["own_k"], state["own_v"],
        result, q.stride(0), k_new.stride(0), v_new.stride(0), result.stride(0),
        state["prefix_k"].shape[1], state["own_k"].shape[2], width**-0.5,
    )
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// One block computes one head of one sequence. Every thread runs an online softmax over every
// THREADS-th key; at the end the threads' parts are merged by their largest scores.
struct Part {
    float top, total, acc[WIDTH];
};

__device__ void take(Part& part, const float* q, const SCALAR* k, const SCALAR* v, float scale) {
    float score = 0.0f;
    for (int d = 0; d < WIDTH; ++d) score += q[d] * (float)k[d];
    score *= scale;
    float top = part.total == 0.0f ? score : fmaxf(part.top, score);
    float fade = part.total == 0.0f ? 0.0f : expf(part.top - top), share = expf(score - top);
    part.total = part.total * fade + share;
    for (int d = 0; d < WIDTH; ++d) part.acc[d] = part.acc[d] * fade + share * (float)v[d];
    part.top = top;
}

extern "C" __global__ void __launch_bounds__(THREADS) decode(
    const SCALAR* q_in, const SCALAR* k_new, const SCALAR* v_new, const SCALAR* prefix_k,
    const SCALAR* prefix_v, const SCALAR* own_k, const SCALAR* own_v, SCALAR* out, int stride_q,
    int stride_k, int stride_v, int stride_out, int prefix_len, int own_len, float scale) {
    const int head = blockIdx.x, seq = blockIdx.y, kv_head = head / GROUP;
    const int kv_heads = gridDim.x / GROUP, thread = threadIdx.x;
    __shared__ float q[WIDTH], merged[WIDTH], tops[THREADS], totals[THREADS];
    for (int d = thread; d < WIDTH; d += THREADS) {
        q[d] = (float)q_in[(long long)seq * stride_q + head * WIDTH + d];
        merged[d] = 0.0f;
    }
    __syncthreads();

    Part part = {0.0f, 0.0f, {}};
    const long long shared = (long long)kv_head * prefix_len * WIDTH;
    for (int n = thread; n < prefix_len; n += THREADS)
        take(part, q, prefix_k + shared + (long long)n * WIDTH,
             prefix_v + shared + (long long)n * WIDTH, scale);
    const long long own = ((long long)seq * kv_heads + kv_head) * own_len * WIDTH;
    for (int n = thread; n < own_len; n += THREADS)
        take(part, q, own_k + own + (long long)n * WIDTH, own_v + own + (long long)n * WIDTH, scale);
    if (thread == 0)
        take(part, q, k_new + (long long)seq * stride_k + kv_head * WIDTH,
             v_new + (long long)seq * stride_v + kv_head * WIDTH, scale);

    tops[thread] = part.top;
    totals[thread] = part.total;
    __syncthreads();
    // Thread 0 always has a key. A thread without one has a total of 0 and is skipped.
    float top = tops[0], total = 0.0f;
    for (int t = 1; t < THREADS; ++t)
        if (totals[t] != 0.0f) top = fmaxf(top, tops[t]);
    for (int t = 0; t < THREADS; ++t)
        if (totals[t] != 0.0f) total += totals[t] * expf(tops[t] - top);
    // One thread after another, so that sums are the same every time.
    for (int t = 0; t < THREADS; ++t) {
        if (t == thread && part.total != 0.0f)
            for (int d = 0; d < WIDTH; ++d) merged[d] += part.acc[d] * expf(part.top - top);
        __syncthreads();
    }
    for (int d = thread; d < WIDTH; d += THREADS)
        out[(long long)seq * stride_out + head * WIDTH + d] = (SCALAR)(merged[d] / total);
}
