"""The process of a side: `python -m benchmarks.harness.sides.side`.

It has memory handles and a channel. The candidate shares this process and can change anything in
it, so nothing here is trusted: the clock, the reference and every check are the referee's.
"""

import argparse
import ctypes
import functools
import gc
import os
import resource
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness.sides.channel import Channel, ChannelClosed
from benchmarks.harness.sides.reference_side import ReferenceSide
from kernels.cuda import CompileError

_PR_SET_PDEATHSIG = 1
_MAX_FILE_BYTES = 1 << 30
_MOST_CHANGES = 20
Answer = Callable[[dict[str, Any], list[int]], dict[str, Any]]
# Triton's error on a machine without a GPU.
_NO_DRIVER = "0 active drivers"


def limit_process(address_space_bytes: int | None, *, parent: int) -> None:
    """Die with the parent, write no core file, and limit memory and file size."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit("the referee has ended")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MAX_FILE_BYTES, _MAX_FILE_BYTES))
    if address_space_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (address_space_bytes, address_space_bytes))


class Side:
    """A Solution inside the Program, measured workload by workload."""

    def __init__(self, channel: Channel, start: dict[str, Any]) -> None:
        import torch

        from benchmarks.harness.devices import backends, chaining, layouts
        from benchmarks.harness.sides import binding, launches, levels, operators, rank_worlds
        from kernels import solutions

        torch.set_num_threads(start["threads"])
        torch.set_grad_enabled(False)
        self._channel = channel
        self._start = start
        self._device = (
            rank_worlds.join(start) if "rank" in start else backends.device(start["device"])
        )
        self._mark = torch.zeros(1, device=self._device.torch_device)
        operator = start["operator"]
        # Before the candidate is imported: it finds neither this copy of the Program by importing
        # it, nor anything here unwatched.
        imported = operators.part(operator, "program")
        self._program = binding.private_copy(imported)
        self._builders = levels.builders(self._program)
        mine = (__name__, Channel.__module__, type(self._device).__module__)
        watched = [
            backends,
            binding,
            chaining,
            launches,
            layouts,
            levels,
            *map(sys.modules.get, mine),
        ]
        self._watch = binding.Watch([self._program, imported, *filter(None, watched)])
        known = set(sys.modules)
        self._solution = (
            solutions.candidate(Path(start["candidate"]))
            if "candidate" in start
            else operators.baseline(operator, start["baseline"])
        )
        self._imports = sorted({name.partition(".")[0] for name in set(sys.modules) - known})
        self._arenas: list[Any] = []
        self._build: Any = None
        self._step: Any = None
        self._launch: Callable[..., None] | None = None
        # Launchers of whole rounds as one graph, by number of calls.
        self._rounds: list[int] = []
        self._launch_rounds: dict[int, Callable[[], None]] = {}
        self._calls: list[tuple[dict[str, Any], dict[str, Any]]] = []
        # Memory of chained inputs.
        self._chained: dict[str, Any] = {}

    def setup(self, message: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Open the state and build the step on it."""
        from benchmarks.harness.devices.layouts import Layout

        started = time.perf_counter()
        layout = Layout.from_data(message["layout"])
        arena = self._device.open(message["state"], descriptors)
        self._arenas.append(arena)
        self._level = message["level"]
        self._build = functools.partial(
            self._builders[self._level],
            solution=self._solution,
            state=layout.tensors(arena.memory, 0),
            axes=message["axes"],
        )
        self._step, self._launch = self._build(), None
        self._device.synchronize()
        return {"type": "ready", "elapsed_s": time.perf_counter() - started}

    def renew(self, message: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Build the step again after the state's contents changed."""
        # Free it first, so that data derived from the state is not held twice.
        self._step = self._launch = None
        self._launch_rounds, self._chained = {}, {}
        gc.collect()
        self._step = self._build()
        self._make_ready()
        self._chained = self._chained_inputs()
        self._device.synchronize()
        return {"type": "renewed"}

    def bind(self, message: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Open the inputs and outputs of N calls, replacing the previous ones."""
        from benchmarks.harness.devices.layouts import Layout

        self._drop_calls()
        views = []
        # CUDA arenas have no descriptors.
        share = len(descriptors) // 2
        for index, part in enumerate(("inputs", "outputs")):
            layout = Layout.from_data(message[part]["layout"])
            mine = descriptors[index * share : (index + 1) * share]
            arena = self._device.open(message[part]["arena"], mine)
            self._arenas.append(arena)
            views.append([layout.tensors(arena.memory, call) for call in range(layout.calls)])
        self._calls = list(zip(*views, strict=True))
        self._rounds = message["rounds"]
        self._make_ready()
        self._chained = self._chained_inputs()
        return {"type": "bound"}

    def _chained_inputs(self) -> dict[str, Any]:
        """Memory of a chained call's inputs: the graph's, if there is one."""
        static = getattr(self._launch, "static_inputs", None)
        return static or {name: tensor.clone() for name, tensor in self._calls[0][0].items()}

    def _make_ready(self) -> None:
        """Compile, tune and capture during setup, not in the first round."""
        from benchmarks.harness.sides import launches

        graphed = self._start["launch"] == "graph"
        if self._level == "operator" and graphed:
            self._launch_rounds = launches.graphs_of_rounds(self._step, self._calls, self._rounds)
        elif self._launch is None:
            first = self._calls[0][0]
            self._launch = launches.graph(self._step, first) if graphed else self._step
            self._launch(*self._calls[0])
            self._device.synchronize()

    def go(self, message: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Run `calls` calls from `first` on, wait for them, answer with the round's token."""
        first, count = message["first"], message["calls"]
        if count == 0:
            # An empty round must include the device's switch between contexts, which needs some
            # work: without it, 0.9 ms of a round's fixed cost were missing.
            self._mark.add_(1)
        elif self._launch_rounds:
            # Captured from the first call on.
            assert first == 0
            self._launch_rounds[count]()
        else:
            self._run_calls(self._calls[first : first + count], message["chain"])
        self._device.synchronize()
        return {"type": "done", "token": message["token"]}

    def _run_calls(
        self,
        calls: list[tuple[dict[str, Any], dict[str, Any]]],
        links: list[dict[str, Any]] | None,
    ) -> None:
        """Run the calls; `links` chain each one's inputs to the outputs of the one before."""
        from benchmarks.harness.devices.chaining import Chain

        assert self._launch is not None
        chain = None if links is None else Chain.from_data(links)
        previous = None
        for inputs, outputs in calls:
            given = inputs
            if chain is not None and previous is not None:
                given = chain.mixed(inputs, previous, self._chained)
            self._launch(given, outputs)
            previous = outputs

    def audit(self, message: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """List what the candidate imported, and what it changed outside its slot."""
        from benchmarks.harness.sides import binding

        if "candidate" not in self._start:
            return {"type": "audited", "imports": [], "changed": []}
        changed = self._watch.changed()
        builder = self._build and self._build.func
        if isinstance(builder, type) and type(self._step) is not builder:
            changed.append("the class of step")
        held = {"step": self._step, "calls": self._calls}
        for name, value in held.items():
            changed += binding.foreign_tensors(value, self._program, name)
        return {"type": "audited", "imports": self._imports, "changed": changed[:_MOST_CHANGES]}

    def release(self, message: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Free the workload."""
        self._drop_calls()
        self._launch = self._step = self._build = None
        gc.collect()
        for arena in self._arenas:
            arena.close()
        self._arenas.clear()
        if self._device.kind == "cuda":
            import torch

            torch.cuda.empty_cache()
        return {"type": "released"}

    def _drop_calls(self) -> None:
        self._calls, self._launch_rounds, self._chained = [], {}, {}
        # The state's arena comes first and stays open.
        for arena in self._arenas[1:]:
            arena.close()
        del self._arenas[1:]

    def answers(self) -> dict[str, Answer]:
        """What answers each type of request."""
        return {
            "setup": self.setup,
            "renew": self.renew,
            "bind": self.bind,
            "go": self.go,
            "audit": self.audit,
            "release": self.release,
        }


def serve(channel: Channel, answers: dict[str, Answer]) -> None:
    """Answer requests until the referee sends "bye"."""
    channel.send({"type": "started"})
    while True:
        message, descriptors = channel.receive_with_descriptors()
        if message["type"] == "bye":
            return
        try:
            answer = answers[message["type"]](message, descriptors)
        except Exception as error:
            # The candidate's; the referee decides whether to go on.
            traceback.print_exc()
            answer = _described(error)
        channel.send(answer)


def _described(error: BaseException) -> dict[str, str]:
    """The error in one line and its place: the candidate's last frame if there is one."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).stem == "candidate"]
    last = (own or frames)[-1] if frames else None
    text = " ".join(str(error).split())[:500]
    if _NO_DRIVER in text:
        text = f"Triton finds no GPU here ({text}); without one, set TRITON_INTERPRET=1"
    where = "" if last is None else f"{Path(last.filename).name} line {last.lineno} in {last.name}"
    described = {"type": "failed", "error": f"{type(error).__name__}: {text}", "where": where}
    if isinstance(error, CompileError):
        described["log"] = error.log
    return described


def main() -> int:
    """Serve one referee; exit code 1 after an error that was reported to it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--channel", type=int, required=True)
    channel = Channel(socket.socket(fileno=parser.parse_args().channel))
    parent = os.getppid()
    try:
        start = channel.receive()
        limit_process(start["address_space_bytes"], parent=parent)
        # Garbage collection takes a quarter of the time of importing torch.
        gc.disable()
        answers: dict[str, Answer]
        if start["role"] == "reference":
            answers = {"refer": ReferenceSide(channel, start).refer}
        else:
            answers = Side(channel, start).answers()
        gc.freeze()
        gc.enable()
        serve(channel, answers)
    except ChannelClosed:
        return 0
    except Exception as error:
        # Any error of the candidate ends here; the referee reports it in one line.
        traceback.print_exc()
        channel.send(_described(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
