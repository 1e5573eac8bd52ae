"""The adapter on tiny random models of many architectures, saved and loaded from disk."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from accessibility_lib import models
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models.registry import MICRO

VOCAB, WIDTH = 512, 32
SMALL = {
    "vocab_size": VOCAB,
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "pad_token_id": None,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
GROUPED = {**SMALL, "num_key_value_heads": 2}
GEMMA = {**GROUPED, "head_dim": 8, "query_pre_attn_scalar": 8}
GPT = {"vocab_size": VOCAB, "n_embd": WIDTH, "n_layer": 2, "n_head": 4}
OPT = {**SMALL, "ffn_dim": 48, "pad_token_id": 1}
ARCHITECTURES = {
    "gpt2": ("gpt2", GPT),
    "gpt-neox": ("gpt_neox", SMALL),
    "opt": ("opt", OPT),
    "opt-projected": ("opt", {**OPT, "word_embed_proj_dim": 16}),
    "opt-post-norm": ("opt", {**OPT, "word_embed_proj_dim": 16, "do_layer_norm_before": False}),
    "phi": ("phi", SMALL),
    "gptj": ("gptj", {**GPT, "rotary_dim": 4}),
    "falcon": ("falcon", SMALL),
    "bloom": ("bloom", {"vocab_size": VOCAB, "hidden_size": WIDTH, "n_layer": 2, "n_head": 4}),
    "llama": ("llama", GROUPED),
    "llama-tied": ("llama", {**GROUPED, "tie_word_embeddings": True}),
    "mistral": ("mistral", GROUPED),
    "qwen2": ("qwen2", GROUPED),
    "qwen3": ("qwen3", {**GROUPED, "head_dim": 8}),
    "olmo": ("olmo", GROUPED),
    "gemma": ("gemma", {**GROUPED, "head_dim": 8}),
    "gemma2": ("gemma2", {**GEMMA, "final_logit_softcapping": 0.5}),
    "gemma3": ("gemma3_text", GEMMA),
    "cohere": ("cohere", {**GROUPED, "logit_scale": 0.0625}),
    "granite": ("granite", {**GROUPED, "logits_scaling": 8.0, "embedding_multiplier": 12.0}),
    "mamba": ("mamba", {**SMALL, "state_size": 4}),
    "rwkv": ("rwkv", {**SMALL, "attention_hidden_size": WIDTH}),
}


def save_random(folder, kind: str, options: dict) -> None:
    """A model with every weight random (norms and biases too), and a tokenizer, in ``folder``."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **options))
    for parameter in model.parameters():
        parameter.data.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((MICRO / "micro-llama" / name).read_bytes())


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_adapter_equals_model(name, tmp_path):
    kind, options = ARCHITECTURES[name]
    save_random(tmp_path, kind, options)
    loaded = models.load(str(tmp_path))
    adapter = loaded.adapter
    ids = torch.randint(0, VOCAB, (2, 7), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        own = loaded.model(input_ids=ids, use_cache=False).logits
        x = adapter.last_hidden(input_ids=ids)
        soft = adapter.last_hidden(inputs_embeds=adapter.embed(ids))
        rows = adapter.embedding_scale * adapter.input_embedding[ids]
    assert x.shape == (2, 7, WIDTH) == (2, 7, adapter.width)
    assert adapter.unembedding.shape == (VOCAB, WIDTH)
    torch.testing.assert_close(adapter.logits(x), own, rtol=1e-5, atol=1e-5)
    some = torch.tensor([[3, 1]]).expand(own.shape[1], 2)
    torch.testing.assert_close(
        adapter.logits_at(x[0], some), own[0][:, [3, 1]], rtol=1e-5, atol=1e-5
    )
    torch.testing.assert_close(soft, x, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(rows, adapter.embed(ids), rtol=1e-6, atol=1e-6)
    # On the norm ellipsoid (RMSNorm) |(x - shift) / gain| is sqrt(d) up to eps.
    shift = 0.0 if adapter.norm.shift is None else adapter.norm.shift
    radius = ((x - shift) / adapter.norm.gain).norm(dim=-1)
    torch.testing.assert_close(radius, torch.full_like(radius, WIDTH**0.5), rtol=1e-2, atol=0)


def facts(name, tmp_path):
    kind, options = ARCHITECTURES[name]
    save_random(tmp_path, kind, options)
    return models.load(str(tmp_path)).adapter


def test_one_plus_w_gain_and_embedding_scale(tmp_path):
    adapter = facts("gemma3", tmp_path)
    stored = adapter.final_norm.weight
    torch.testing.assert_close(adapter.norm.gain, 1 + stored)
    assert adapter.embedding_scale == pytest.approx(WIDTH**0.5)


def test_softcap_scale_bias_and_tied(tmp_path):
    found = {}
    for name in ("gemma2", "cohere", "granite", "phi", "llama", "llama-tied", "olmo"):
        found[name] = facts(name, tmp_path / name)
    assert found["gemma2"].logit_softcap == 0.5
    assert found["cohere"].logit_scale == 0.0625
    assert found["granite"].logit_scale == 0.125
    assert found["phi"].bias is not None
    assert found["phi"].norm.kind == "layernorm"
    assert not found["llama"].tied
    assert found["llama-tied"].tied
    assert found["olmo"].norm.gain.eq(1).all()  # a LayerNorm without parameters


def test_usable_tokens_leave_out_specials_and_padded_rows(tmp_path):
    save_random(tmp_path, "llama", {**GROUPED, "vocab_size": VOCAB + 8})
    adapter = models.load(str(tmp_path)).adapter
    assert adapter.vocab_size == VOCAB + 8
    assert adapter.token_ids.tolist() == list(range(1, VOCAB))  # token 0 is the separator


def test_gradients_reach_a_soft_prompt():
    adapter = models.load("micro-llama").adapter
    prompt = torch.zeros(1, 2, adapter.width, requires_grad=True)
    adapter.logits(adapter.last_hidden(inputs_embeds=prompt)).sum().backward()
    assert prompt.grad is not None
    assert prompt.grad.abs().sum() > 0


def test_last_hidden_takes_one_input():
    adapter = models.load("micro-llama").adapter
    with pytest.raises(AccessibilityError, match="either input_ids or inputs_embeds"):
        adapter.last_hidden()


def test_refuses_a_model_that_is_not_causal(tmp_path):
    # BERT's head has a layer of its own between the last norm and the unembedding.
    config = AutoConfig.for_model("bert", **SMALL, is_decoder=False)
    model = AutoModelForCausalLM.from_config(config).eval()
    with pytest.raises(AccessibilityError, match="BertLMHeadModel cannot be described"):
        models.describe(model)


def test_refuses_a_head_that_is_not_linear():
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("llama", **GROUPED)).eval()
    model.lm_head.register_forward_hook(lambda module, args, out: out**3)
    with pytest.raises(AccessibilityError, match="not a linear map"):
        models.describe(model)
