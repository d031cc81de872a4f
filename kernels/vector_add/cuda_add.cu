/* python
"""The sum in CUDA C++: each thread adds 16 bytes of one vector to 16 bytes of the other."""

import ctypes

import torch

from kernels import cuda

SCALAR = {torch.float32: "float", torch.float16: "__half", torch.bfloat16: "__nv_bfloat16"}
THREADS = 256
VECTOR_BYTES = 16


def prepare(state, axes):
    """Untimed: which numbers the vectors hold is known with the first call, so compile for all."""
    return {
        dtype: cuda.compile(SOURCE, "add", options=[("SCALAR", name)])
        for dtype, name in SCALAR.items()
    }


def run(kernels, inputs, out):
    """Timed: queue one launch on torch's current stream; writes all of out["out"] [length]."""
    x, y, result = inputs["x"], inputs["y"], out["out"]
    length = result.numel()
    width = VECTOR_BYTES // result.element_size()
    # A vector that begins in the middle of 16 bytes is added number by number.
    aligned = all(tensor.data_ptr() % VECTOR_BYTES == 0 for tensor in (x, y, result))
    blocks = -(-length // (THREADS * width))
    kernels[result.dtype](blocks, THREADS, x, y, result, ctypes.c_int64(length), aligned)


def gradients(state, inputs, out, grads, axes):
    """A sum hands its gradient on to both of its terms."""
    return {"x": grads["out"], "y": grads["out"]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int WIDTH = 16 / sizeof(SCALAR);

// What one thread moves at a time; the alignment makes each access a single instruction.
struct alignas(16) Pack {
    SCALAR item[WIDTH];
};

extern "C" __global__ void add(const SCALAR* x, const SCALAR* y, SCALAR* out, long long length,
                               bool aligned) {
    const long long first = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * WIDTH;

    if (aligned && first + WIDTH <= length) {
        const Pack a = *(const Pack*)(x + first);
        const Pack b = *(const Pack*)(y + first);
        Pack sum;
        for (int i = 0; i < WIDTH; ++i) sum.item[i] = (float)a.item[i] + (float)b.item[i];
        *(Pack*)(out + first) = sum;
    } else {
        // The end of the vectors, or vectors that do not begin at 16 bytes.
        for (long long i = first; i < length && i < first + WIDTH; ++i)
            out[i] = (float)x[i] + (float)y[i];
    }
}
