/* python
"""The int8 weights widened in registers in front of the tensor cores: by warps where few rows are
in a product, by warpgroups where many are. Hopper.

Either way weights are laid out in the order in which their operands lie in a lane's registers, and
they and x come by the bulk copy engine; weights are asked for before the call in front has ended.
Weights are kept as numbers + 128, of which two instructions make two 16-bit numbers. Up to 16 rows
a warp multiplies 16 features, and warps that share them take turns within a piece of the sum;
beyond, a warpgroup multiplies 64 by `wgmma`, which reads x itself, and half a piece is widened while
the other half is multiplied. Where a call is short, blocks leave room for those of the next one,
which asks for its weights meanwhile. Blocks that share a sum leave their parts in memory, and
the last of them to finish adds them up in their order: the result is the same every time. 16-bit
activations only.
"""

import itertools
from dataclasses import asdict, dataclass

import torch

from kernels import cuda, tuning
from kernels.definition import NotAvailable
from kernels.tensor_maps import addressable, tensor_map

SCALAR = {torch.float16: ("__half", "f16"), torch.bfloat16: ("__nv_bfloat16", "bf16")}
SHARED_BYTES = 226 * 1024
# Features of a warp and of a warpgroup; columns of x that are swizzled together, and of a step.
WARP_FEATURES, FEATURES, SWIZZLED, STEP = 16, 64, 64, 32
LEAST_TOKENS, MOST_TOKENS, MOST_ROWS, MOST_WARPS = 8, 64, 224, 8
LEAST_STAGES, MOST_STAGES = 3, 8
# Up to so many rows of x a warp's own products are quick enough, and begin and end sooner.
FEW_TOKENS = 16
# Columns of a piece, and the bytes of weights that a copy should have to be worth its while.
DEPTHS, PIECE_BYTES = (128, 256, 512), 12 * 1024
SPLITS, RESIDENTS = (1, 2, 4, 8), (1, 2)
# A call of up to so many weights is over so soon that the next one should be there already.
SHORT_BYTES = 32 << 20
# How it is launched: while the kernel in front ends; it waits by itself before it reads x.
LAUNCH = {"early": True}


@dataclass(frozen=True)
class Cut:
    """A block has `rows` features and `tokens`, reads `depth` of the sum at a time with `stages`
    such pieces under way; `splits` blocks share a sum, and in a block `turns` warps; no turns:
    warpgroups. A multiprocessor has room for so many `resident` blocks, of two calls then."""

    rows: int
    tokens: int
    splits: int
    depth: int
    turns: int
    resident: int = 1
    stages: int = 1

    @property
    def threads(self):
        tiles = self.rows // WARP_FEATURES
        return (tiles * self.turns if self.turns else -(-self.rows // FEATURES) * 4) * 32 + 32

    @property
    def holders(self):
        """Threads that have the sums in the end."""
        return self.rows // WARP_FEATURES * 32 if self.turns else self.threads - 32

    @property
    def stage_bytes(self):
        return (self.rows + 2 * self.tokens) * self.depth

    @property
    def shared_bytes(self):
        return 1024 + self.stages * self.stage_bytes


def cut_of(features, depth, tokens, multiprocessors, splits, resident=1):
    """The cut of so many splits that gives multiprocessors a block each; None where none fits."""
    width = min(MOST_TOKENS, max(LEAST_TOKENS, 1 << (tokens - 1).bit_length()))
    tiles = multiprocessors // 8 * 8 // splits
    # More features than all of them hold at once are taken in rounds, whole sums only.
    rounds = -(-features // (tiles * MOST_ROWS))
    rows = -(-features // (16 * tiles * rounds)) * 16
    turns, column = 0, DEPTHS[0]
    if width <= FEW_TOKENS:
        fitting = [one for one in (2, 4) if rows // WARP_FEATURES * one <= MOST_WARPS]
        turns = max(fitting, default=1)
        column = next((one for one in DEPTHS if rows * one >= PIECE_BYTES), DEPTHS[-1])
    else:
        rows = max(FEATURES, rows)
        # Two blocks of warpgroups on one multiprocessor take twice as long, and others have none.
        if resident > 1:
            return None
    # Where a call is long its own pieces are worth more than the next one's beginning.
    if resident > 1 and features * depth > SHORT_BYTES:
        return None
    if splits > 1 and (rounds > 1 or splits > -(-depth // column)):
        return None
    stage_bytes = Cut(rows, width, splits, column, turns).stage_bytes
    # Beside the pieces: what they are aligned by, barriers, and what the driver takes.
    stages = min(MOST_STAGES, (SHARED_BYTES // resident - 2048) // stage_bytes)
    if resident > 1 and stages < LEAST_STAGES:
        return None
    return Cut(rows, width, splits, column, turns, resident, stages)


def cuts(features, depth, tokens, multiprocessors):
    """Those that leave few multiprocessors without a block; without such, the one with most."""
    found = [
        cut_of(features, depth, tokens, multiprocessors, *one)
        for one in itertools.product(SPLITS, RESIDENTS)
    ]
    # Few features have the same rows at any number of splits.
    blocks = {cut: -(-features // cut.rows) * cut.splits for cut in found if cut is not None}
    least = min(multiprocessors * 2 // 3, max(blocks.values(), default=0))
    return [cut for cut in blocks if blocks[cut] >= least]


def variants(item_bytes):
    """Splits and residents worth trying on a new GPU, by a short name."""
    tried = itertools.product(SPLITS, RESIDENTS)
    return {f"s{splits} r{resident}": (splits, resident) for splits, resident in tried}


def packed(weight, rows, column):
    """The weights + 128 [tile, piece, 16 rows, 32 columns, lane, 16 bytes]; 0 where none is.

    Lane 4 g + t has of both halves of the columns, 16 each, of row g and of row g + 8 the columns
    2 t, 2 t + 8, 2 t + 1, 2 t + 9.
    """
    features, depth = weight.shape
    tiles, pieces = -(-features // rows), -(-depth // column)
    # A number's highest bit turned is the number + 128, read without a sign.
    whole = weight.new_full((tiles * rows, pieces * column), -128)
    whole[:features, :depth] = weight ^ -128
    # tile, rows of 16, half of the rows, g; piece, step, half of the columns, upper, t, odd
    split = whole.view(tiles, rows // 16, 2, 8, pieces, column // STEP, 2, 2, 4, 2)
    return split.permute(0, 4, 1, 5, 3, 8, 6, 2, 9, 7).contiguous()


class Layer:
    """One layer's weights at one cut."""

    def __init__(self, weight, scale, batch, cut):
        name, instruction = SCALAR[scale.dtype]
        options = [(key.upper(), str(value)) for key, value in asdict(cut).items()]
        options += [("SCALAR", name), ("INSTRUCTION", instruction)]
        options += [("IS_HALF", str(int(scale.dtype == torch.float16)))]
        self.kernel = cuda.compile(SOURCE, "linear", options=options)
        self.weight = packed(weight, cut.rows, cut.depth)
        self.scale, self.cut = scale.contiguous(), cut
        self.features, self.depth = weight.shape
        self.room = scale.new_zeros(batch, -(-self.depth // 8) * 8)
        across = -(-batch // cut.tokens)
        tiles, shares = len(self.weight), cut.splits if cut.splits > 1 else 0
        size = (across, tiles, shares, cut.tokens // 2, cut.holders)
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
            shared_bytes=cut.shared_bytes, **LAUNCH,
        )


def prepare(state, axes, config=None):
    """The weights packed for the quickest cut, or for splits and residents in `config`.

    NotAvailable but for 16 bits on Hopper, and where no cut fits.
    """
    weight, scale = state["weight"], state["scale"]
    if not weight.is_cuda or torch.cuda.get_device_capability()[0] != 9:
        raise NotAvailable("cuda_by_rows is written for Hopper (compute capability 9.0)")
    if scale.dtype not in SCALAR:
        raise NotAvailable("cuda_by_rows takes float16 and bfloat16")
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

constexpr int WARPGROUP = 128, TILES = ROWS / 16, SUMS = TOKENS / 2;
constexpr int X_PIECE = TOKENS * 128, X_BYTES = TOKENS * DEPTH * 2, A_BYTES = ROWS * DEPTH;
constexpr int STAGE_BYTES = X_BYTES + A_BYTES;
// Those who multiply; those of them who have the sums in the end; arrivals that free a stage.
constexpr int CONSUMERS = TURNS ? TILES * TURNS * 32 : (ROWS + 63) / 64 * WARPGROUP;
constexpr int HOLDERS = TURNS ? TILES * 32 : CONSUMERS;
constexpr int READERS = TURNS ? CONSUMERS / 32 : CONSUMERS / WARPGROUP;

// What a widened number is multiplied by to be itself.
constexpr float WIDENED = IS_HALF ? 1.0f : 128.0f;

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

__device__ void arrive(u64* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
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

__device__ void meet_consumers() { asm volatile("bar.sync 1, %0;" ::"n"(CONSUMERS) : "memory"); }
__device__ void meet_holders() { asm volatile("bar.sync 2, %0;" ::"n"(HOLDERS) : "memory"); }

// A run of bytes that nobody asks for again in this call.
__device__ void fetch_weights(void* to, const unsigned char* from, u64* barrier, u64 policy) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
        "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
        "l"(from), "r"(A_BYTES), "r"(shared_address(barrier)), "l"(policy)
        : "memory");
}

// 64 columns of x.
__device__ void fetch_x(void* to, const TensorMap* map, u64* barrier, int col, int token) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4}], [%2];" ::"r"(shared_address(to)),
        "l"(map), "r"(shared_address(barrier)), "r"(col), "r"(token)
        : "memory");
}

// Bytes 0 and 2 of a word, or 1 and 3, each a number + 128, as two 16-bit numbers: exact, in two
// instructions. As half: 1024 + 128 + the number, less 1024 + 128. As bf16, a byte alone is so many
// times 2^-133, since its eighth bit is the lowest of the exponent, where denormals end: times
// 2^126, less 1, it is the number by WIDENED.
__device__ u32 widen(u32 w, int odd) {
    const u32 above = IS_HALF ? 0x64646464u : 0;
    const u32 a = __byte_perm(w, above, odd ? 0x4341 : 0x4240);
    u32 d;
    if (IS_HALF)
        asm("sub.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(0x64806480u));
    else
        asm("fma.rn.bf16x2 %0, %1, %2, %3;"
            : "=r"(d)
            : "r"(a), "r"(0x7e807e80u), "r"(0xbf80bf80u));
    return d;
}

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])

// Two k of 16 a word pair: columns 2 t, 2 t + 1 and 2 t + 8, 2 t + 9 of rows g and g + 8.
__device__ void operands(u32 (&a)[4], u32 upper, u32 lower) {
    a[0] = widen(upper, 0), a[1] = widen(lower, 0);
    a[2] = widen(upper, 1), a[3] = widen(lower, 1);
}

#if TURNS
// 8 tokens by 32 columns of swizzled x, operands of two products: a lane names a row of 16 bytes.
__device__ void load_x(u32 (&b)[4], u32 from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(from)
                 : "memory");
}

// sum[16 x 8] += weights[16 x 16] x[16 x 8].
__device__ void multiply(float* sum, const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TEXT(INSTRUCTION) "." TEXT(
                     INSTRUCTION) ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                                  "{%0, %1, %2, %3};"
                 : FOUR(sum, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Warp `turn` of a tile takes the steps turn, turn + TURNS, ... of every piece.
__device__ void consume_by_warps(float (&sum)[SUMS], const unsigned char* ring, u64* full,
                                 u64* empty, int pieces) {
    const int lane = threadIdx.x % 32, tile = threadIdx.x / 32 % TILES;
    const int turn = threadIdx.x / 32 / TILES, token = lane % 8, quarter = lane / 8;
    const int own = X_BYTES + (tile * (DEPTH / 32) + turn) * 512 + lane * 16;
    const u32 own_x = shared_address(ring) + turn / 2 * X_PIECE + token * 128 +
                      (turn % 2 * 4 + quarter ^ token) * 16;
    for (int piece = 0, stage = 0, lap = 0; piece < pieces; ++piece) {
        const int at = stage * STAGE_BYTES;
        wait(&full[stage], lap);
#pragma unroll
        for (int i = 0; i < DEPTH / 32 / TURNS; ++i) {
            const uint4 w = *(const uint4*)(ring + at + own + i * TURNS * 512);
            u32 first[4], second[4];
            operands(first, w.x, w.y);
            operands(second, w.z, w.w);
#pragma unroll
            for (int group = 0; group < TOKENS / 8; ++group) {
                u32 b[4];
                load_x(b, at + (own_x ^ i * TURNS % 2 * 64) + i * TURNS / 2 * X_PIECE +
                              group * 1024);
                multiply(&sum[group * 4], first, b[0], b[1]);
                multiply(&sum[group * 4], second, b[2], b[3]);
            }
        }
        __syncwarp();
        if (lane == 0) arrive(&empty[stage]);
        if (++stage == STAGES) stage = 0, lap ^= 1;
    }
}

// What the warps of a tile have found, turn after turn, into the sums of the first of them.
__device__ void take_turns(float (&sum)[SUMS], float4* shared) {
    const int turn = threadIdx.x / HOLDERS, holder = threadIdx.x % HOLDERS;
    // Every part of the ring has been read.
    meet_consumers();
#pragma unroll
    for (int i = 0; i < SUMS / 4; ++i)
        if (turn)
            shared[((turn - 1) * (SUMS / 4) + i) * HOLDERS + holder] =
                float4{sum[i * 4], sum[i * 4 + 1], sum[i * 4 + 2], sum[i * 4 + 3]};
    meet_consumers();
    if (turn) return;
#pragma unroll
    for (int other = 0; other < TURNS - 1; ++other)
#pragma unroll
        for (int i = 0; i < SUMS / 4; ++i) {
            const float4 part = shared[(other * (SUMS / 4) + i) * HOLDERS + holder];
            sum[i * 4] += part.x, sum[i * 4 + 1] += part.y;
            sum[i * 4 + 2] += part.z, sum[i * 4 + 3] += part.w;
        }
}
#else
// x [tokens, 64 columns] in shared memory as wgmma is told of it: rows of 128 bytes, swizzled,
// 8 rows 1024 bytes apart (PTX ISA, "Matrix descriptor format").
__device__ u64 described(u32 at) {
    return (u64)(at >> 4 & 0x3FFF) | (u64)(16 >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}

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

__device__ void multiply(float (&d)[16], const u32 (&a)[4], u64 b) {
    asm volatile(WGMMA("32", LIST_16, "%16, %17, %18, %19", "%20") : SIXTEEN(d, 0) : WITH);
}

__device__ void multiply(float (&d)[32], const u32 (&a)[4], u64 b) {
    asm volatile(WGMMA("64", LIST_32, "%32, %33, %34, %35", "%36")
                 : SIXTEEN(d, 0), SIXTEEN(d, 16)
                 : WITH);
}

__device__ void consume_by_warpgroups(float (&sum)[SUMS], const unsigned char* ring, u64* full,
                                      u64* empty, int pieces) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool speaks = threadIdx.x % WARPGROUP == 0;
    // A block may end within a warpgroup: what warps behind its end multiply is never stored.
    const int tile = min(warp, TILES - 1);
    const unsigned char* own = ring + X_BYTES + (tile * (DEPTH / 32) * 32 + lane) * 16;
    // Where x is does not hang on the thread.
    const u64 ring_x = described(shared_address(ring));
    u32 a[2][DEPTH / 32][4];
    // That all of a warp count the same pieces the compiler sees by this: it counts once for a warp.
    pieces = __shfl_sync(0xffffffffu, pieces, 0);
    for (int piece = 0, stage = 0, lap = 0, before = 0; piece < pieces; ++piece) {
        const u64 x = ring_x + (u32)stage * (STAGE_BYTES >> 4);
        wait(&full[stage], lap);
        uint4 words[DEPTH / 32];
#pragma unroll
        for (int step = 0; step < DEPTH / 32; ++step)
            words[step] = *(const uint4*)(own + stage * STAGE_BYTES + step * 512);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int step = 0; step < DEPTH / 64; ++step) {
                const uint4 w = words[half * (DEPTH / 64) + step];
                operands(a[half][step * 2], w.x, w.y);
                operands(a[half][step * 2 + 1], w.z, w.w);
            }
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int i = 0; i < DEPTH / 32; ++i)
                multiply(sum, a[half][i], x + (half * X_PIECE + i * 32 >> 4));
            // All but these are done: the other half's registers are free.
            asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;" :::
                             "memory");
            if (half == 0 && piece > 0 && speaks) arrive(&empty[before]);
        }
        before = stage;
        if (++stage == STAGES) stage = 0, lap ^= 1;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    // What reads the sums stays behind the wait.
#pragma unroll
    for (int i = 0; i < SUMS; ++i) asm volatile("" : "+f"(sum[i])::"memory");
}
#endif

// Whether this block is the last of those that share a sum; it then has all of it, added up in
// their order.
__device__ bool added_up(float (&sum)[SUMS], float4* parts, int* arrived, int split) {
    __shared__ int before;
    constexpr int PER_PART = SUMS / 4 * HOLDERS;
#pragma unroll
    for (int i = 0; i < SUMS; i += 4)
        __stcg(parts + split * PER_PART + i / 4 * HOLDERS + threadIdx.x,
               float4{sum[i], sum[i + 1], sum[i + 2], sum[i + 3]});
    __threadfence();
    meet_holders();
    if (threadIdx.x == 0) before = atomicAdd(arrived, 1);
    meet_holders();
    if (before != SPLITS - 1) return false;
    __threadfence();
#pragma unroll
    for (int i = 0; i < SUMS; i += 4) {
        float4 all = {};
#pragma unroll
        for (int other = 0; other < SPLITS; ++other) {
            const float4 part =
                __ldcg(parts + other * PER_PART + i / 4 * HOLDERS + threadIdx.x);
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
    constexpr int PITCH = HOLDERS / 2 + 8;
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    meet_holders();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = warp * 16 + half * 8 + g, feature = feature0 + row;
        const float by = row < ROWS && feature < features ? WIDENED * (float)scale[feature] : 0.0f;
#pragma unroll
        for (int i = 0; i < SUMS; i += 4)
#pragma unroll
            for (int odd = 0; odd < 2; ++odd)
                held[(i * 2 + t * 2 + odd) * PITCH + row] = (SCALAR)(sum[i + half * 2 + odd] * by);
    }
    meet_holders();
    for (int at = threadIdx.x; at < TOKENS * ROWS; at += HOLDERS) {
        const int token = at / ROWS, row = at % ROWS;
        if (token0 + token < tokens && feature0 + row < features)
            out[(long long)(token0 + token) * out_stride + feature0 + row] =
                held[token * PITCH + row];
    }
}

__device__ void produce(unsigned char* ring, u64* full, u64* empty, const TensorMap* x_map,
                        const unsigned char* weights, int first, int pieces, int token0) {
    u64 policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    const auto ask = [&](int piece) {
        const int stage = piece % STAGES;
        expect_bytes(&full[stage], STAGE_BYTES);
        fetch_weights(ring + stage * STAGE_BYTES + X_BYTES,
                      weights + (long long)(first + piece) * A_BYTES, &full[stage], policy);
    };
    const auto ask_x = [&](int piece) {
        const int stage = piece % STAGES;
#pragma unroll
        for (int part = 0; part < DEPTH / 64; ++part)
            fetch_x(ring + stage * STAGE_BYTES + part * X_PIECE, x_map, &full[stage],
                    (first + piece) * DEPTH + part * 64, token0);
    };
    const int ahead = min(STAGES, pieces);
    for (int piece = 0; piece < ahead; ++piece) ask(piece);
    // Nothing in front writes weights; x is there when the kernel in front has ended.
    asm volatile("griddepcontrol.wait;" ::: "memory");
    for (int piece = 0; piece < ahead; ++piece) ask_x(piece);
    for (int piece = ahead; piece < pieces; ++piece) {
        wait(&empty[piece % STAGES], piece / STAGES & 1 ^ 1);
        ask(piece);
        ask_x(piece);
    }
}

extern "C" __global__ void __launch_bounds__(CONSUMERS + 32, RESIDENT)
    linear(const __grid_constant__ TensorMap x_map, const unsigned char* packed,
           const SCALAR* scale, SCALAR* out, float4* parts, int* arrived, int tokens, int features,
           int out_stride, int tiles, int pieces) {
    extern __shared__ unsigned char shared[];
    __shared__ u64 full[STAGES], empty[STAGES];
    // The swizzle counts from multiples of 1024 bytes.
    unsigned char* ring = shared + (1024 - shared_address(shared) % 1024) % 1024;
    const int tile = blockIdx.x % tiles, split = blockIdx.x / tiles;
    const int token0 = blockIdx.y * TOKENS;
    const int first = pieces * split / SPLITS, last = pieces * (split + 1) / SPLITS;
    const bool fetches = threadIdx.x == CONSUMERS;
    // Nothing of this call is needed by the next until all of it has ended: that waits by itself.
    if (RESIDENT > 1) asm volatile("griddepcontrol.launch_dependents;");
    if (fetches) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&x_map) : "memory");
        for (int stage = 0; stage < STAGES; ++stage) {
            start_barrier(&full[stage], 1);
            start_barrier(&empty[stage], READERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    if (fetches) {
        produce(ring, full, empty, &x_map, packed + (long long)tile * pieces * A_BYTES, first,
                last - first, token0);
    } else if (threadIdx.x < CONSUMERS) {
        float sum[SUMS] = {};
#if TURNS
        consume_by_warps(sum, ring, full, empty, last - first);
        if (TURNS > 1) take_turns(sum, (float4*)ring);
        if (threadIdx.x >= HOLDERS) return;
#else
        consume_by_warpgroups(sum, ring, full, empty, last - first);
#endif
        const int place = blockIdx.y * tiles + tile;
        float4* own = parts + (long long)place * SPLITS * SUMS / 4 * HOLDERS;
        if (SPLITS == 1 || added_up(sum, own, arrived + place, split))
            store(sum, (SCALAR*)ring, scale, out, tile * ROWS, token0, tokens, features,
                  out_stride);
    }
}
