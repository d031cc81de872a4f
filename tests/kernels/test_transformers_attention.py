"""A model of transformers answers the same with an attention of the catalogue's in it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
import torch

from kernels import registration, transformers_attention

# Imported when it is used: its import takes seconds in every process of tests.
pytestmark = pytest.mark.skipif(find_spec("transformers") is None, reason="no transformers")

PROMPT = torch.arange(1, 25).reshape(2, 12)
PADDED = torch.ones(2, 12, dtype=torch.int64).index_fill_(1, torch.tensor([0, 1]), 0)


class Counted:
    """A custom operator that counts its calls."""

    def __init__(self, operator: registration.CustomOperator) -> None:
        self.operator, self.calls = operator, 0

    def __call__(self, *tensors: torch.Tensor) -> Any:
        self.calls += 1
        return self.operator(*tensors)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Counted]:
    """Those that are registered within the test."""
    made: list[Counted] = []
    plain = registration.register

    def register(operator: str, name: str) -> Counted:
        made.append(Counted(plain(operator, name)))
        return made[-1]

    monkeypatch.setattr(registration, "register", register)
    return made


def model(family: str = "Llama", **changes: Any) -> Any:
    """Two layers with grouped queries and random weights, always the same."""
    torch.manual_seed(0)
    import transformers

    config = getattr(transformers, f"{family}Config")(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        attn_implementation="sdpa",
        **changes,
    )
    return getattr(transformers, f"{family}ForCausalLM")(config).eval()


@torch.no_grad()
def test_prompts_use_the_catalogues_kernel_with_the_same_logits(
    counted: list[Counted],
) -> None:
    asked = model()
    expected = asked(PROMPT).logits
    asked.set_attn_implementation(transformers_attention.register("torch_naive"))
    torch.testing.assert_close(asked(PROMPT).logits, expected, rtol=1e-4, atol=1e-5)
    assert counted[0].calls == 2


@torch.no_grad()
def test_unsupported_attention_uses_transformers(counted: list[Counted]) -> None:
    asked = model()
    padded = asked(PROMPT, attention_mask=PADDED).logits
    written = asked.generate(PROMPT, max_new_tokens=3, do_sample=False)
    asked.set_attn_implementation(transformers_attention.register("torch_naive"))
    torch.testing.assert_close(asked(PROMPT, attention_mask=PADDED).logits, padded)
    assert counted[0].calls == 0
    assert torch.equal(asked.generate(PROMPT, max_new_tokens=3, do_sample=False), written)
    # The prompt in both layers; the tokens after it come from the cache.
    assert counted[0].calls == 2


def test_training_uses_a_kernel_with_gradients(counted: list[Counted]) -> None:
    asked = model()
    asked.set_attn_implementation(transformers_attention.register("torch_naive"))
    asked(PROMPT, labels=PROMPT).loss.backward()
    assert counted[0].calls == 0
    assert asked.model.layers[0].self_attn.q_proj.weight.grad.abs().sum() > 0


@torch.no_grad()
def test_a_window_is_not_ignored(counted: list[Counted]) -> None:
    asked = model("Mistral", sliding_window=4)
    expected = asked(PROMPT).logits
    asked.set_attn_implementation(transformers_attention.register("torch_naive"))
    torch.testing.assert_close(asked(PROMPT).logits, expected)
    assert counted[0].calls == 0
