/* python
"""Rung 6, autotuned: rung 5 with everything around it, and the cut chosen by trying.

Blocks stay and take tile after tile, in an order that keeps the tiles at work near each other in
the L2 cache; two neighbours fetch half of `b` each for both; results leave through shared memory
by the copy engine. Odd n and k are padded: `b` once, `a` in every call. 16-bit, Hopper (sm_90a).
"""

from dataclasses import asdict, dataclass

import torch

from kernels import cuda, tuning
from kernels.definition import NotAvailable
from kernels.tensor_maps import addressable, tensor_map

SCALAR = {torch.float16: ("__half", "f16"), torch.bfloat16: ("__nv_bfloat16", "bf16")}
TILE_M, DEPTH, PIECE = 128, 64, 64
THREADS = 3 * 128


@dataclass(frozen=True)
class Config:
    """`pieces` of 64 columns wait in shared memory to be stored; `group` rows of tiles go first."""

    tile_n: int
    stages: int
    cluster: int
    group: int
    pieces: int


CONFIGS = (
    Config(tile_n=256, stages=4, cluster=2, group=8, pieces=2),
    Config(tile_n=256, stages=4, cluster=1, group=8, pieces=2),
    Config(tile_n=256, stages=4, cluster=2, group=4, pieces=2),
    Config(tile_n=128, stages=6, cluster=1, group=8, pieces=2),
)


class Product:
    """Everything that one weight needs at one cut."""

    def __init__(self, b, axes, config):
        name, instruction = SCALAR[b.dtype]
        options = [("SCALAR", name), ("INSTRUCTION", instruction)]
        options += [(key.upper(), str(value)) for key, value in asdict(config).items()]
        self.kernel = cuda.compile(SOURCE, "autotuned", options=options)
        self.config = config
        self.b, self.b_map = b, tensor_map(b, (1, DEPTH, PIECE))
        ring = config.stages * (TILE_M + config.tile_n) * DEPTH * 2
        self.shared_bytes = 1024 + ring + 2 * config.pieces * 64 * PIECE * 2
        sms = torch.cuda.get_device_properties(b.device).multi_processor_count
        self.clusters = sms // config.cluster
        self.padded = b.new_zeros(axes["batch"], axes["m"], b.shape[1])

    def __call__(self, a, c):
        batch, m, n = c.shape
        k = a.shape[2]
        if not addressable(a) or k % 8:
            self.padded[:, :m, :k].copy_(a)
            a = self.padded[:, :m]
        whole = addressable(c)
        tiles = batch * -(-m // (TILE_M * self.config.cluster)) * -(-n // self.config.tile_n)
        a_map = tensor_map(a, (1, TILE_M, DEPTH))
        # Without a map of c the kernel stores element by element and never reads the third map.
        c_map = tensor_map(c, (1, 64, PIECE)) if whole else a_map
        self.kernel(
            min(tiles, self.clusters) * self.config.cluster, THREADS, a_map, self.b_map, c_map,
            c, batch, m, n, self.b.shape[1], int(whole), shared_bytes=self.shared_bytes,
        )  # fmt: skip


def prepare(state, axes):
    """Pad `b` where its sides ask for it and choose the cut. NotAvailable off Hopper and in fp32."""
    b = state["b"]
    if b.dtype not in SCALAR:
        raise NotAvailable("cuda_6_autotuned multiplies 16-bit operands; take cuda_3_tiled")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9:
        raise NotAvailable("cuda_6_autotuned is written for Hopper (compute capability 9.0)")
    batch, k, n = b.shape
    b = torch.nn.functional.pad(b, (0, -n % 8, 0, -k % 8)).contiguous()
    a = b.new_zeros(batch, axes["m"], k).normal_()
    c = b.new_empty(batch, axes["m"], n)
    products = {}

    def tried(config):
        if config not in products:
            products[config] = Product(b, axes, config)
        products[config](a, c)

    key = (batch, axes["m"], n, k, str(b.dtype))
    best = tuning.best(source=__file__, key=key, configs=CONFIGS, run=tried)
    return products.get(best) or Product(b, axes, best)


def run(product, inputs, out):
    """One product; writes all of out["c"] [batch, m, n]."""
    product(inputs["a"], out["c"])
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "hopper.cuh"

constexpr int TILE_M = 128, DEPTH = 64, PIECE_COLS = 64;
constexpr int PIECE_BYTES = DEPTH * PIECE_COLS * 2, TILE_PIECES = TILE_N / PIECE_COLS;
constexpr int A_BYTES = TILE_M * DEPTH * 2, B_BYTES = TILE_PIECES * PIECE_BYTES;
constexpr int CONSUMERS = 2, WARPGROUP = 128, SUMS = TILE_N / 2;


struct Tile {
    int z, row, col;
};

// Down GROUP rows of tiles before going right: they share columns of b in the cache.
__device__ Tile placed(int index, int rows, int cols, int block) {
    const int matrix = rows * cols, z = index / matrix, at = index % matrix;
    const int first = at / (GROUP * cols) * GROUP, high = min(rows - first, GROUP);
    const int inside = at % (GROUP * cols);
    return {z, ((first + inside % high) * CLUSTER + block) * TILE_M, inside / high * TILE_N};
}

// A place in the ring, and how often it has come round.
struct Turn {
    int stage = 0, lap = 0;
    __device__ void next() {
        if (++stage == STAGES) stage = 0, lap ^= 1;
    }
};

__device__ void consume(float (&sum)[SUMS], const unsigned char* a_ring,
                        const unsigned char* b_ring, Barrier* full, Barrier* empty, Turn& turn,
                        int blocks) {
    const int thread = threadIdx.x % WARPGROUP;
    int before = 0;
    for (int block = 0; block < blocks; ++block) {
        wait(&full[turn.stage], turn.lap);
        begin_products();
#pragma unroll
        for (int i = 0; i < DEPTH / 16; ++i)
            multiply(sum, described(a_ring + turn.stage * A_BYTES + i * 32, 16, 1024),
                     described(b_ring + turn.stage * B_BYTES + i * 2048, PIECE_BYTES, 1024),
                     block + i > 0);
        end_products();
        // All but the newest are done: the tile before this one may be overwritten.
        await_products<1>();
        if (block > 0 && thread < CLUSTER) arrive(&empty[before], thread);
        before = turn.stage;
        turn.next();
    }
    await_products<0>();
    if (thread < CLUSTER) arrive(&empty[before], thread);
}

__device__ unsigned paired(float low, float high) {
    SCALAR pair[2] = {(SCALAR)low, (SCALAR)high};
    return *(unsigned*)pair;
}

// A warpgroup's 64 rows leave by the copy engine, PIECES pieces of 64 columns at a time.
__device__ void send(const float (&sum)[SUMS], unsigned char* held, const TensorMap* c_map,
                     Tile tile, int group) {
    const int thread = threadIdx.x % WARPGROUP, warp = thread / 32, lane = thread % 32;
    const int row = warp * 16 + lane % 16;
#pragma unroll
    for (int first = 0; first < TILE_PIECES; first += PIECES) {
        if (thread == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
#pragma unroll
        for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
            for (int pair = 0; pair < PIECE_COLS / 16; ++pair) {
                const int i = ((first + piece) * PIECE_COLS + pair * 16) / 2;
                // 16 bytes lie where the swizzle puts them: their place by the row's last bits.
                const int place = (pair * 2 + lane / 16) ^ row % 8;
                asm volatile(
                    "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                        shared_address(held + piece * PIECE_BYTES + row * 128 + place * 16)),
                    "r"(paired(sum[i], sum[i + 1])), "r"(paired(sum[i + 2], sum[i + 3])),
                    "r"(paired(sum[i + 4], sum[i + 5])), "r"(paired(sum[i + 6], sum[i + 7]))
                    : "memory");
            }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
        if (thread == 0) {
            for (int piece = 0; piece < PIECES; ++piece)
                asm volatile(
                    "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group "
                    "[%0, {%2, %3, %4}], [%1];" ::"l"(c_map),
                    "r"(shared_address(held + piece * PIECE_BYTES)),
                    "r"(tile.col + (first + piece) * PIECE_COLS), "r"(tile.row + group * 64),
                    "r"(tile.z)
                    : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
}

// The same by ordinary stores, for rows that do not begin at multiples of 16 bytes.
__device__ void store(const float (&sum)[SUMS], SCALAR* c, Tile tile, int group, int m, int n) {
    const int warp = threadIdx.x % WARPGROUP / 32, lane = threadIdx.x % 32;
    const int first = tile.row + group * 64 + warp * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < SUMS; ++i) {
        const int row = first + i / 2 % 2 * 8, col = tile.col + i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (row < m && col < n) c[((long long)tile.z * m + row) * n + col] = (SCALAR)sum[i];
    }
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1)
    __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)
    autotuned(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
              const __grid_constant__ TensorMap c_map, SCALAR* c, int batch, int m, int n, int k,
              int whole) {
    extern __shared__ unsigned char shared[];
    // The swizzle counts from multiples of 1024 bytes.
    unsigned char* a_ring = shared + (1024 - shared_address(shared) % 1024) % 1024;
    unsigned char* b_ring = a_ring + STAGES * A_BYTES;
    unsigned char* held = b_ring + STAGES * B_BYTES;
    __shared__ Barrier full[STAGES], empty[STAGES];
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
    const int cols = (n + TILE_N - 1) / TILE_N, blocks = (k + DEPTH - 1) / DEPTH;
    Turn turn;
    if (group == CONSUMERS) {
        keep_registers<40>();
        if (threadIdx.x % WARPGROUP == 0)
            for (int at = blockIdx.x / CLUSTER; at < batch * rows * cols; at += gridDim.x / CLUSTER) {
                const Tile tile = placed(at, rows, cols, block);
                for (int step = 0; step < blocks; ++step, turn.next()) {
                    wait(&empty[turn.stage], turn.lap ^ 1);
                    Barrier* arrived = &full[turn.stage];
                    expect_bytes(arrived, A_BYTES + B_BYTES);
                    fetch(a_ring + turn.stage * A_BYTES, &a_map, arrived, step * DEPTH, tile.row,
                          tile.z);
                    unsigned char* b = b_ring + turn.stage * B_BYTES;
                    // Each block of the cluster fetches its share of b for all.
                    for (int piece = block; piece < TILE_PIECES; piece += CLUSTER) {
                        const int col = tile.col + piece * PIECE_COLS;
                        if (CLUSTER == 1)
                            fetch(b + piece * PIECE_BYTES, &b_map, arrived, col, step * DEPTH,
                                  tile.z);
                        else
                            fetch_for_all<CLUSTER>(b + piece * PIECE_BYTES, &b_map, arrived, col,
                                          step * DEPTH, tile.z);
                    }
                }
            }
    } else {
        take_registers<232>();
        float sum[SUMS];
        for (int at = blockIdx.x / CLUSTER; at < batch * rows * cols; at += gridDim.x / CLUSTER) {
            const Tile tile = placed(at, rows, cols, block);
            consume(sum, a_ring + group * 64 * 128, b_ring, full, empty, turn, blocks);
            if (whole)
                send(sum, held + group * PIECES * PIECE_BYTES, &c_map, tile, group);
            else
                store(sum, c, tile, group, m, n);
        }
        if (threadIdx.x % WARPGROUP == 0)
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    // No block leaves while another may still arrive at its barriers.
    meet_cluster();
}
