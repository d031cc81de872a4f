"""Fill arenas: random contents and poison.

Every seed comes from the operating system, so contents can be neither predicted nor repeated.
"""

import os
import secrets
from collections.abc import Mapping, Sequence

import torch

from benchmarks.harness.devices import captured as captures
from benchmarks.harness.devices.captured import Captured
from benchmarks.harness.devices.layouts import INTEGER_BY_WIDTH, Layout, Region
from kernels.definition import INDEX_DISTRIBUTIONS, Contents

# Bits of a quiet NaN, and the number of payload bits free for a secret.
_NAN_BITS = {
    torch.float64: (0x7FF8_0000_0000_0000, 51),
    torch.float32: (0x7FC0_0000, 22),
    torch.float16: (0x7E00, 9),
    torch.bfloat16: (0x7FC0, 6),
}


def generator(device: torch.device) -> torch.Generator:
    """A generator seeded from the operating system's entropy."""
    made = torch.Generator(device=device)
    reseed(made)
    return made


def reseed(source: torch.Generator) -> None:
    """Draw a new seed from the operating system.

    A side sees the contents, and the CPU generator uses 32 bits of its seed: without a new seed,
    the first contents would give away all later ones.
    """
    source.manual_seed(int.from_bytes(os.urandom(8), "little") >> 1)


def refill(
    memory: torch.Tensor,
    layout: Layout,
    source: torch.Generator,
    captured: Captured | None = None,
) -> None:
    """Refill every tensor of every call, by its distribution and amplitude, or as captured."""
    reseed(source)
    for region in layout.regions:
        flat = layout.flat(memory, region)
        if region.distribution in INDEX_DISTRIBUTIONS:
            for call in range(layout.calls):
                _draw_indices(layout.tensors(memory, call)[region.name], region, source)
        elif not region.torch_dtype.is_floating_point:
            _refill_integers(flat, region, source)
        elif region.torch_dtype in _NAN_BITS:
            _draw(flat, region, source)
        else:
            wide = torch.empty(flat.shape, dtype=torch.float32, device=flat.device)
            _draw(wide, region, source)
            flat.copy_(wide)
    captures.write(memory, layout, captured or {}, source)
    layout.replicate(memory)


def _draw(flat: torch.Tensor, region: Region, source: torch.Generator) -> None:
    if region.distribution == "normal":
        flat.normal_(0.0, region.amplitude, generator=source)
    elif region.distribution == "uniform":
        flat.uniform_(0.0, region.amplitude, generator=source)
    else:
        flat.fill_(region.amplitude)


def _draw_indices(tensor: torch.Tensor, region: Region, source: torch.Generator) -> None:
    """Offsets: ascending from 0 to the amplitude. Permutation: indices, none repeated if enough."""
    count, below = tensor.numel(), int(region.amplitude)
    if region.distribution == "offsets":
        drawn = torch.randint(below + 1, (count,), generator=source, device=tensor.device)
        drawn[0], drawn[-1] = 0, below if count > 1 else 0
        drawn = drawn.sort().values
    else:
        turns = -(-count // below)
        drawn = torch.cat(
            [torch.randperm(below, generator=source, device=tensor.device) for _ in range(turns)]
        )[:count]
    tensor.copy_(drawn.view(tensor.shape))


def _refill_integers(flat: torch.Tensor, region: Region, source: torch.Generator) -> None:
    """Integers: uniform in [0, amplitude), rounded normal, or `amplitude` itself for 'ones'."""
    if region.distribution == "ones":
        flat.fill_(int(region.amplitude))
    elif region.torch_dtype == torch.bool:
        flat.random_(0, 2, generator=source)
    elif region.distribution == "normal":
        limits = torch.iinfo(region.torch_dtype)
        wide = torch.empty(flat.shape, dtype=torch.float32, device=flat.device)
        wide.normal_(0.0, region.amplitude, generator=source)
        flat.copy_(wide.round_().clamp_(limits.min, limits.max))
    else:
        flat.random_(0, max(1, int(region.amplitude)), generator=source)


def repeat(memory: torch.Tensor, layout: Layout, calls: Sequence[int]) -> None:
    """Copy the contents of call 0 to these calls."""
    for region in layout.regions:
        slots = layout.slots(memory, region)
        slots[list(calls)] = slots[0].clone()


def plant(
    memory: torch.Tensor, layout: Layout, changes: Mapping[str, Contents], source: torch.Generator
) -> None:
    """Change tensors for a trial: multiply by `scale`, and set one random element per call."""
    for call in range(layout.calls):
        for name, tensor in layout.tensors(memory, call).items():
            # Without the rank.
            change = changes.get(name.partition("@")[0])
            if change is None:
                continue
            if tensor.is_floating_point() and tensor.itemsize == 1:
                # Eight-bit floats multiply by way of float32, and saturate.
                most = torch.finfo(tensor.dtype).max
                tensor.copy_((tensor.float() * change.scale).clamp(-most, most))
            else:
                tensor.mul_(change.scale)
            if change.plant is not None:
                at = torch.randint(tensor.numel(), (), generator=source, device=tensor.device)
                tensor[torch.unravel_index(at, tensor.shape)] = float(change.plant)
    layout.replicate(memory)


def poison(memory: torch.Tensor, layout: Layout) -> dict[str, int]:
    """Fill an output arena with poison; returns its bits by tensor name.

    Floats get a NaN with a random payload. Integers get a random canary, which may be an honest
    value: only the full check proves those.
    """
    canaries = {}
    for region in layout.regions:
        canaries[region.name] = _canary(region.torch_dtype)
        layout.slots(memory, region).fill_(canaries[region.name])
        layout.before(memory, region).fill_(canaries[region.name])
    return canaries


def _canary(dtype: torch.dtype) -> int:
    if dtype in _NAN_BITS:
        bits, payload = _NAN_BITS[dtype]
        return bits | (1 + secrets.randbelow((1 << payload) - 1))
    if dtype.is_floating_point:
        # Eight-bit floats: all ones below the sign is NaN or the largest value.
        return 0x7F
    if dtype == torch.bool:
        return secrets.randbelow(2)
    limits = torch.iinfo(INTEGER_BY_WIDTH[dtype.itemsize])
    return secrets.randbelow(limits.max) + 1


def poison_shows(region: Region) -> bool:
    """Whether poison left in an output proves that it was not written."""
    return region.torch_dtype in _NAN_BITS
