"""The process of a benchmark's own reference: it gets contents and answers with results.

It is confined as a side is. It has no clock, seed or key, and no request names a side.
"""

from typing import Any

from benchmarks.harness.sides.channel import Channel

# Widest results of a reference, bytes an element.
RESULT_BYTES = 8
RESULT_DTYPES = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8", "bool")


class ReferenceSide:
    """Serves `refer` requests with the operator's `reference` and `reference_step`."""

    def __init__(self, channel: Channel, start: dict[str, Any]) -> None:
        import torch

        from benchmarks.harness.sides import operators

        torch.set_num_threads(start["threads"])
        torch.set_grad_enabled(False)
        self._channel = channel
        module = operators.part(start["operator"], "reference")
        self._levels = {"program": module.reference_step, "operator": module.reference}

    def refer(self, message: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Compute the results of one call into the shared memory."""
        from benchmarks.harness.devices.cpu import CpuDevice
        from benchmarks.harness.devices.layouts import Layout, torch_dtype

        device = CpuDevice()
        given, results = (
            device.open(handle, [descriptor])
            for handle, descriptor in zip(message["arenas"], descriptors, strict=True)
        )
        try:
            layouts = {part: Layout.from_data(message[part]) for part in ("state", "inputs")}
            split = layouts["state"].nbytes
            state = layouts["state"].tensors(given.memory[:split], 0)
            inputs = layouts["inputs"].tensors(given.memory[split:], 0)
            found = self._levels[message["level"]](state=state, inputs=inputs, axes=message["axes"])
            dtypes = {}
            for output in message["outputs"]:
                result = found[output["name"]]
                dtype = str(result.dtype).removeprefix("torch.")
                if dtype not in RESULT_DTYPES or list(result.shape) != output["sizes"]:
                    raise ValueError(
                        f"the reference's {output['name']} is {dtype} {list(result.shape)}; return "
                        f"float64 or an integer dtype of {output['sizes']}"
                    )
                nbytes = result.numel() * torch_dtype(dtype).itemsize
                place = results.memory[output["offset"] : output["offset"] + nbytes]
                place.view(result.dtype).copy_(result.flatten())
                dtypes[output["name"]] = dtype
            return {"type": "referred", "dtypes": dtypes}
        finally:
            given.close()
            results.close()
