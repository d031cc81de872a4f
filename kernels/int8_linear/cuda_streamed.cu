/* python
"""The int8 weights streamed by the copy engine and widened in front of the tensor cores. Hopper.

Weights are laid out anew so that every piece of a tile is one run of bytes, in the very order in
which the tensor cores' operands lie in a warp's registers. One warp keeps a ring of pieces under
way, weights by the bulk copy engine and x beside them; the others widen and multiply. A cluster's
blocks share the rows of a tile: each takes a part of the sum, and they add up through one another's
shared memory, so nothing but the result is written. 16-bit activations only.
"""

from dataclasses import asdict, dataclass, replace

import torch

from kernels import cuda, tuning
from kernels.definition import NotAvailable
from kernels.tensor_maps import tensor_map

SCALAR = {torch.float16: ("__half", "f16"), torch.bfloat16: ("__nv_bfloat16", "bf16")}
SHARED_BYTES = 226 * 1024
MOST_TOKENS, MOST_WARPS, MOST_SUMS, MOST_STAGES, MOST_CUTS = 64, 14, 128, 8, 3
# Columns of x that lie together in shared memory: what a lane's 16 bytes are a quarter of.
STEP = 32


@dataclass(frozen=True)
class Plan:
    """What a cut is looked for by; `engine`: x comes by the bulk copy engine too."""

    clusters: tuple[int, ...] = (2, 4, 1, 8)
    row_tiles: tuple[int, ...] = (1, 2, 4)
    engine: bool = False


@dataclass(frozen=True)
class Cut:
    """A block has `warps` of `row_tiles` x 16 features, reads `depth` of the sum at a time with
    `stages` such pieces under way, and shares its rows with the other blocks of a `cluster`."""

    warps: int
    row_tiles: int
    token_tiles: int
    depth: int
    stages: int
    cluster: int
    engine: bool

    @property
    def rows(self):
        return self.warps * self.row_tiles * 16

    @property
    def tokens(self):
        return self.token_tiles * 8

    @property
    def stage_bytes(self):
        return self.rows * self.depth + self.tokens * (self.depth * 2 + (0 if self.engine else 64))

    @property
    def shared_bytes(self):
        return max(self.stages * self.stage_bytes, self.tokens * (self.rows + 4) * 4)


def cuts(features, tokens, multiprocessors, plan):
    """Cuts that fit this many features and tokens, the likeliest first."""
    token_tiles = 1 << (-(-min(tokens, MOST_TOKENS) // 8) - 1).bit_length()
    blocks = multiprocessors // 8 * 8
    share = -(-features // (16 * blocks)) * 16
    found = []
    for cluster in plan.clusters:
        for row_tiles in plan.row_tiles:
            warps, rest = divmod(share * cluster, 16 * row_tiles)
            sums = row_tiles * token_tiles * 4
            if rest or not 0 < warps <= MOST_WARPS or sums > MOST_SUMS // (1 + (warps > 8)):
                continue
            depth = 128 if share * cluster <= 128 else 64
            cut = Cut(warps, row_tiles, token_tiles, depth, 1, cluster, plan.engine)
            stages = min(MOST_STAGES, SHARED_BYTES // cut.stage_bytes)
            if stages >= 3 and cut.shared_bytes <= SHARED_BYTES:
                found.append(replace(cut, stages=stages))
    # Eight warps or so keep all four schedulers busy.
    return sorted(found, key=lambda cut: abs(cut.warps - 8))[:MOST_CUTS]


def variants(item_bytes):
    """Cuts worth trying on a new GPU, by a short name."""
    return {
        f"c{cluster} r{row_tiles}{' engine' * engine}": Plan((cluster,), (row_tiles,), engine)
        for cluster in (1, 2, 4, 8)
        for row_tiles in (1, 2, 4)
        for engine in (False, True)
    }


def packed(weight, cut):
    """The weights [tile, piece, 16 rows, 32 columns, lane, 16 bytes]; what is missing is zero.

    A lane has 8 columns of row g and of row g + 8; in each 4 bytes columns 0, 2, 1, 3.
    """
    features, depth = weight.shape
    tiles, pieces = -(-features // cut.rows), -(-depth // cut.depth)
    whole = weight.new_zeros(tiles * cut.rows, pieces * cut.depth)
    whole[:features, :depth] = weight
    split = whole.view(tiles, cut.rows // 16, 2, 8, pieces, cut.depth // 32, 4, 2, 2, 2)
    return split.permute(0, 4, 1, 5, 3, 6, 2, 7, 9, 8).contiguous()


class Layer:
    """One layer's weights at one cut."""

    def __init__(self, weight, scale, batch, cut):
        name, instruction = SCALAR[scale.dtype]
        options = [(key.upper(), str(int(value))) for key, value in asdict(cut).items()]
        options += [("SCALAR", name), ("INSTRUCTION", instruction)]
        options += [("IS_HALF", str(int(scale.dtype == torch.float16)))]
        self.kernel = cuda.compile(SOURCE, "linear", options=options)
        self.weight, self.scale, self.cut = packed(weight, cut), scale.contiguous(), cut
        self.features, self.depth = weight.shape
        # The engine reads whole steps, so that what is beyond a row must be zero.
        width = -(-self.depth // STEP) * STEP if cut.engine else self.depth
        self.room = scale.new_zeros(batch, width)

    def __call__(self, x, out):
        if x.stride(0) % 8 or x.data_ptr() % 16 or x.shape[1] != self.room.shape[1]:
            self.room[:, : self.depth].copy_(x)
            x = self.room
        tokens, cut = len(x), self.cut
        tiles, pieces = self.weight.shape[:2]
        self.kernel(
            (tiles * cut.cluster, -(-tokens // cut.tokens)), (cut.warps + 1) * 32,
            self.by_steps(x) if cut.engine else x, self.weight, self.scale, out, tokens,
            self.depth, self.features, x.stride(0), out.stride(0), pieces,
            shared_bytes=cut.shared_bytes,
        )

    def by_steps(self, x):
        """The map of x that brings a piece's columns step by step, each step's tokens together."""
        tokens, width = x.shape
        steps = x.as_strided((width // STEP, tokens, STEP), (STEP, x.stride(0), 1))
        return tensor_map(steps, (self.cut.depth // STEP, self.cut.tokens, STEP), swizzled=False)


def prepare(state, axes, config=None):
    """The weights packed for the quickest cut, among those of the plan in `config`.

    NotAvailable but for 16 bits on Hopper, and where no cut of the plan fits.
    """
    weight, scale = state["weight"], state["scale"]
    if not weight.is_cuda or torch.cuda.get_device_capability() < (9, 0):
        raise NotAvailable("cuda_streamed needs a Hopper GPU or a later one")
    if scale.dtype not in SCALAR:
        raise NotAvailable("cuda_streamed takes float16 and bfloat16")
    if axes["in_features"] % 8:
        raise NotAvailable("cuda_streamed takes in_features that are a multiple of 8")
    batch = axes["batch"]
    x, out = scale.new_zeros(batch, weight.shape[1]), scale.new_empty(batch, len(weight))
    sms = torch.cuda.get_device_properties(weight.device).multi_processor_count
    fitting = cuts(len(weight), batch, sms, config or Plan())
    if not fitting:
        raise NotAvailable(f"no cut of {config or Plan()} fits {len(weight)} features")
    made = {}

    def layer(cut):
        if cut not in made:
            made[cut] = Layer(weight, scale, batch, cut)
        return made[cut]

    return layer(tuning.best(
        source=__file__,
        key=(*weight.shape, -(-min(batch, MOST_TOKENS) // 8), str(scale.dtype), str(config)),
        configs=fitting,
        run=lambda cut: layer(cut)(x, out),
    ))


def run(layer, inputs, out):
    """Timed: one launch; writes all of out["out"] [batch, out_features]."""
    layer(inputs["x"], out["out"])
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef unsigned int u32;
typedef unsigned long long u64;

#define ROWS (WARPS * ROW_TILES * 16)
#define TOKENS (TOKEN_TILES * 8)
#define A_BYTES (ROWS * DEPTH)
// Bytes from one token's columns to the next one's, and from a step's columns to the next one's:
// either way a quarter of a warp reads 128 bytes that lie in different banks.
#define X_PITCH (ENGINE ? 64 : DEPTH * 2 + 64)
#define X_STEP (ENGINE ? TOKENS * 64 : 64)
#define X_BYTES (ENGINE ? TOKENS * DEPTH * 2 : TOKENS * X_PITCH)
#define STAGE_BYTES (A_BYTES + X_BYTES)
#define RED_PITCH (ROWS + 4)

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void bar_init(u32 bar, u32 n) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(n));
}
__device__ __forceinline__ void bar_wait(u32 bar, u32 parity) {
    asm volatile(
        "{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
        "@p bra DONE;\nbra WAIT;\nDONE:\n}\n" ::"r"(bar), "r"(parity) : "memory");
}
__device__ __forceinline__ void bar_arrive(u32 bar) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(bar) : "memory");
}
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

// Bytes 0 and 2 of a word, int8, as two 16-bit numbers: exact, in three instructions.
__device__ __forceinline__ u32 widen(u32 w) {
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

__device__ __forceinline__ void mma(float* c, const u32* a, u32 b0, u32 b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32." TEXT(INSTRUCTION) "." TEXT(INSTRUCTION)
        ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#if ENGINE
struct __align__(64) Map { u64 opaque[16]; };
#define X_KIND const __grid_constant__ Map
#else
#define X_KIND const SCALAR*
#endif

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((WARPS + 1) * 32, 1)
linear(X_KIND x, const unsigned char* packed, const SCALAR* scale, SCALAR* out,
       int tokens, int k_all, int n_all, int x_stride, int out_stride, int chunks) {
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ u64 bars[2 * STAGES];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int tile = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER;
    const int token0 = blockIdx.y * TOKENS;
    const int first = (long long)chunks * rank / CLUSTER, last = (long long)chunks * (rank + 1) / CLUSTER;
    const u32 base = shared_address(smem), bar = shared_address(bars);
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) { bar_init(bar + 8 * s, ENGINE ? 1 : 33); bar_init(bar + 8 * (STAGES + s), WARPS); }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    float acc[ROW_TILES][TOKEN_TILES][4];
    #pragma unroll
    for (int i = 0; i < ROW_TILES; ++i)
        #pragma unroll
        for (int j = 0; j < TOKEN_TILES; ++j)
            #pragma unroll
            for (int c = 0; c < 4; ++c) acc[i][j][c] = 0.0f;

    if (warp == WARPS) {
        u64 policy;
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
        // The engine needs one lane; the others would fall behind the barriers' phases.
        for (int i = ENGINE && lane ? last : first; i < last; ++i) {
            const int n = i - first, s = n % STAGES;
            if (n >= STAGES) bar_wait(bar + 8 * (STAGES + s), ((n / STAGES) & 1) ^ 1);
            const u32 full = bar + 8 * s, a_at = base + s * STAGE_BYTES, x_at = a_at + A_BYTES;
            if (lane == 0) {
                asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(full), "r"(A_BYTES + ENGINE * X_BYTES) : "memory");
                const unsigned char* from = packed + ((long long)tile * chunks + i) * A_BYTES;
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
                    ::"r"(a_at), "l"(from), "r"(A_BYTES), "r"(full), "l"(policy) : "memory");
            }
#if ENGINE
            if (lane == 0)
                asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                    ::"r"(x_at), "l"(&x), "r"(full), "r"(0), "r"(token0), "r"(i * (DEPTH / 32)) : "memory");
#else
            #pragma unroll 4
            for (int p = lane; p < TOKENS * (DEPTH / 8); p += 32) {
                const int m = p / (DEPTH / 8), k = i * DEPTH + (p % (DEPTH / 8)) * 8;
                const bool held = token0 + m < tokens && k < k_all;
                const SCALAR* from = held ? x + (long long)(token0 + m) * x_stride + k : x;
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                    ::"r"(x_at + m * X_PITCH + (p % (DEPTH / 8)) * 16), "l"(from), "r"(held ? 16 : 0) : "memory");
            }
            asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(full) : "memory");
#endif
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
    } else {
        const int g = lane / 4, t = lane % 4;
        for (int i = first; i < last; ++i) {
            const int n = i - first, s = n % STAGES;
            const unsigned char* a_at = smem + s * STAGE_BYTES;
            const unsigned char* x_at = a_at + A_BYTES;
            bar_wait(bar + 8 * s, (n / STAGES) & 1);
            #pragma unroll
            for (int step = 0; step < DEPTH / 32; ++step) {
                uint4 b[TOKEN_TILES];
                #pragma unroll
                for (int j = 0; j < TOKEN_TILES; ++j)
                    b[j] = *(const uint4*)(x_at + (j * 8 + g) * X_PITCH + step * X_STEP + t * 16);
                #pragma unroll
                for (int r = 0; r < ROW_TILES; ++r) {
                    const uint4 w = *(const uint4*)(a_at + (((warp * ROW_TILES + r) * (DEPTH / 32) + step) * 32 + lane) * 16);
                    u32 a[4];
                    a[0] = widen(w.x); a[2] = widen(w.x >> 8);
                    a[1] = widen(w.z); a[3] = widen(w.z >> 8);
                    #pragma unroll
                    for (int j = 0; j < TOKEN_TILES; ++j) mma(acc[r][j], a, b[j].x, b[j].y);
                    a[0] = widen(w.y); a[2] = widen(w.y >> 8);
                    a[1] = widen(w.w); a[3] = widen(w.w >> 8);
                    #pragma unroll
                    for (int j = 0; j < TOKEN_TILES; ++j) mma(acc[r][j], a, b[j].z, b[j].w);
                }
            }
            __syncwarp();
            if (lane == 0) bar_arrive(bar + 8 * (STAGES + s));
        }
    }
    __syncthreads();
    float* red = (float*)smem;
    if (warp < WARPS) {
        const int g = lane / 4, t = lane % 4;
        #pragma unroll
        for (int r = 0; r < ROW_TILES; ++r)
            #pragma unroll
            for (int j = 0; j < TOKEN_TILES; ++j)
                #pragma unroll
                for (int c = 0; c < 4; ++c)
                    red[(j * 8 + 2 * t + (c & 1)) * RED_PITCH + (warp * ROW_TILES + r) * 16 + g + 8 * (c >> 1)] = acc[r][j][c];
    }
    if (CLUSTER > 1) {
        asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    } else __syncthreads();
    const int share = ROWS / CLUSTER;
    for (int p = threadIdx.x; p < share * TOKENS; p += (WARPS + 1) * 32) {
        const int m = p / share, row = rank * share + p % share, n = tile * ROWS + row;
        if (token0 + m >= tokens) break;
        float sum = 0.0f;
        const u32 at = base + (m * RED_PITCH + row) * 4;
        #pragma unroll
        for (int c = 0; c < CLUSTER; ++c) {
            u32 there; float part;
            asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(c));
            asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(part) : "r"(there) : "memory");
            sum += part;
        }
        if (n < n_all) out[(long long)(token0 + m) * out_stride + n] = (SCALAR)(sum * (float)scale[n]);
    }
    if (CLUSTER > 1)
        asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
