"""Real captures of different kinds, made on a CUDA GPU, for the tests of the evidence parsers.

    python3 tests/engagements/evidence/readers/capture.py traces FOLDER [NAME ...]
    python3 tests/engagements/evidence/readers/capture.py counters FOLDER

`traces` writes one torch.profiler trace a workload; `counters` runs Nsight Compute over the
first rungs of the matmul ladder and the library's product, and exports both CSV pages. Every
capture is small enough to be committed.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.profiler import ProfilerActivity, profile, record_function, schedule

Step = Callable[[], object]

STEPS = 2
NCU = ["ncu", "--clock-control", "none", "--set", "full", "--profile-from-start", "off"]
COUNTED_SIZE = 2048


def _random(*sizes: int) -> Tensor:
    return torch.randn(*sizes, device="cuda", dtype=torch.bfloat16) * sizes[-1] ** -0.5


def idle_gpu() -> Step:
    """A step that waits for its data and then launches tiny kernels from a Python loop."""
    weight = _random(512, 512)

    def step() -> float:
        with record_function("load batch"):
            time.sleep(0.03)
            batch = torch.randn(256, 512)
        x = batch.to("cuda", torch.bfloat16)
        with record_function("forward"):
            for _ in range(60):
                x = torch.tanh(x @ weight) + 0.1
        return float(x.sum().item())

    return step


class Layer:
    """One Llama-3-8B-shaped layer with random weights."""

    HEADS, KV_HEADS, WIDTH, HIDDEN, FFN = 32, 8, 128, 4096, 14336

    def __init__(self) -> None:
        self.norms = [torch.ones(self.HIDDEN, device="cuda", dtype=torch.bfloat16)] * 2
        self.qkv = _random((self.HEADS + 2 * self.KV_HEADS) * self.WIDTH, self.HIDDEN)
        self.out = _random(self.HIDDEN, self.HEADS * self.WIDTH)
        self.gate_up = _random(2 * self.FFN, self.HIDDEN)
        self.down = _random(self.HIDDEN, self.FFN)

    def __call__(self, x: Tensor) -> Tensor:
        """x [tokens, hidden] to the same shape."""
        with record_function("attention"):
            normed = F.rms_norm(x, (self.HIDDEN,), self.norms[0])
            qkv = F.linear(normed, self.qkv).view(1, len(x), -1, self.WIDTH).transpose(1, 2)
            q, k, v = qkv.split([self.HEADS, self.KV_HEADS, self.KV_HEADS], 1)
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = x + F.linear(attended.transpose(1, 2).reshape(len(x), -1), self.out)
        with record_function("mlp"):
            normed = F.rms_norm(x, (self.HIDDEN,), self.norms[1])
            gate, up = F.linear(normed, self.gate_up).chunk(2, -1)
            return x + F.linear(F.silu(gate) * up, self.down)


def prefill() -> Step:
    """A prompt of 4096 tokens through four layers."""
    layers, x = [Layer() for _ in range(4)], _random(4096, Layer.HIDDEN)

    def step() -> Tensor:
        y = x
        for layer in layers:
            y = layer(y)
        return y

    return step


def moe() -> Step:
    """A mixture of 64 experts, six a token with a skewed router, one expert after another."""
    experts, chosen, hidden, inner = 64, 6, 2048, 1408
    x, router = _random(4096, hidden), _random(experts, hidden)
    gate_up, down = _random(experts, 2 * inner, hidden), _random(experts, hidden, inner)
    bias = -1.2 * torch.arange(1, experts + 1, device="cuda").log()

    def step() -> Tensor:
        with record_function("router"):
            share, expert = (F.linear(x, router).float() + bias).softmax(-1).topk(chosen)
        y = torch.zeros_like(x)
        for index in range(experts):
            with record_function("expert"):
                token, place = (expert == index).nonzero(as_tuple=True)
                gate, up = F.linear(x[token], gate_up[index]).chunk(2, -1)
                made = F.linear(F.silu(gate) * up, down[index])
                y.index_add_(0, token, made * share[token, place, None].to(made.dtype))
        return y

    return step


def compiled() -> Step:
    """Two layers under torch.compile: inductor's Triton kernels beside the library's."""
    layers, x = [Layer() for _ in range(2)], _random(1024, Layer.HIDDEN)
    forward = torch.compile(lambda y: layers[1](layers[0](y)))
    return lambda: forward(x)


def graph_replay() -> Step:
    """The same two layers for 16 tokens, replayed from a CUDA graph."""
    layers, x = [Layer() for _ in range(2)], _random(16, Layer.HIDDEN)
    layers[1](layers[0](x))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        layers[1](layers[0](x))
    return graph.replay


def streams() -> Step:
    """Copies to and from the host on streams of their own, under the compute of two others."""
    ahead, behind, beside = (torch.cuda.Stream() for _ in range(3))
    host = torch.randn(4096, 4096).to(torch.bfloat16).pin_memory()
    back = torch.empty_like(host).pin_memory()
    held, weight = _random(4096, 4096), _random(4096, 4096)
    arrived = torch.empty_like(held)

    def step() -> None:
        now = torch.cuda.current_stream()
        for stream in (ahead, behind, beside):
            stream.wait_stream(now)
        for _ in range(4):
            with torch.cuda.stream(ahead):
                arrived.copy_(host, non_blocking=True)
            with torch.cuda.stream(beside):
                torch.softmax(held, -1)
            made = held @ weight
            behind.wait_stream(now)
            with torch.cuda.stream(behind):
                made.record_stream(behind)
                back.copy_(made, non_blocking=True)
        for stream in (ahead, behind, beside):
            now.wait_stream(stream)

    return step


def training() -> Step:
    """Forward, backward (on autograd's own thread) and a fused optimizer of a small MLP."""
    model = torch.nn.Sequential(
        torch.nn.Linear(2048, 8192), torch.nn.ReLU(), torch.nn.Linear(8192, 2048)
    ).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    x, wanted = torch.randn(2048, 2048, device="cuda"), torch.randn(2048, 2048, device="cuda")

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.mse_loss(model(x), wanted)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def host_only() -> Step:
    """A step on the processor alone, profiled without GPU activities."""
    x = torch.randn(256, 256)
    return lambda: torch.relu(x @ x).sum().item()


WORKLOADS: dict[str, Callable[[], Step]] = {
    work.__name__: work
    for work in (
        idle_gpu,
        prefill,
        moe,
        compiled,
        graph_replay,
        streams,
        training,
        host_only,
    )
}
# kineto writes more into a trace when it is asked for; both kinds come in from customers.
WITH_SHAPES = ("prefill", "moe", "compiled")
WITH_STACKS = ("idle_gpu",)


def _trace(name: str, folder: Path) -> None:
    step = WORKLOADS[name]()
    finish = torch.cuda.synchronize if torch.cuda.is_available() else torch.cpu.synchronize
    for _ in range(3):
        step()
    finish()
    plain, packed = folder / f"{name}.trace.json", folder / f"{name}.trace.json.gz"
    activities = [ProfilerActivity.CPU]
    if name != "host_only":
        activities.append(ProfilerActivity.CUDA)
    with profile(
        activities=activities,
        schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=1),
        on_trace_ready=lambda done: done.export_chrome_trace(str(plain)),
        record_shapes=name in WITH_SHAPES,
        with_stack=name in WITH_STACKS,
    ) as profiler:
        for _ in range(1 + STEPS):
            step()
            finish()
            profiler.step()
    # kineto writes the file's own path into it, which is nobody's business.
    text = plain.read_bytes().replace(str(plain).encode(), plain.name.encode())
    packed.write_bytes(gzip.compress(text, 9, mtime=0))
    plain.unlink()
    print(f"{packed.stat().st_size:8d} bytes  {packed.name}", flush=True)


def traces(folder: Path) -> None:
    """One trace a workload, each in a process of its own, so that none inherits another's state."""
    for name in sys.argv[3:] or WORKLOADS:
        done = subprocess.run([sys.executable, __file__, "trace", str(folder), name], check=False)
        if done.returncode:
            print(f"{name} failed: {done.returncode}", flush=True)


def products() -> None:
    """What `counters` profiles: the rungs below the tensor cores and the library's product."""
    from kernels import solutions

    size = COUNTED_SIZE
    axes = {"batch": 1, "m": size, "n": size, "k": size}
    a, b = _random(1, size, size), _random(1, size, size)
    out = {"c": torch.empty_like(a)}
    rungs = [
        solutions.candidate(f"kernels/matmul_ladder/cuda_{rung}.cu")
        for rung in ("1_naive", "2_coalesced", "3_tiled")
    ]
    prepared = [rung.prepare({"b": b}, axes) for rung in rungs]
    torch.bmm(a, b)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    for rung, state in zip(rungs, prepared, strict=True):
        rung.run(state, {"a": a}, out)
    torch.bmm(a, b)
    torch.softmax(a, -1)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def counters(folder: Path) -> None:
    """One measurement, exported as both pages; and one page as ncu prints it while it measures."""
    work = [sys.executable, __file__, "products", str(folder)]
    report = folder / "ladder.ncu-rep"
    subprocess.run([*NCU, "--force-overwrite", "--export", str(report), *work], check=True)
    for page in ("raw", "details"):
        export = ["ncu", "--import", str(report), "--csv", "--page", page]
        done = subprocess.run(export, check=True, capture_output=True)
        (folder / f"ladder_{page}.ncu.csv").write_bytes(done.stdout)
    printed = subprocess.run(
        [*NCU, "--csv", "--page", "details", *work], check=True, capture_output=True
    )
    (folder / "ladder_details_printed.ncu.csv").write_bytes(printed.stdout)
    report.unlink()


def main() -> None:
    """Read the command line and capture."""
    what, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if what == "trace":
        _trace(sys.argv[3], folder)
    else:
        {"traces": traces, "counters": counters, "products": lambda _: products()}[what](folder)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    main()
