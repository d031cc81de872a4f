"""Draw the secret chain of a round's calls."""

import random
from collections.abc import Mapping

from benchmarks.harness.devices.chaining import Chain, Link
from benchmarks.harness.devices.layouts import Layout, Region
from benchmarks.harness.rounds.settings import Setting

_RANDOM = random.SystemRandom()


def drawn(
    setting: Setting, level: str, inputs: Layout, thresholds: Mapping[str, float]
) -> Chain | None:
    """A new chain; None where calls are independent.

    `thresholds` are by output, near the middle of its values; 0 where unknown.
    """
    names = setting.definition.get("chain", {})
    if not names or level != "program":
        return None
    return linked(names, inputs, thresholds)


def linked(names: Mapping[str, str], inputs: Layout, thresholds: Mapping[str, float]) -> Chain:
    """The chain of these outputs by input, with secret shifts."""
    links = []
    for region in inputs.regions:
        # A rank's input follows its own output.
        name, at, rank = region.name.partition("@")
        if name in names:
            source = f"{names[name]}{at}{rank}"
            links.append(
                Link(
                    input=region.name,
                    output=source,
                    threshold=thresholds.get(source, 0.0),
                    shift=_RANDOM.randrange(region.elements),
                    below=_table_length(region),
                )
            )
    return Chain(links=tuple(links))


def _table_length(region: Region) -> int:
    """The exclusive upper bound of an integer input; 0 for floats."""
    return 0 if region.torch_dtype.is_floating_point else int(region.amplitude)
