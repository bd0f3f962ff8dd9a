"""Names of the models in models.py, for those who have no torch.

Tinh's heuristics were made beside the open models. No benchmark had used the
unseen ones before they were listed here: they say what a model gets that nobody
looked at.
"""

OPEN = [
    "two_layer",
    "mlp",
    "resnet50_b1",
    "resnet50_b8",
    "mobilenet_v2_b1",
    "vgg16_b1",
    "bert_base_s128",
    "gpt2_s128",
]
UNSEEN = [
    "regnet_y_800mf_b1",
    "convnext_tiny_b1",
    "swin_t_b1",
    "vit_b_32_b1",
    "mixer_b16_224_b1",
    "repvgg_a2_b1",
    "dla34_b1",
    "mobilenetv4_conv_small_b1",
    "distilbert_s128",
    "albert_base_s128",
    "t5_small_encoder_s128",
    "whisper_tiny_encoder_b1",
]
SETS = {"open": OPEN, "unseen": UNSEEN, "all": OPEN + UNSEEN}

# The folder of what is made of other ONNX files, whatever they are called.
FILES = "files"


def has_module(folder):
    """Whether models.py builds what the folder has."""
    return folder.name in SETS["all"] and folder.parent.name != FILES
