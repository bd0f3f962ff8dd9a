#!/usr/bin/env python3
"""Records what torchvision's networks compute, for VisionModelsTest.cpp.

    record_vision.py > vision.json

Needs torchvision, which the test does not: it makes the same weights as this,
from the place of each number.
"""

import json

import torch
import torchvision

from record_weights import fill, pattern


@torch.no_grad()
def main():
    records = []
    for name in ("alexnet", "vgg16", "resnet18", "resnet101"):
        torch.manual_seed(0)
        module = torchvision.models.get_model(name).eval()
        fill(module)
        image = (2 * pattern(2 * 3 * 64 * 64, 7)).float().reshape(2, 3, 64, 64)
        logits = module(image)
        print_every = logits[:, ::50].reshape(-1)
        records.append(
            {
                "name": name,
                "parameters": sum(p.numel() for p in module.parameters()),
                "state": {k: list(v.shape) for k, v in module.state_dict().items()},
                "logits": {
                    "dtype": "f32",
                    "shape": [2, 20],
                    "data": [float(str(v)) for v in print_every.numpy()],
                },
            }
        )
    print("[")
    print(",\n".join(json.dumps(record) for record in records))
    print("]")


if __name__ == "__main__":
    main()
