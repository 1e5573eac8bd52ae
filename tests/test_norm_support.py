"""The norm ellipsoid against real modules: every last-layer embedding lies in it."""

import numpy as np
import pytest
import torch
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
)

from accessibility_lib import bounds, models
from accessibility_lib.supports import NormEllipsoid

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 97,
}
INPUTS = 10_000


def tiny(kind):
    """A random two-layer model whose final norm has uneven gains, some negative."""
    torch.manual_seed(0)
    if kind == "llama":
        model = LlamaForCausalLM(LlamaConfig(**SIZES))
    elif kind == "gemma3":
        model = Gemma3ForCausalLM(
            Gemma3TextConfig(**SIZES, num_key_value_heads=2, head_dim=8, sliding_window=8)
        )
    else:
        model = GPTNeoXForCausalLM(GPTNeoXConfig(**SIZES))
    for name, parameter in model.base_model.named_parameters():
        if name.startswith(("norm.", "final_layer_norm.")):
            parameter.data.normal_(0.5, 1.0)
    return model.eval()


def soft_prompts(width, count, generator):
    """Random, huge, tiny, constant and one-coordinate memory vectors, (count, 3, width)."""
    x = torch.randn(count, 3, width, generator=generator)
    x[0::5] *= 10.0 ** torch.randint(0, 15, (len(x[0::5]), 1, 1), generator=generator)
    x[1::5] *= 10.0 ** -torch.randint(0, 30, (len(x[1::5]), 1, 1), generator=generator)
    x[2::5] = x[2::5, :, :1]
    x[3::5] = x[3::5] * (torch.arange(width) == 3)
    return x


@torch.no_grad()
def embeddings(adapter, count, generator):
    """Last-layer embeddings at the last position of soft and of random-token prompts."""
    soft = soft_prompts(adapter.input_embedding.shape[1], count // 2, generator)
    hard = torch.randint(0, adapter.vocab_size, (count // 2, 4), generator=generator)
    found = []
    for i in range(0, count // 2, 500):
        found.append(adapter.last_hidden(inputs_embeds=soft[i : i + 500])[:, -1])
        found.append(adapter.last_hidden(input_ids=hard[i : i + 500])[:, -1])
    return torch.cat(found).numpy()


@pytest.mark.parametrize("kind", ["llama", "gemma3", "gptneox"])
def test_ten_thousand_embeddings_of_each_norm_lie_inside(kind):
    adapter = models.describe(tiny(kind))
    support = NormEllipsoid.of_norm(adapter.norm)
    assert support.centred == (kind == "gptneox")
    x = embeddings(adapter, INPUTS, torch.Generator().manual_seed(1))
    assert len(x) == INPUTS
    assert np.isfinite(x).all()
    assert support.contains(x).all()
    # The set is not loose: the embeddings lie on its surface, so a smaller one holds none of them.
    smaller = NormEllipsoid(support.gain * 0.9, support.shift, support.centred)
    assert not smaller.contains(x[-500:]).any()


def test_the_gain_as_gemma_stores_it():
    model = tiny("gemma3")
    stored = model.base_model.norm.weight.detach().numpy()
    by_adapter = NormEllipsoid.of_norm(models.describe(model).norm)
    assert np.allclose(NormEllipsoid.gemma_rms_norm(stored).gain, by_adapter.gain)


def test_a_trained_model_lies_inside():
    adapter = models.load("micro-llama").adapter
    x = embeddings(adapter, 2000, torch.Generator().manual_seed(2))
    assert NormEllipsoid.of_norm(adapter.norm).contains(x).all()


def test_a_constant_input_of_layer_norm_gives_the_shift():
    norm = torch.nn.LayerNorm(8)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    support = NormEllipsoid.layer_norm(norm.weight.tolist(), norm.bias.tolist())
    x = norm(torch.tensor([[0.0], [1e-30], [0.1], [1e3 / 3], [1e9 / 3]]).expand(5, 8)).detach()
    assert support.contains(x.numpy()).all()


def test_smollm2_has_slope_476_and_not_640():
    adapter = models.load("smollm2-135m").adapter
    support, vocab = NormEllipsoid.of_norm(adapter.norm), adapter.vocab_size
    assert vocab == 49152
    slopes = [
        bounds.slope(each.log_packing(2**-10), vocab)
        for each in (support, support.box(), support.ball())
    ]
    assert slopes == pytest.approx([476.4, 607.5, 640.4], abs=0.1)
