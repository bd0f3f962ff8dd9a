"""The models that torch.compile(backend="tinh") is tried on: small
configurations with seeded random weights, of torchvision, timm and
transformers. Nothing is downloaded."""

import torch

# torchvision's classification models, 64 or 96 pixels wide where they take it.
TORCHVISION = {
    "alexnet": 96,
    "vgg11": 64,
    "vgg13_bn": 64,
    "resnet18": 96,
    "resnet50": 64,
    "resnext50_32x4d": 64,
    "wide_resnet50_2": 64,
    "densenet121": 64,
    "googlenet": 96,
    "inception_v3": 96,
    "squeezenet1_1": 96,
    "shufflenet_v2_x1_0": 96,
    "mobilenet_v2": 96,
    "mobilenet_v3_small": 96,
    "mnasnet1_0": 96,
    "efficientnet_b0": 96,
    "efficientnet_v2_s": 96,
    "regnet_y_400mf": 96,
    "regnet_x_400mf": 96,
    "convnext_tiny": 96,
    "swin_t": 224,
    "vit_b_32": 224,
}

TIMM = {
    "resnet26d": 96,
    "seresnet18": None,
    "resnest14d": 96,
    "dla34": 96,
    "efficientnet_lite0": 96,
    "mixnet_s": 96,
    "ghostnet_100": 96,
    "hardcorenas_a": 96,
    "tinynet_a": 96,
    "mobilevit_xxs": 128,
    "vit_tiny_patch16_224": 224,
    "deit_tiny_patch16_224": 224,
    "mixer_s32_224": 224,
    "gmixer_12_224": None,
    "poolformer_s12": 96,
    "gmlp_ti16_224": 224,
    "resmlp_12_224": 224,
    "levit_128s": 224,
    "pvt_v2_b0": 96,
    "edgenext_xx_small": 96,
    "repvgg_a0": 96,
    "convmixer_768_32": None,
    "selecsls42": 96,
    "mobileone_s0": 96,
    "res2net50_14w_8s": 96,
    "dpn48b": 96,
    "hrnet_w18_small": 96,
    "cait_xxs24_224": 224,
}

# transformers: the class, its configuration, and what kind of input it takes.
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 128, "vocab_size": 200}
DECODER = {**SMALL, "num_key_value_heads": 2, "max_position_embeddings": 128,
           "pad_token_id": 0}
GPT = {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 200,
       "n_positions": 128}
TRANSFORMERS = {
    "bert": ("BertForSequenceClassification", SMALL, "tokens"),
    "roberta": ("RobertaForSequenceClassification", SMALL, "tokens"),
    "distilbert": ("DistilBertForSequenceClassification",
                   {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128,
                    "vocab_size": 200}, "tokens"),
    "albert": ("AlbertForSequenceClassification",
               {**SMALL, "embedding_size": 32}, "tokens"),
    "electra": ("ElectraForSequenceClassification",
                {**SMALL, "embedding_size": 32}, "tokens"),
    "mpnet": ("MPNetForSequenceClassification", SMALL, "tokens"),
    "deberta": ("DebertaV2ForSequenceClassification", SMALL, "tokens"),
    "gpt2": ("GPT2LMHeadModel", GPT, "tokens"),
    "gpt_neo": ("GPTNeoForCausalLM",
                {"hidden_size": 64, "num_layers": 2, "num_heads": 4,
                 "attention_types": [[["global", "local"], 1]],
                 "vocab_size": 200}, "tokens"),
    "gpt_neox": ("GPTNeoXForCausalLM", SMALL, "tokens"),
    "opt": ("OPTForCausalLM",
            {"hidden_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": 4, "ffn_dim": 128, "vocab_size": 200,
             "word_embed_proj_dim": 64, "max_position_embeddings": 128},
            "tokens"),
    "bloom": ("BloomForCausalLM",
              {"hidden_size": 64, "n_layer": 2, "n_head": 4,
               "vocab_size": 200}, "tokens"),
    "llama": ("LlamaForCausalLM", DECODER, "tokens"),
    "mistral": ("MistralForCausalLM", DECODER, "tokens"),
    "qwen2": ("Qwen2ForCausalLM", DECODER, "tokens"),
    "gemma": ("GemmaForCausalLM", {**DECODER, "head_dim": 16}, "tokens"),
    "phi": ("PhiForCausalLM", DECODER, "tokens"),
    "t5": ("T5ForConditionalGeneration",
           {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2,
            "num_heads": 4, "vocab_size": 200, "decoder_start_token_id": 0},
           "pairs"),
    "bart": ("BartForConditionalGeneration",
             {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
              "encoder_attention_heads": 4, "decoder_attention_heads": 4,
              "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
              "vocab_size": 200, "max_position_embeddings": 128}, "pairs"),
    "vit": ("ViTForImageClassification",
            {**SMALL, "image_size": 64, "patch_size": 16}, "pixels"),
    "deit": ("DeiTForImageClassification",
             {**SMALL, "image_size": 64, "patch_size": 16}, "pixels"),
    "wav2vec2": ("Wav2Vec2Model",
                 {**SMALL, "conv_dim": [32] * 7, "num_conv_pos_embeddings": 16,
                  "num_conv_pos_embedding_groups": 4}, "sound"),
}


def names():
    known = [f"torchvision/{n}" for n, size in TORCHVISION.items() if size]
    known += [f"timm/{n}" for n, size in TIMM.items() if size]
    return known + [f"transformers/{n}" for n in TRANSFORMERS]


class Tensors(torch.nn.Module):
    """A model of transformers as one from tensors to a tensor."""

    def __init__(self, model, inputs):
        super().__init__()
        self.model, self.inputs = model, inputs

    def forward(self, *tensors):
        given = dict(zip(self.inputs, tensors))
        result = self.model(**given, return_dict=True)
        return result["logits" if "logits" in result else "last_hidden_state"]


def make(name, batch=2):
    """(model, inputs): the same for a name each time."""
    library, _, model = name.partition("/")
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    if library == "torchvision":
        return _torchvision(model, batch, generator)
    if library == "timm":
        import timm

        size = TIMM[model]
        # Droppings are off: PyTorch's random numbers are its own.
        made = timm.create_model(model, num_classes=10, drop_rate=0.0)
        return made, (torch.randn(batch, 3, size, size, generator=generator),)
    return _transformers(model, batch, generator)


def _torchvision(model, batch, generator):
    import torchvision

    size = TORCHVISION[model]
    extra = {}
    if model in ("googlenet", "inception_v3"):
        extra = {"init_weights": False, "aux_logits": False}
    made = torchvision.models.get_model(model, num_classes=10, **extra)
    return made, (torch.randn(batch, 3, size, size, generator=generator),)


def _transformers(model, batch, generator):
    import transformers

    name, options, kind = TRANSFORMERS[model]
    class_ = getattr(transformers, name)
    config = class_.config_class(**options)
    for option in vars(config):
        if "dropout" in option or option.endswith("drop") or "_drop_" in option:
            setattr(config, option, 0.0)
    if hasattr(config, "use_cache"):
        config.use_cache = False
    if hasattr(config, "layerdrop"):
        config.layerdrop = 0.0
    made = class_(config)

    def tokens():
        return torch.randint(3, 200, (batch, 32), generator=generator)

    if kind == "tokens":
        return Tensors(made, ["input_ids"]), (tokens(),)
    if kind == "pairs":
        inputs = ["input_ids", "decoder_input_ids"]
        return Tensors(made, inputs), (tokens(), tokens())
    if kind == "pixels":
        image = torch.randn(batch, 3, 64, 64, generator=generator)
        return Tensors(made, ["pixel_values"]), (image,)
    sound = torch.randn(batch, 4000, generator=generator)
    return Tensors(made, ["input_values"]), (sound,)
