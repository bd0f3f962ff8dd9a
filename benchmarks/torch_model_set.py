"""The models that torch.compile(backend="tinh") and PyTorch's exporters are tried
on: small configurations with seeded random weights, of torchvision, timm and
transformers. Nothing is downloaded."""

import torch
import transformers_model_set

# torchvision's classification models, 64 or 96 pixels wide where they take it and
# both exporters do.
TORCHVISION = {
    "alexnet": 224,
    "vgg11": 224,
    "vgg13_bn": 224,
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
    "swin_v2_t": 64,
    "maxvit_t": 224,
}

# Those that are given something else than a picture to classify: their inputs,
# without the batch.
PICTURE = [(3, 64, 64)]
LARGE_PICTURE = [(3, 320, 320)]
VIDEO = [(3, 8, 64, 64)]
SEGMENTATION = {
    "deeplabv3_mobilenet_v3_large": PICTURE,
    "deeplabv3_resnet50": PICTURE,
    "fcn_resnet50": PICTURE,
    "lraspp_mobilenet_v3_large": PICTURE,
}
VIDEOS = {
    "r3d_18": VIDEO,
    "mc3_18": VIDEO,
    "r2plus1d_18": VIDEO,
    "s3d": [(3, 16, 224, 224)],
    "swin3d_t": VIDEO,
    "mvit_v2_s": [(3, 16, 224, 224)],
}
FLOW = {"raft_small": [(3, 128, 128)] * 2}
DETECTION = {
    "ssdlite320_mobilenet_v3_large": LARGE_PICTURE,
    "ssd300_vgg16": LARGE_PICTURE,
    "retinanet_resnet50_fpn": LARGE_PICTURE,
    "fcos_resnet50_fpn": LARGE_PICTURE,
    "fasterrcnn_mobilenet_v3_large_320_fpn": LARGE_PICTURE,
    "keypointrcnn_resnet50_fpn": LARGE_PICTURE,
    "maskrcnn_resnet50_fpn": LARGE_PICTURE,
}
TORCHVISION_OTHERS = SEGMENTATION | VIDEOS | FLOW | DETECTION

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
    "convnextv2_atto": 96,
    "coatnet_nano_rw_224": 224,
    "maxvit_rmlp_pico_rw_256": 256,
    "efficientformer_l1": 224,
    "efficientformerv2_s0": 224,
    "fastvit_t8": 96,
    "eva02_tiny_patch14_224": 224,
    "beit_base_patch16_224": 224,
    "swinv2_tiny_window8_256": 256,
    "eca_nfnet_l0": 96,
    "xcit_nano_12_p16_224": 224,
    "davit_tiny": 96,
    "focalnet_tiny_srf": 96,
    "tiny_vit_5m_224": 224,
    "repvit_m0_9": 96,
    "mambaout_femto": 96,
    "hiera_tiny_224": 224,
    "regnety_002": 96,
    "ese_vovnet19b_slim_dw": 96,
    "inception_next_atto": 96,
    "crossvit_tiny_240": 240,
    "twins_svt_small": 224,
    "visformer_tiny": 224,
    "coat_lite_tiny": 224,
    "convit_tiny": 224,
    "mobilenetv4_conv_small": 96,
    "efficientvit_b0": 96,
    "efficientvit_m0": 224,
    "starnet_s1": 96,
    "swiftformer_xs": 224,
    "shvit_s1": 224,
    "botnet26t_256": 256,
    "halonet26t": 256,
    "lambda_resnet26t": 256,
    "gcvit_xxtiny": 224,
    "pit_ti_224": 224,
    "sequencer2d_s": 224,
    "tnt_s_patch16_224": 224,
    "volo_d1_224": 224,
    "nest_tiny": 224,
    "caformer_s18": 96,
    "fasternet_t0": 96,
    "rexnet_100": 96,
    "skresnet18": 96,
    "cspdarknet53": 96,
    "hgnetv2_b0": 96,
    "mvitv2_tiny": 224,
    "legacy_xception": 96,
    "tresnet_m": 96,
    "bat_resnext26ts": 256,
}

def names(with_targets=True):
    """All, or those that can be trained without boxes as targets."""
    known = [f"torchvision/{n}" for n, size in TORCHVISION.items() if size]
    known += [
        f"torchvision/{n}"
        for n in TORCHVISION_OTHERS
        if with_targets or n not in DETECTION
    ]
    known += [f"timm/{n}" for n, size in TIMM.items() if size]
    return known + [f"transformers/{n}" for n in transformers_model_set.MODELS]


class Items(torch.nn.Module):
    """A model of torchvision as one from tensors to tensors. Detection takes a
    list of pictures and gives a dictionary for each, segmentation one
    dictionary, and flow a list of ever better ones."""

    def __init__(self, model, kind):
        super().__init__()
        self.model, self.kind = model, kind

    def forward(self, *tensors):
        if self.kind == "detection":
            return tuple(self.model(list(tensors[0][:1]))[0].values())
        if self.kind == "flow":
            return self.model(*tensors, num_flow_updates=4)[-1]
        return self.model(*tensors)["out"]


def score_layers(model):
    """The layers of a detector whose outputs become scores of boxes."""
    for name, layer in model.named_modules():
        if name.endswith(("cls_logits", "cls_score")):
            yield layer
        elif name.endswith("classification_head.module_list"):  # SSD
            for head in layer:
                yield [x for x in head.modules() if hasattr(x, "weight")][-1]


def spread_scores(model, inputs):
    """Gives each channel of these layers a mean of 0 and a deviation of 1, over the
    places of one run. Random weights make scores that are nearly the same
    everywhere: roundings would decide which boxes are best, and their order."""
    found = {layer: [] for layer in score_layers(model)}
    hooks = [
        layer.register_forward_hook(
            lambda layer, _, scores: found[layer].append(
                scores.transpose(0, 1).flatten(1)
            )
        )
        for layer in found
    ]
    if hooks:
        with torch.no_grad():
            model(*inputs)
    for hook in hooks:
        hook.remove()
    for layer, runs in found.items():
        deviation, mean = torch.std_mean(torch.cat(runs, 1), 1)
        if (deviation > 0).all():  # NaN: of one place.
            factor = 1 / deviation
            layer.weight.data *= factor.view(-1, *[1] * (layer.weight.dim() - 1))
            layer.bias.data = (layer.bias.data - mean) * factor


def make(name, batch=2):
    """(model, inputs): the same for a name each time."""
    library, _, model = name.partition("/")
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    if library == "torchvision":
        if model in TORCHVISION_OTHERS:
            return _other_torchvision(model, batch, generator)
        return _torchvision(model, batch, generator)
    if library == "timm":
        import timm

        size = TIMM[model]
        # Droppings are off: PyTorch's random numbers are its own.
        made = timm.create_model(model, num_classes=10, drop_rate=0.0)
        return made, (torch.randn(batch, 3, size, size, generator=generator),)
    return transformers_model_set.make(model, batch, generator)


def _torchvision(model, batch, generator):
    import torchvision

    size = TORCHVISION[model]
    extra = {}
    if model in ("googlenet", "inception_v3"):
        extra = {"init_weights": False, "aux_logits": False}
    made = torchvision.models.get_model(model, num_classes=10, **extra)
    return made, (torch.randn(batch, 3, size, size, generator=generator),)


def _other_torchvision(model, batch, generator):
    import torchvision

    extra = {"weights": None}
    if model not in FLOW:
        extra["num_classes"] = 10
    if model in SEGMENTATION or model in DETECTION:
        extra["weights_backbone"] = None
    if "rcnn" in model or "retinanet" in model or "fcos" in model:
        extra |= {"min_size": 320, "max_size": 320}
    if model.startswith("keypointrcnn"):
        extra["num_classes"] = 2
    # Random weights are sure of nothing.
    if "rcnn" in model:
        extra["box_score_thresh"] = 0.0
    if "fcos" in model:
        extra["score_thresh"] = 0.0
    made = torchvision.models.get_model(model, **extra)
    inputs = tuple(
        torch.randn(batch, *shape, generator=generator)
        for shape in TORCHVISION_OTHERS[model]
    )
    for kind, models in (("detection", DETECTION), ("flow", FLOW),
                         ("segmentation", SEGMENTATION)):
        if model in models:
            made = Items(made, kind)
    return made, inputs
