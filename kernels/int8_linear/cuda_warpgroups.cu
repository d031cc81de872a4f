/* python
"""The int8 weights widened in registers, where `wgmma` takes them from; x by multicast. Hopper.

A warpgroup multiplies 64 features by up to 64 tokens at once and reads x from shared memory itself,
so that no thread loads an operand but the weights. Those are laid out in the order in which their
operands lie in a lane's registers and come by the bulk copy engine; two neighbouring blocks fetch
half of x each for both. Blocks that share a sum leave their parts in memory, and the last of them
to finish adds them up in their order: the result is the same every time. 16-bit activations only.
"""

from dataclasses import asdict, dataclass

import torch

from kernels import cuda, tuning
from kernels.definition import NotAvailable
from kernels.tensor_maps import addressable, tensor_map

SCALAR = {torch.float16: ("__half", "f16"), torch.bfloat16: ("__nv_bfloat16", "bf16")}
SHARED_BYTES = 226 * 1024
# Features of a warpgroup, columns of a piece, of x that are swizzled together, and of a lane.
FEATURES, DEPTH, SWIZZLED, STEP = 64, 128, 64, 32
MOST_TOKENS, LEAST_TOKENS, MOST_ROWS, MOST_STAGES = 64, 8, 256, 8
SPLITS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Cut:
    """A block has `rows` features and `tokens`, and `stages` pieces under way; `splits` blocks
    share a sum; the blocks of a `cluster` share x."""

    rows: int
    tokens: int
    splits: int
    cluster: int
    stages: int = 1

    @property
    def threads(self):
        return -(-self.rows // FEATURES) * 128 + 32

    @property
    def stage_bytes(self):
        return (self.rows + 2 * self.tokens) * DEPTH

    @property
    def shared_bytes(self):
        return 1024 + self.stages * self.stage_bytes


def cut_of(features, depth, tokens, multiprocessors, splits, cluster):
    """The cut of so many splits that gives multiprocessors a block each; None where none fits."""
    width = min(MOST_TOKENS, max(LEAST_TOKENS, 1 << (tokens - 1).bit_length()))
    tiles = multiprocessors // 8 * 8 // splits
    rows = max(FEATURES, -(-features // (16 * tiles)) * 16)
    if rows > MOST_ROWS or splits > -(-depth // DEPTH):
        return None
    cluster = cluster if -(-features // rows) % cluster == 0 else 1
    stage_bytes = Cut(rows, width, splits, cluster).stage_bytes
    stages = min(MOST_STAGES, (SHARED_BYTES - 1024) // stage_bytes)
    return Cut(rows, width, splits, cluster, stages)


def cuts(features, depth, tokens, multiprocessors):
    """Those that leave few multiprocessors without a block; without such, the one with most."""
    found = [cut_of(features, depth, tokens, multiprocessors, one, 2) for one in SPLITS]
    # Few features have the same rows at any number of splits.
    blocks = {cut: -(-features // cut.rows) * cut.splits for cut in found if cut is not None}
    least = min(multiprocessors * 2 // 3, max(blocks.values(), default=0))
    return [cut for cut in blocks if blocks[cut] >= least]


def variants(item_bytes):
    """Splits and clusters worth trying on a new GPU, by a short name."""
    return {f"s{splits} c{cluster}": (splits, cluster) for splits in SPLITS for cluster in (1, 2)}


def packed(weight, rows):
    """The weights [tile, piece, 16 rows, 32 columns, lane, 16 bytes]; what is missing is zero.

    Lane 4 g + t has of both halves of the columns, 16 each, of row g and of row g + 8 the columns
    2 t, 2 t + 8, 2 t + 1, 2 t + 9.
    """
    features, depth = weight.shape
    tiles, pieces = -(-features // rows), -(-depth // DEPTH)
    whole = weight.new_zeros(tiles * rows, pieces * DEPTH)
    whole[:features, :depth] = weight
    # tile, rows of 16, half of the rows, g; piece, step, half of the columns, upper, t, odd
    split = whole.view(tiles, rows // 16, 2, 8, pieces, DEPTH // STEP, 2, 2, 4, 2)
    return split.permute(0, 4, 1, 5, 3, 8, 6, 2, 9, 7).contiguous()


class Layer:
    """One layer's weights at one cut."""

    def __init__(self, weight, scale, batch, cut):
        name, instruction = SCALAR[scale.dtype]
        options = [(key.upper(), str(value)) for key, value in asdict(cut).items()]
        options += [("SCALAR", name), ("INSTRUCTION", instruction)]
        options += [("IS_HALF", str(int(scale.dtype == torch.float16)))]
        self.kernel = cuda.compile(SOURCE, "linear", options=options)
        self.weight, self.scale, self.cut = packed(weight, cut.rows), scale.contiguous(), cut
        self.features, self.depth = weight.shape
        self.room = scale.new_zeros(batch, -(-self.depth // 8) * 8)
        across = -(-batch // cut.tokens)
        tiles, shares = len(self.weight), cut.splits if cut.splits > 1 else 0
        warpgroups = -(-cut.rows // FEATURES)
        size = (across, tiles, shares, warpgroups * FEATURES, cut.tokens)
        self.parts = torch.empty(size, dtype=torch.float32, device=weight.device)
        self.arrived = torch.zeros(across, tiles, dtype=torch.int32, device=weight.device)

    def __call__(self, x, out):
        if not addressable(x) or x.shape[1] != self.room.shape[1]:
            self.room[: len(x), : self.depth].copy_(x)
            x = self.room[: len(x)]
        tokens, cut = len(x), self.cut
        tiles, pieces = self.weight.shape[:2]
        self.kernel(
            (tiles * cut.splits, -(-tokens // cut.tokens)), cut.threads,
            tensor_map(x, (cut.tokens, SWIZZLED)), self.weight, self.scale, out, self.parts,
            self.arrived, tokens, self.features, out.stride(0), tiles, pieces,
            shared_bytes=cut.shared_bytes,
        )


def prepare(state, axes, config=None):
    """The weights packed for the quickest cut, or for the splits and the cluster in `config`.

    NotAvailable but for 16 bits on Hopper, and where no cut fits.
    """
    weight, scale = state["weight"], state["scale"]
    if not weight.is_cuda or torch.cuda.get_device_capability()[0] != 9:
        raise NotAvailable("cuda_warpgroups is written for Hopper (compute capability 9.0)")
    if scale.dtype not in SCALAR:
        raise NotAvailable("cuda_warpgroups takes float16 and bfloat16")
    batch, (features, depth) = axes["batch"], weight.shape
    sms = torch.cuda.get_device_properties(weight.device).multi_processor_count
    fitting = cuts(features, depth, batch, sms)
    if config:
        fitting = [cut for cut in [cut_of(features, depth, batch, sms, *config)] if cut]
    if not fitting:
        raise NotAvailable(f"no cut of {config} fits {features} features of {depth}")
    x, out = scale.new_zeros(batch, depth), scale.new_empty(batch, features)
    made = {}

    def layer(cut):
        if cut not in made:
            made[cut] = Layer(weight, scale, batch, cut)
        return made[cut]

    return layer(tuning.best(
        source=__file__,
        key=(features, depth, batch, str(scale.dtype), str(config)),
        configs=fitting,
        run=lambda cut: layer(cut)(x, out),
    ))


def run(layer, inputs, out):
    """Timed: one launch; writes all of out["out"] [batch, out_features]."""
    layer(inputs["x"], out["out"])
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

typedef unsigned u32;
typedef unsigned long long u64;
struct __align__(64) TensorMap { u64 opaque[16]; };

constexpr int DEPTH = 128, WARPGROUP = 128, CONSUMERS = (ROWS + 63) / 64, SUMS = TOKENS / 2;
constexpr int X_PIECE = TOKENS * 128, X_BYTES = TOKENS * DEPTH * 2, A_BYTES = ROWS * DEPTH;
constexpr int STAGE_BYTES = X_BYTES + A_BYTES, THREADS = CONSUMERS * WARPGROUP + 32;

__device__ u32 shared_address(const void* at) { return (u32)__cvta_generic_to_shared(at); }

__device__ void start_barrier(u64* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals));
}

__device__ void expect_bytes(u64* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

// Arrives at the barrier of the same place in a block of the cluster.
__device__ void arrive(u64* barrier, int block) {
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
        "}" ::"r"(shared_address(barrier)),
        "r"(block)
        : "memory");
}

__device__ void wait(u64* barrier, int parity) {
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

// Every thread of every block of the cluster comes here before one goes on.
__device__ void meet_cluster() {
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

__device__ void meet_consumers() {
    asm volatile("bar.sync 1, %0;" ::"n"(CONSUMERS * WARPGROUP) : "memory");
}

// A run of bytes that nobody asks for again in this call.
__device__ void fetch_weights(void* to, const unsigned char* from, u64* barrier, u64 policy) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
        "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
        "l"(from), "r"(A_BYTES), "r"(shared_address(barrier)), "l"(policy)
        : "memory");
}

#define FETCH "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"

// 64 columns of x into all blocks of the cluster.
__device__ void fetch_x(void* to, const TensorMap* map, u64* barrier, int col, int token) {
    if (CLUSTER == 1)
        asm volatile(FETCH " [%0], [%1, {%3, %4}], [%2];" ::"r"(shared_address(to)), "l"(map),
                     "r"(shared_address(barrier)), "r"(col), "r"(token)
                     : "memory");
    else
        asm volatile(FETCH ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(
                         shared_address(to)),
                     "l"(map), "r"(shared_address(barrier)), "r"(col), "r"(token),
                     "h"((unsigned short)((1 << CLUSTER) - 1))
                     : "memory");
}

// Bytes 0 and 2 of a word, int8, as two 16-bit numbers: exact, in three instructions.
__device__ u32 widen(u32 w) {
    u32 a, b, d;
    if (IS_HALF) {
        // 1024 + 128 + the number, less 1024 + 128.
        a = (w & 0x00ff00ffu) ^ 0x64806480u, b = 0x64806480u;
        asm("sub.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    } else {
        // 128 + the low seven bits, less 128 or, for a negative number, 256.
        a = (w & 0x007f007fu) | 0x43004300u, b = (w & 0x00800080u) | 0x43004300u;
        asm("sub.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    }
    return d;
}

// x [tokens, 64 columns] in shared memory as wgmma is told of it: rows of 128 bytes, swizzled,
// 8 rows 1024 bytes apart (PTX ISA, "Matrix descriptor format").
__device__ u64 described(const void* at) {
    return (u64)(shared_address(at) >> 4 & 0x3FFF) | (u64)(16 >> 4) << 16 |
           (u64)(1024 >> 4) << 32 | 1ull << 62;
}

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define EIGHT(d, i) FOUR(d, i), FOUR(d, i + 4)
#define SIXTEEN(d, i) EIGHT(d, i), EIGHT(d, i + 8)
#define LIST_4 "%0, %1, %2, %3"
#define LIST_8 LIST_4 ", %4, %5, %6, %7"
#define LIST_16 LIST_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define LIST_32                                                                         \
    LIST_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "  \
            "%30, %31"
// sum[64 x tokens] += weights[64 x 16] x[16 x tokens], the weights in registers.
#define WGMMA(tokens, sums, a, b)                                                           \
    "wgmma.mma_async.sync.aligned.m64n" tokens "k16.f32." TEXT(INSTRUCTION) "." TEXT(       \
        INSTRUCTION) " {" sums "}, {" a "}, " b ", 1, 1, 1, 0;"
#define WITH "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)

__device__ void multiply(float (&d)[4], const u32 (&a)[4], u64 b) {
    asm volatile(WGMMA("8", LIST_4, "%4, %5, %6, %7", "%8") : FOUR(d, 0) : WITH);
}

__device__ void multiply(float (&d)[8], const u32 (&a)[4], u64 b) {
    asm volatile(WGMMA("16", LIST_8, "%8, %9, %10, %11", "%12") : EIGHT(d, 0) : WITH);
}

__device__ void multiply(float (&d)[16], const u32 (&a)[4], u64 b) {
    asm volatile(WGMMA("32", LIST_16, "%16, %17, %18, %19", "%20") : SIXTEEN(d, 0) : WITH);
}

__device__ void multiply(float (&d)[32], const u32 (&a)[4], u64 b) {
    asm volatile(WGMMA("64", LIST_32, "%32, %33, %34, %35", "%36")
                 : SIXTEEN(d, 0), SIXTEEN(d, 16)
                 : WITH);
}

// Two k of 16 a word pair: columns 2 t, 2 t + 1 and 2 t + 8, 2 t + 9 of rows g and g + 8.
__device__ void operands(u32 (&a)[4], u32 upper, u32 lower) {
    a[0] = widen(upper), a[1] = widen(lower), a[2] = widen(upper >> 8), a[3] = widen(lower >> 8);
}

__device__ void consume(float (&sum)[SUMS], const unsigned char* ring, u64* full, u64* empty,
                        int pieces) {
    const int thread = threadIdx.x % WARPGROUP, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    // A block may end within a warpgroup; warps behind its end multiply zeros.
    const bool held = warp * 16 < ROWS;
    for (int piece = 0; piece < pieces; ++piece) {
        const int stage = piece % STAGES;
        const unsigned char* x = ring + stage * STAGE_BYTES;
        const uint4* weights = (const uint4*)(x + X_BYTES) + warp * (DEPTH / 32) * 32 + lane;
        wait(&full[stage], piece / STAGES & 1);
        u32 a[DEPTH / 16][4];
#pragma unroll
        for (int step = 0; step < DEPTH / 32; ++step) {
            const uint4 w = held ? weights[step * 32] : uint4{};
            operands(a[step * 2], w.x, w.y);
            operands(a[step * 2 + 1], w.z, w.w);
        }
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < DEPTH / 16; ++i)
            multiply(sum, a[i], described(x + i / 4 * X_PIECE + i % 4 * 32));
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" :::
                         "memory");
        if (thread < CLUSTER) arrive(&empty[stage], thread);
    }
    // What reads the sums stays behind the wait.
#pragma unroll
    for (int i = 0; i < SUMS; ++i) asm volatile("" : "+f"(sum[i])::"memory");
}

// Whether this block is the last of those that share a sum; it then has all of it, added up in
// their order.
__device__ bool added_up(float (&sum)[SUMS], float4* parts, int* arrived, int split) {
    __shared__ int before;
    constexpr int PER_PART = SUMS / 4 * CONSUMERS * WARPGROUP;
#pragma unroll
    for (int i = 0; i < SUMS; i += 4)
        __stcg(parts + split * PER_PART + i / 4 * CONSUMERS * WARPGROUP + threadIdx.x,
               float4{sum[i], sum[i + 1], sum[i + 2], sum[i + 3]});
    __threadfence();
    meet_consumers();
    if (threadIdx.x == 0) before = atomicAdd(arrived, 1);
    meet_consumers();
    if (before != SPLITS - 1) return false;
    __threadfence();
#pragma unroll
    for (int i = 0; i < SUMS; i += 4) {
        float4 all = {};
#pragma unroll
        for (int other = 0; other < SPLITS; ++other) {
            const float4 part = __ldcg(parts + other * PER_PART + i / 4 * CONSUMERS * WARPGROUP +
                                       threadIdx.x);
            all.x += part.x, all.y += part.y, all.z += part.z, all.w += part.w;
        }
        sum[i] = all.x, sum[i + 1] = all.y, sum[i + 2] = all.z, sum[i + 3] = all.w;
    }
    if (threadIdx.x == 0) *arrived = 0;
    return true;
}

// By way of shared memory, where every part of the ring has been read.
__device__ void store(const float (&sum)[SUMS], SCALAR* held, const SCALAR* scale, SCALAR* out,
                      int feature0, int token0, int tokens, int features, int out_stride) {
    constexpr int PITCH = CONSUMERS * 64 + 8;
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    meet_consumers();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = warp * 16 + half * 8 + g, feature = feature0 + row;
        const float by = row < ROWS && feature < features ? (float)scale[feature] : 0.0f;
#pragma unroll
        for (int i = 0; i < SUMS; i += 4)
#pragma unroll
            for (int odd = 0; odd < 2; ++odd)
                held[(i * 2 + t * 2 + odd) * PITCH + row] = (SCALAR)(sum[i + half * 2 + odd] * by);
    }
    meet_consumers();
    for (int at = threadIdx.x; at < TOKENS * ROWS; at += CONSUMERS * WARPGROUP) {
        const int token = at / ROWS, row = at % ROWS;
        if (token0 + token < tokens && feature0 + row < features)
            out[(long long)(token0 + token) * out_stride + feature0 + row] =
                held[token * PITCH + row];
    }
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    linear(const __grid_constant__ TensorMap x_map, const unsigned char* packed,
           const SCALAR* scale, SCALAR* out, float4* parts, int* arrived, int tokens, int features,
           int out_stride, int tiles, int pieces) {
    extern __shared__ unsigned char shared[];
    __shared__ u64 full[STAGES], empty[STAGES];
    // The swizzle counts from multiples of 1024 bytes.
    unsigned char* ring = shared + (1024 - shared_address(shared) % 1024) % 1024;
    const int tile = blockIdx.x % tiles, split = blockIdx.x / tiles, block = blockIdx.x % CLUSTER;
    const int token0 = blockIdx.y * TOKENS;
    const int first = pieces * split / SPLITS, last = pieces * (split + 1) / SPLITS;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            start_barrier(&full[stage], 1);
            start_barrier(&empty[stage], CONSUMERS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    meet_cluster();

    if (threadIdx.x == CONSUMERS * WARPGROUP) {
        u64 policy;
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
        for (int piece = first; piece < last; ++piece) {
            const int stage = (piece - first) % STAGES, lap = (piece - first) / STAGES;
            unsigned char* x = ring + stage * STAGE_BYTES;
            wait(&empty[stage], lap & 1 ^ 1);
            expect_bytes(&full[stage], STAGE_BYTES);
            fetch_weights(x + X_BYTES, packed + ((long long)tile * pieces + piece) * A_BYTES,
                          &full[stage], policy);
            // Each block of the cluster fetches its share of x for all.
            for (int part = block; part < DEPTH / 64; part += CLUSTER)
                fetch_x(x + part * X_PIECE, &x_map, &full[stage], piece * DEPTH + part * 64,
                        token0);
        }
    } else if (threadIdx.x < CONSUMERS * WARPGROUP) {
        float sum[SUMS] = {};
        consume(sum, ring, full, empty, last - first);
        const int place = blockIdx.y * tiles + tile;
        float4* own = parts + (long long)place * SPLITS * SUMS / 4 * CONSUMERS * WARPGROUP;
        if (SPLITS == 1 || added_up(sum, own, arrived + place, split))
            store(sum, (SCALAR*)ring, scale, out, tile * ROWS, token0, tokens, features,
                  out_stride);
    }
    // No block leaves while another may still arrive at its barriers.
    meet_cluster();
}
