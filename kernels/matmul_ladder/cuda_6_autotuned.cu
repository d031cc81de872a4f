/* python
"""Rung 6, autotuned: rung 5 with its tile, its ring and its order chosen by trying.

Blocks stay and take tile after tile, in an order that keeps the tiles at work near each other in
the L2 cache; the blocks of a cluster fetch a part of `b` each for all; results leave through
shared memory by the copy engine while the next tile is being multiplied. Few rows have cuts of
their own. Odd n and k are padded: `b` once, `a` in every call. 16-bit, Hopper (sm_90a).
"""

from dataclasses import asdict, dataclass

import torch

from kernels import cuda, tuning
from kernels.definition import NotAvailable
from kernels.tensor_maps import addressable, tensor_map

SCALAR = {torch.float16: ("__half", "f16"), torch.bfloat16: ("__nv_bfloat16", "bf16")}
# Rows of a warpgroup, length of a stage's sums, columns that the engine brings or takes at once.
ROWS, DEPTH, PIECE, SLOTS = 64, 64, 64, 2
UNIT = 8


@dataclass(frozen=True)
class Config:
    """One cut: `consumers` warpgroups of 64 x `tile_n` each, `stages` in the ring, `cluster`
    blocks below each other, and `group` of them down before going right."""

    consumers: int
    tile_n: int
    stages: int
    cluster: int
    group: int

    @property
    def tile_m(self):
        return self.consumers * ROWS

    @property
    def threads(self):
        return (self.consumers + 1) * 128

    @property
    def shared_bytes(self):
        ring = self.stages * (self.tile_m + self.tile_n) * DEPTH * 2
        return 1024 + ring + self.consumers * SLOTS * ROWS * PIECE * 2


MANY_ROWS = (
    Config(consumers=2, tile_n=256, stages=4, cluster=2, group=8),
    Config(consumers=2, tile_n=256, stages=4, cluster=1, group=16),
    Config(consumers=2, tile_n=256, stages=4, cluster=2, group=4),
    Config(consumers=2, tile_n=192, stages=4, cluster=2, group=8),
    Config(consumers=2, tile_n=128, stages=6, cluster=1, group=16),
)
FEW_ROWS = (
    Config(consumers=1, tile_n=128, stages=8, cluster=1, group=8),
    Config(consumers=1, tile_n=192, stages=6, cluster=1, group=8),
    Config(consumers=1, tile_n=64, stages=12, cluster=1, group=8),
    Config(consumers=1, tile_n=256, stages=5, cluster=1, group=8),
)


def configs(rows):
    """The cuts worth trying, the one to fall back on first."""
    return FEW_ROWS if rows <= ROWS else MANY_ROWS


def variants(item_bytes):
    """Every cut by a short name, to be tried on a new GPU."""
    return {
        f"{cut.tile_m}x{cut.tile_n} s{cut.stages} c{cut.cluster} g{cut.group}": cut
        for cut in (*MANY_ROWS, *FEW_ROWS)
    }


class Product:
    """One weight at one cut."""

    def __init__(self, b, axes, config):
        name, instruction = SCALAR[b.dtype]
        options = [("SCALAR", name), ("INSTRUCTION", instruction)]
        options += [(key.upper(), str(value)) for key, value in asdict(config).items()]
        self.kernel = cuda.compile(SOURCE, "autotuned", options=options)
        self.b, self.config = b, config
        self.b_map = tensor_map(b, (1, DEPTH, PIECE))
        self.padded = b.new_zeros(axes["batch"], axes["m"], b.shape[1])
        self.blocks = torch.cuda.get_device_properties(b.device).multi_processor_count

    def __call__(self, a, c):
        batch, m, n = c.shape
        k = a.shape[2]
        if not addressable(a) or k != self.b.shape[1]:
            self.padded[:, :m, :k].copy_(a)
            a = self.padded[:, :m]
        cut = self.config
        tiles = batch * -(-m // (cut.tile_m * cut.cluster)) * -(-n // cut.tile_n)
        a_map = tensor_map(a, (1, cut.tile_m, DEPTH))
        # Rows that the engine cannot address are stored by threads, which read no map.
        whole = addressable(c)
        c_map = tensor_map(c, (1, ROWS, PIECE)) if whole else a_map
        self.kernel(
            min(tiles, self.blocks // cut.cluster) * cut.cluster, cut.threads,
            a_map, self.b_map, c_map, c, batch, m, n, self.b.shape[1], int(whole),
            shared_bytes=cut.shared_bytes,
        )


def prepare(state, axes, config=None):
    """Pad `b` where its sides ask for it and choose the cut. NotAvailable off Hopper, in fp32."""
    b = state["b"]
    if b.dtype not in SCALAR:
        raise NotAvailable("cuda_6_autotuned multiplies 16-bit operands; take cuda_3_tiled")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9:
        raise NotAvailable("cuda_6_autotuned is written for Hopper (compute capability 9.0)")
    batch, k, n = b.shape
    b = torch.nn.functional.pad(b, (0, -n % UNIT, 0, -k % UNIT)).contiguous()
    if config is not None:
        return Product(b, axes, config)
    a = b.new_empty(batch, axes["m"], k).normal_()
    c = b.new_empty(batch, axes["m"], n)
    products = {}

    def tried(cut):
        if cut not in products:
            products[cut] = Product(b, axes, cut)
        products[cut](a, c)

    key = (batch, axes["m"], n, k, str(b.dtype))
    cut = tuning.best(source=__file__, key=key, configs=configs(axes["m"]), run=tried)
    return products.get(cut) or Product(b, axes, cut)


def run(product, inputs, out):
    """One product; writes all of out["c"] [batch, m, n]."""
    product(inputs["a"], out["c"])
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

constexpr int ROWS = 64, DEPTH = 64, PIECE = 64, SLOTS = 2, WARPGROUP = 128;
constexpr int TILE_M = CONSUMERS * ROWS, PIECES = TILE_N / PIECE, SUMS = TILE_N / 2;
// A piece is as wide as the 128 bytes that are swizzled, as deep as a stage and as high as a
// warpgroup's rows.
constexpr int PIECE_BYTES = 64 * PIECE * 2, A_BYTES = CONSUMERS * PIECE_BYTES;
constexpr int B_BYTES = PIECES * PIECE_BYTES;

typedef unsigned long long Barrier;
struct __align__(64) TensorMap { unsigned long long opaque[16]; };

__device__ unsigned shared_address(const void* at) {
    return (unsigned)__cvta_generic_to_shared(at);
}

__device__ void start_barrier(Barrier* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals));
}

__device__ void expect_bytes(Barrier* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

// Arrives at the barrier of the same place in a block of the cluster.
__device__ void arrive(Barrier* barrier, int block) {
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
        "}" ::"r"(shared_address(barrier)),
        "r"(block)
        : "memory");
}

__device__ void wait(Barrier* barrier, int parity) {
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

#define FETCH "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"

__device__ void fetch(void* to, const TensorMap* map, Barrier* barrier, int x, int y, int z) {
    asm volatile(FETCH " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(to)), "l"(map),
                 "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

// The same into all blocks of the cluster, which each count the bytes.
__device__ void fetch_for_all(void* to, const TensorMap* map, Barrier* barrier, int x, int y,
                              int z) {
    asm volatile(FETCH ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(
                     shared_address(to)),
                 "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z),
                 "h"((unsigned short)((1 << CLUSTER) - 1))
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
#define QUARTER(d, i) EIGHT(d, i), EIGHT(d, i + 8), EIGHT(d, i + 16), EIGHT(d, i + 24)
#define FIRST                                                                               \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SECOND                                                                              \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "    \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define THIRD                                                                               \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "    \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define FOURTH                                                                              \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "    \
    "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, "  \
    "%124, %125, %126, %127"
// sum[64 x columns] (+)= a[64 x 16] b[16 x columns]; b's columns lie side by side: the last 1.
#define WGMMA(columns, sums, a, b, onto)                                                    \
    "{\n.reg .pred onto;\nsetp.ne.b32 onto, " onto ", 0;\n"                                 \
    "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." TEXT(INSTRUCTION) "." TEXT(      \
        INSTRUCTION) " {" sums "}, " a ", " b ", onto, 1, 1, 0, 1;\n}"
#define WITH "l"(a), "l"(b), "r"(onto)

__device__ void multiply(float (&d)[32], unsigned long long a, unsigned long long b, int onto) {
    asm volatile(WGMMA("64", FIRST, "%32", "%33", "%34") : QUARTER(d, 0) : WITH);
}

__device__ void multiply(float (&d)[64], unsigned long long a, unsigned long long b, int onto) {
    asm volatile(WGMMA("128", FIRST SECOND, "%64", "%65", "%66")
                 : QUARTER(d, 0), QUARTER(d, 32)
                 : WITH);
}

__device__ void multiply(float (&d)[96], unsigned long long a, unsigned long long b, int onto) {
    asm volatile(WGMMA("192", FIRST SECOND THIRD, "%96", "%97", "%98")
                 : QUARTER(d, 0), QUARTER(d, 32), QUARTER(d, 64)
                 : WITH);
}

__device__ void multiply(float (&d)[128], unsigned long long a, unsigned long long b, int onto) {
    asm volatile(WGMMA("256", FIRST SECOND THIRD FOURTH, "%128", "%129", "%130")
                 : QUARTER(d, 0), QUARTER(d, 32), QUARTER(d, 64), QUARTER(d, 96)
                 : WITH);
}

struct Tile {
    int z, row, col;
};

// Down GROUP rows of tiles before going right: they share columns of b in the cache.
__device__ Tile placed(int index, int rows, int cols, int block) {
    const int matrix = rows * cols, at = index % matrix;
    const int first = at / (GROUP * cols) * GROUP, high = min(rows - first, GROUP);
    const int inside = at % (GROUP * cols);
    const int row = (first + inside % high) * CLUSTER + block;
    return {index / matrix, row * TILE_M, inside / high * TILE_N};
}

// A place in the ring, and the parity of how often it has come round.
struct Turn {
    int stage = 0, lap = 0;
    __device__ void next() {
        if (++stage == STAGES) stage = 0, lap ^= 1;
    }
};

struct Ring {
    unsigned char *a, *b;
    Barrier *full, *empty;
};

__device__ void produce(Ring ring, const TensorMap* a_map, const TensorMap* b_map, Tile tile,
                        Turn& turn, int block, int k) {
    for (int depth = 0; depth < k; depth += DEPTH, turn.next()) {
        Barrier* full = &ring.full[turn.stage];
        unsigned char* b = ring.b + turn.stage * B_BYTES;
        wait(&ring.empty[turn.stage], turn.lap ^ 1);
        expect_bytes(full, A_BYTES + B_BYTES);
        fetch(ring.a + turn.stage * A_BYTES, a_map, full, depth, tile.row, tile.z);
        for (int piece = block; piece < PIECES; piece += CLUSTER) {
            const int col = tile.col + piece * PIECE;
            if (CLUSTER == 1)
                fetch(b + piece * PIECE_BYTES, b_map, full, col, depth, tile.z);
            else
                fetch_for_all(b + piece * PIECE_BYTES, b_map, full, col, depth, tile.z);
        }
    }
}

__device__ void consume(float (&sum)[SUMS], Ring ring, Turn& turn, int group, int k) {
    const int thread = threadIdx.x % WARPGROUP;
    int before = 0;
    for (int depth = 0; depth < k; depth += DEPTH, turn.next()) {
        const unsigned char* a = ring.a + turn.stage * A_BYTES + group * PIECE_BYTES;
        const unsigned char* b = ring.b + turn.stage * B_BYTES;
        wait(&ring.full[turn.stage], turn.lap);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < DEPTH / 16; ++i)
            multiply(sum, described(a + i * 32, 16, 1024),
                     described(b + i * 16 * 128, PIECE_BYTES, 1024), depth + i > 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        // All but the newest are done: the stage before this one may be overwritten.
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (depth > 0 && thread < CLUSTER) arrive(&ring.empty[before], thread);
        before = turn.stage;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    // What reads the sums stays behind the wait.
#pragma unroll
    for (int i = 0; i < SUMS; ++i) asm volatile("" : "+f"(sum[i])::"memory");
    if (thread < CLUSTER) arrive(&ring.empty[before], thread);
}

// 16 bytes of a row lie where the swizzle puts them: their place by the row's last bits.
__device__ unsigned char* held_at(unsigned char* held, int row, int eighth) {
    return held + row * 128 + (eighth ^ row % 8) * 16;
}

__device__ unsigned paired(float low, float high) {
    unsigned pair;
    asm("cvt.rn." TEXT(INSTRUCTION) "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

// A piece of a warpgroup's sums into shared memory, whether or not c has all of it: reading sums
// under a condition would have the compiler let every product wait for the one before.
__device__ void hold(const float* sum, unsigned char* held) {
    const int warp = threadIdx.x % WARPGROUP / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < PIECE / 16; ++i) {
        const float* d = sum + i * 8;
        unsigned char* to = held_at(held, warp * 16 + lane % 16, i * 2 + lane / 16);
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         shared_address(to)),
                     "r"(paired(d[0], d[1])), "r"(paired(d[2], d[3])), "r"(paired(d[4], d[5])),
                     "r"(paired(d[6], d[7]))
                     : "memory");
    }
}

// What is held of a row by ordinary stores, for rows that do not begin at multiples of 16 bytes.
__device__ void store(unsigned char* held, SCALAR* c, Tile tile, int m, int n) {
    for (int at = threadIdx.x % WARPGROUP; at < ROWS * PIECE; at += WARPGROUP) {
        const int row = at / PIECE, col = at % PIECE;
        if (tile.row + row < m && tile.col + col < n)
            c[((long long)tile.z * m + tile.row + row) * n + tile.col + col] =
                ((SCALAR*)held_at(held, row, col / 8))[col % 8];
    }
}

// A warpgroup's rows leave piece by piece; `sent` counts them, for their slots take turns.
__device__ void send(const float (&sum)[SUMS], unsigned char* slots, int& sent,
                     const TensorMap* c_map, SCALAR* c, Tile tile, int group, int m, int n,
                     bool whole) {
    const bool speaks = threadIdx.x % WARPGROUP == 0;
#pragma unroll
    for (int piece = 0; piece < PIECES; ++piece, ++sent, tile.col += PIECE) {
        unsigned char* held = slots + sent % SLOTS * PIECE_BYTES;
        // The copy that used this slot has read it; the one before may still be reading its own.
        if (speaks) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
        hold(sum + piece * PIECE / 2, held);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
        if (!whole) {
            store(held, c, tile, m, n);
        } else if (speaks) {
            asm volatile(
                "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], "
                "[%1];\ncp.async.bulk.commit_group;" ::"l"(c_map),
                "r"(shared_address(held)), "r"(tile.col), "r"(tile.row), "r"(tile.z)
                : "memory");
        }
    }
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1)
    __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)
    autotuned(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
              const __grid_constant__ TensorMap c_map, SCALAR* c, int batch, int m, int n, int k,
              int whole) {
    extern __shared__ unsigned char shared[];
    __shared__ Barrier full[STAGES], empty[STAGES];
    // The swizzle counts from multiples of 1024 bytes.
    unsigned char* start = shared + (1024 - shared_address(shared) % 1024) % 1024;
    const Ring ring = {start, start + STAGES * A_BYTES, full, empty};
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            start_barrier(&full[stage], 1);
            start_barrier(&empty[stage], CONSUMERS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    meet_cluster();

    const int group = threadIdx.x / WARPGROUP, block = blockIdx.x % CLUSTER;
    const int rows = (m + TILE_M * CLUSTER - 1) / (TILE_M * CLUSTER);
    const int cols = (n + TILE_N - 1) / TILE_N, tiles = batch * rows * cols;
    const int first = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    Turn turn;
    if (group == CONSUMERS) {
        if (CONSUMERS > 1) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x % WARPGROUP == 0)
            for (int at = first; at < tiles; at += clusters)
                produce(ring, &a_map, &b_map, placed(at, rows, cols, block), turn, block, k);
    } else {
        if (CONSUMERS > 1) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        unsigned char* slots = ring.b + STAGES * B_BYTES + group * SLOTS * PIECE_BYTES;
        float sum[SUMS];
        int sent = 0;
        for (int at = first; at < tiles; at += clusters) {
            Tile tile = placed(at, rows, cols, block);
            consume(sum, ring, turn, group, k);
            tile.row += group * ROWS;
            send(sum, slots, sent, &c_map, c, tile, group, m, n, whole);
        }
        if (threadIdx.x % WARPGROUP == 0)
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    // No block leaves while another may still arrive at its barriers.
    meet_cluster();
}
