#!/usr/bin/env python3
"""Which decisions of trained models stay in lower precision.

    trained_models.py FOLDER [--bin DIR] [--lib FILE] [--only NAME,…]

Models that packages on PyPI ship (downloaded to FOLDER by pip) decide about real
inputs: what kind of file this machine's files are, what a rendered line of text
says and whether it is upside down, and when somebody speaks (speech is that of
espeak-ng, with pauses and noise). The table has the share of decisions of bf16, f16
and int8 that are those of f32, and of int8 with as many layers left in f32 as 30 dB at
the outputs take; in brackets the layers in int8. Samples that int8 was calibrated with are not among
them. Wants onnx, Pillow and numpy; fonts in /usr/share/fonts; espeak-ng.
"""

import argparse
import glob
import io
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import wave
import zipfile

import numpy as np
import onnx
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from tinh_runtime import Model

WHEELS = {
    "magika": "magika==1.0.3",
    "rapidocr": "rapidocr-onnxruntime==1.4.4",
    "silero": "silero-vad==6.2.3",
}


def unpack(folder, package):
    """The folder of a package's files, downloaded if they are not there."""
    files = folder / package
    if not files.exists():
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "-q"]
        subprocess.run([*pip, "-d", folder, WHEELS[package]], check=True)
        (wheel,) = folder.glob(WHEELS[package].replace("-", "_").replace("==", "-") + "*")
        zipfile.ZipFile(wheel).extractall(files)
    return files


def with_shapes(source, path, shapes):
    """The model with inputs of these shapes."""
    model = onnx.load(source)
    for value in model.graph.input:
        for dim, extent in zip(value.type.tensor_type.shape.dim, shapes[value.name]):
            dim.Clear()
            dim.dim_value = extent
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    onnx.save(model, path)
    return path


# ===- Files -------------------------------------------------------------===#


def bytes_of_file(path, half=1024, block=4096):
    """What the model sees of a file: both ends, without white space."""
    data = pathlib.Path(path).read_bytes()
    first, last = data[:block].lstrip()[:half], data[-block:].rstrip()[-half:]
    pad = lambda text: [256] * (half - len(text))
    return [*first, *pad(first), *pad(last), *last]


def files_of_machine(rng, most=25):
    """Up to so many of each extension."""
    by_extension = {}
    for root in ("/usr/share", "/usr/include", "/usr/lib", "/etc"):
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                path = pathlib.Path(folder, name)
                if not path.is_symlink() and path.is_file() and path.stat().st_size > 7:
                    by_extension.setdefault(path.suffix.lower()[:6], []).append(path)
    for _, paths in sorted(by_extension.items()):
        yield from rng.sample(paths, min(most, len(paths)))


class FileTypes:
    """The kind of a file, or that it is not known well enough."""

    calibration = 256

    def __init__(self, folder):
        files = unpack(folder, "magika") / "magika"
        model = files / "models/standard_v3_3"
        self.path = with_shapes(
            model / "model.onnx", folder / "files.onnx", {"bytes": [1, 2048]}
        )
        self.config = json.loads((model / "config.min.json").read_text())
        kinds = files / "config/content_types_kb.min.json"
        self.kinds = json.loads(kinds.read_text())

    def inputs(self):
        rng = random.Random(1)
        paths = list(files_of_machine(rng))
        rng.shuffle(paths)
        return [{"bytes": np.array([bytes_of_file(path)], np.int32)} for path in paths]

    def decide(self, outputs):
        probabilities = outputs["target_label"][0]
        label = self.config["target_labels_space"][probabilities.argmax()]
        default = self.config["medium_confidence_threshold"]
        if probabilities.max() >= self.config["thresholds"].get(label, default):
            return [self.config["overwrite_map"].get(label, label)]
        return ["text" if self.kinds[label]["is_text"] else "unknown"]


# ===- Lines of text -----------------------------------------------------===#


def render(rng, noise, words, fonts):
    text = " ".join(rng.choices(words, k=rng.randint(1, 4)))
    font = ImageFont.truetype(rng.choice(fonts), rng.randint(20, 40))
    width, height = font.getbbox(text)[2:]
    paper, ink = rng.randint(150, 255), rng.randint(0, 90)
    size = (width + rng.randint(6, 30), height + rng.randint(4, 16))
    image = Image.new("RGB", size, (paper, paper, paper))
    at = rng.randint(2, 8), rng.randint(0, 4)
    ImageDraw.Draw(image).text(at, text, fill=(ink, ink, ink), font=font)
    if rng.random() < 0.4:
        angle = rng.uniform(-3, 3)
        image = image.rotate(angle, expand=True, fillcolor=(paper, paper, paper))
    if rng.random() < 0.4:
        image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0, 1.2)))
    pixels = np.asarray(image, np.float32)
    pixels = pixels + noise.normal(0, rng.uniform(0, 12), pixels.shape)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


class Lines:
    calibration = 300
    count = 1300

    def __init__(self, folder):
        models = unpack(folder, "rapidocr") / "rapidocr_onnxruntime/models"
        self.path = with_shapes(
            models / self.model, folder / self.model, {"x": [1, 3, 48, self.width]}
        )

    def inputs(self):
        rng, noise = random.Random(7), np.random.default_rng(7)
        text = (pathlib.Path(p).read_text(errors="ignore") for p in self.TEXTS)
        words = " ".join(text).split()
        fonts = sorted(glob.glob("/usr/share/fonts/truetype/*/*.ttf"))
        return [self.input(i, render(rng, noise, words, fonts)) for i in range(self.count)]

    TEXTS = sorted(glob.glob("/usr/share/common-licenses/*"))

    def input(self, i, image):
        width = min(self.width, math.ceil(48 * image.width / image.height))
        pixels = np.asarray(image.resize((width, 48), Image.BILINEAR), np.float32)
        x = np.zeros((1, 3, 48, self.width), np.float32)
        x[0, :, :, :width] = (pixels / 127.5 - 1).transpose(2, 0, 1)[::-1]
        return {"x": x}


class Direction(Lines):
    """Whether a line is upside down."""

    model, width = "ch_ppocr_mobile_v2.0_cls_infer.onnx", 192

    def input(self, i, image):
        return super().input(i, image.rotate(180) if i % 2 else image)

    def decide(self, outputs):
        return [int(next(iter(outputs.values())).argmax())]


class Text(Lines):
    """All letters of a line."""

    model, width = "ch_PP-OCRv4_rec_infer.onnx", 320

    def decide(self, outputs):
        best = next(iter(outputs.values()))[0].argmax(-1)
        return [tuple(b for a, b in zip([0, *best], best) if b and a != b)]


# ===- Speech ------------------------------------------------------------===#


class Speech:
    """For each 32 ms whether somebody speaks."""

    calibration = 8
    frames, step, context = 300, 512, 64

    def __init__(self, folder):
        data = unpack(folder, "silero") / "silero_vad/data"
        state = [1, 1, 128]
        self.path = with_shapes(
            data / "silero_vad_16k_sequence.onnx",
            folder / "speech.onnx",
            {"input": [self.frames, self.step + self.context], "h": state, "c": state},
        )

    def say(self, rng, words):
        voice = rng.choice(["en", "en-us", "de", "fr", "es", "en+f3", "de+f2", "vi"])
        speed, pitch = str(rng.randint(120, 220)), str(rng.randint(20, 80))
        command = ["espeak-ng", "--stdout", "-v", voice, "-s", speed, "-p", pitch]
        text = " ".join(rng.choices(words, k=6))
        done = subprocess.run([*command, text], check=True, capture_output=True)
        rate = wave.open(io.BytesIO(done.stdout)).getframerate()
        samples = np.frombuffer(done.stdout[44:], np.int16) / 32768
        times = np.arange(int(len(samples) * 16000 / rate)) * rate / 16000
        return np.interp(times, np.arange(len(samples)), samples)

    def inputs(self):
        rng, noise = random.Random(3), np.random.default_rng(3)
        words = pathlib.Path(Lines.TEXTS[0]).read_text().split()
        state, length = np.zeros((1, 1, 128), np.float32), self.frames * self.step
        inputs = []
        for _ in range(40):
            parts = [np.zeros(self.context)]
            while sum(map(len, parts)) < length + self.context:
                parts.append(self.say(rng, words) * rng.uniform(0.2, 1))
                parts.append(np.zeros(rng.randint(4000, 24000)))
            sound = np.concatenate(parts)[: length + self.context]
            sound = sound + noise.normal(0, 10 ** rng.uniform(-4, -1.7), sound.shape)
            frames = np.lib.stride_tricks.sliding_window_view(
                sound.astype(np.float32), self.step + self.context
            )[:: self.step]
            inputs.append({"input": frames, "h": state, "c": state})
        return inputs

    def decide(self, outputs):
        return list(outputs["speech_probs"].reshape(-1) > 0.5)


# ===- Measuring ---------------------------------------------------------===#

TASKS = {"files": FileTypes, "direction": Direction, "text": Text, "speech": Speech}


def decisions(library, artifact, task, inputs):
    model = Model(library, artifact, 1)
    return [decision for x in inputs for decision in task.decide(model.run(x))]


def compile_forms(args, task, samples):
    """The artifacts of a model by what they compute in."""
    data, names = args.folder / "data.npz", samples[0].keys()
    np.savez(data, **{name: np.concatenate([s[name] for s in samples]) for name in names})

    def tool(name, *arguments):
        command = [args.bin / name, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    base = task.path.parent / task.path.stem
    for kind in ("f32", "bf16", "f16"):
        artifact = f"{base}.{kind}.so"
        tool("graph-compile", task.path, f"--precision={kind}", "-o", artifact)
        yield kind, artifact, ""
    for kind, options in {"int8": [], "30 dB": ["--min-sqnr=30"]}.items():
        model, artifact = f"{base}.{kind}.onnx", f"{base}.{kind}.so"
        said = tool("graph-quantize", task.path, "--data", data, *options, "-o", model)
        tool("graph-compile", model, "-o", artifact)
        yield kind, artifact, "(" + " of ".join(re.findall(r"(\d+) of (\d+) layers", said)[0]) + ")"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default="build/bin")
    parser.add_argument("--lib", default="build/lib/libtinh_runtime.so")
    parser.add_argument("--only", default=",".join(TASKS))
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    print("| decisions about | of them | bf16 | f16 | int8 | int8, 30 dB |\n|---|---|---|---|---|---|")
    for name in args.only.split(","):
        task = TASKS[name](args.folder)
        inputs = task.inputs()
        samples, inputs = inputs[: task.calibration], inputs[task.calibration :]
        cells, right = [], None
        for kind, artifact, layers in compile_forms(args, task, samples):
            found = decisions(args.lib, artifact, task, inputs)
            if right is None:
                right = found
                continue
            share = np.mean([a == b for a, b in zip(right, found)])
            cells.append(f"{share:.2%} {layers}".rstrip())
        print("|", " | ".join([name, f"{len(right):,}", *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
