"""The models of transformers in models.py, from their configurations."""

import torch
import torch.nn as nn
import transformers


class Positional(nn.Module):
    """A transformers model that takes and returns tensors by position."""

    def __init__(self, model, inputs, outputs, **options):
        super().__init__()
        self.model = model
        self.inputs = inputs
        self.outputs = outputs
        self.options = options

    def forward(self, *tensors):
        result = self.model(**dict(zip(self.inputs, tensors)), **self.options)
        values = tuple(getattr(result, name) for name in self.outputs)
        return values[0] if len(values) == 1 else values


def bert():
    return Positional(
        transformers.BertModel(transformers.BertConfig()),
        ["input_ids", "attention_mask"],
        ["last_hidden_state", "pooler_output"],
    )


def gpt2():
    return Positional(
        transformers.GPT2LMHeadModel(transformers.GPT2Config()),
        ["input_ids"],
        ["logits"],
        use_cache=False,
    )


def distilbert():
    return Positional(
        transformers.DistilBertModel(transformers.DistilBertConfig()),
        ["input_ids", "attention_mask"],
        ["last_hidden_state"],
    )


def albert():
    # Those of albert-base: the defaults are those of the largest.
    config = transformers.AlbertConfig(
        hidden_size=768, num_attention_heads=12, intermediate_size=3072
    )
    return Positional(
        transformers.AlbertModel(config),
        ["input_ids", "attention_mask"],
        ["last_hidden_state", "pooler_output"],
    )


def t5_encoder():
    # The defaults are those of t5-small.
    return Positional(
        transformers.T5EncoderModel(transformers.T5Config()),
        ["input_ids", "attention_mask"],
        ["last_hidden_state"],
    )


def whisper_encoder():
    # The defaults are those of whisper-tiny.
    model = transformers.WhisperModel(transformers.WhisperConfig())
    return Positional(
        model.get_encoder(), ["input_features"], ["last_hidden_state"]
    )


MAKERS = {
    "bert_base_s128": bert,
    "gpt2_s128": gpt2,
    "distilbert_s128": distilbert,
    "albert_base_s128": albert,
    "t5_small_encoder_s128": t5_encoder,
    "whisper_tiny_encoder_b1": whisper_encoder,
}


def make(name, generator):
    """The model and its inputs: token ids and a mask of ones, or a spectrum."""
    if name.startswith("whisper"):
        inputs = [torch.randn(1, 80, 3000, generator=generator)]
        return MAKERS[name](), inputs
    ids = torch.randint(0, 30000, (1, 128), generator=generator)
    model = MAKERS[name]()
    mask = torch.ones(1, 128, dtype=torch.int64)
    return model, [ids, mask][: len(model.inputs)]
