// What Hopper has that CUDA C++ has no words for: barriers that count bytes, the bulk copy engine
// and wgmma. Source: PTX ISA 8.0 and later, "Asynchronous copy", "mbarrier" and "wgmma".
//
// Included by kernels compiled through kernels.cuda, with INSTRUCTION defined as bf16 or f16.
#pragma once

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

typedef unsigned long long Barrier;
// What kernels.tensor_maps makes; a kernel's parameter is `const __grid_constant__ TensorMap`.
struct __align__(64) TensorMap {
    unsigned long long opaque[16];
};

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

// Arrives at the barrier of the same place in another block of the cluster.
__device__ void arrive(Barrier* barrier, int block) {
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n"
        "}" ::"r"(shared_address(barrier)),
        "r"(block)
        : "memory");
}

__device__ void wait(Barrier* barrier, int parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
}

__device__ void fetch(void* to, const TensorMap* map, Barrier* barrier, int x, int y, int z) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(to)),
        "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z)
        : "memory");
}

// The same, into every block of a cluster of BLOCKS at once.
template <int BLOCKS>
__device__ void fetch_for_all(void* to, const TensorMap* map, Barrier* barrier, int x, int y,
                              int z) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared_address(to)),
        "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z),
        "h"((unsigned short)((1 << BLOCKS) - 1))
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
#define FIRST_64                                                                           \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "               \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "     \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "     \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SECOND_64                                                                          \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "   \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "     \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, " \
    "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, " \
    "%125, %126, %127"
#define WGMMA(columns, sums, a, b, onto)                                                   \
    "{\n.reg .pred onto;\nsetp.ne.b32 onto, " onto ", 0;\n"                                \
    "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." TEXT(INSTRUCTION) "." TEXT(     \
        INSTRUCTION) " {" sums "}, " a ", " b ", onto, 1, 1, 0, 1;\n}"

// sum[64 x 256] (+)= a[64 x 16] b[16 x 256]; INSTRUCTION is bf16 or f16. The last 1 of WGMMA:
// b's columns lie side by side.
__device__ void multiply(float (&sum)[128], unsigned long long a, unsigned long long b, int onto) {
    asm volatile(WGMMA("256", FIRST_64 SECOND_64, "%128", "%129", "%130")
                 : THIRTY_TWO(sum, 0), THIRTY_TWO(sum, 32), THIRTY_TWO(sum, 64),
                   THIRTY_TWO(sum, 96)
                 : "l"(a), "l"(b), "r"(onto));
}

// sum[64 x 128] (+)= a[64 x 16] b[16 x 128].
__device__ void multiply(float (&sum)[64], unsigned long long a, unsigned long long b, int onto) {
    asm volatile(WGMMA("128", FIRST_64, "%64", "%65", "%66")
                 : THIRTY_TWO(sum, 0), THIRTY_TWO(sum, 32)
                 : "l"(a), "l"(b), "r"(onto));
}

// Begins a set of products, ends it, and waits until no more than PENDING sets are at work.
__device__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING>
__device__ void await_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// A warpgroup gives registers away or takes them; all its threads must come here.
template <int REGISTERS>
__device__ void keep_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS>
__device__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// Every thread of every block of the cluster comes here before one goes on.
__device__ void meet_cluster() {
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
