"""Makes the bundle of benchmarks/gpu.sh.

    gpu.sh bundle DIR [MODEL ...]

Writes, for each MODEL (default: all of gpu_models.py), artifacts for CPU and GPU
to DIR/models/MODEL, with what they need but their weights, which are drawn from
a seed where the bundle is run; beside them the programs that run them; and all of
it to DIR.tar.gz. Needs the CUDA toolkit.
"""

import argparse
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import gpu_models

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4}
ON_RANKS = ("mlp_step",)  # What two ranks train, too, each with a GPU.
LIMIT = 60_000_000  # GPUs are often slow to copy to.


def compile_model(args, name, model, source, folder):
    artifacts = {"cpu": [], "gpu": ["--target=cuda"]}
    if name in ON_RANKS:
        for way in ("mpi", "nccl"):
            options = ["--data-parallel", f"--collectives={way}"]
            artifacts[way] = ["--target=cuda", *options]
    for device, options in artifacts.items():
        if device != "cpu" and args.chips:
            options.append(f"--cuda-chips={args.chips}")
        subprocess.run(
            [
                args.bin / "graph-compile",
                source,
                *("-o", folder / f"{device}.so", f"--cpu={args.cpu}"),
                *model.options,
                *options,
            ],
            check=True,
        )


def variables(args, artifact):
    """(name, dtype, shape) of an artifact's variables."""
    done = subprocess.run(
        [args.bin / "graph-run", artifact, "--list"],
        capture_output=True,
        text=True,
        check=True,
    )
    pattern = r"^  (?:trained|kept) +(\S+) +(\S+) +(\S+) +\d+ bytes$"
    for name, dtype, shape in re.findall(pattern, done.stdout, re.MULTILINE):
        dims = [] if shape == "scalar" else [int(d) for d in shape.split("x")]
        yield name, dtype, dims


def header(tensors):
    """That of a .safetensors file; its metadata says how to draw each tensor."""
    entries, metadata, end = {}, {}, 0
    for name, dtype, shape, mean, spread in tensors:
        begin, end = end, end + SIZES[dtype] * math.prod(shape)
        entries[name] = {
            "dtype": dtype.upper(),
            "shape": shape,
            "data_offsets": [begin, end],
        }
        metadata[name] = f"{mean} {spread}"
    text = json.dumps({"__metadata__": metadata, **entries})
    return text + " " * (-len(text) % 8)


def tensors_to_draw(args, model, artifact):
    if not model.has_variables:
        return model.tensors
    drawn = {name: rest for name, _, _, *rest in model.tensors}
    return [
        (name, dtype, shape, *drawn.get(name, (0, 0)))
        for name, dtype, shape in variables(args, artifact)
    ]


def write_model(args, name, model):
    folder = args.dir / "models" / name
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        source = pathlib.Path(temporary, name + model.suffix)
        source.write_text(model.text)
        compile_model(args, name, model, source, folder)
    tensors = tensors_to_draw(args, model, folder / "cpu.so")
    (folder / "weights.header").write_text(header(tensors))
    (folder / "arguments").write_text("\n".join(model.arguments) + "\n")
    if model.has_variables:
        (folder / "updates-state").touch()
    about = {
        "name": name,
        "flop": model.flop,
        "bytes": model.bytes,
        "tolerance": model.tolerance,
        **model.torch,
    }
    if "kernel" not in model.torch:
        (folder / "model.json").write_text(model.text)
    (folder / "about.json").write_text(json.dumps(about))


def write_programs(args):
    for folder in ("bin", "lib"):
        (args.dir / folder).mkdir(parents=True)
    for program in ("graph-run", "gpu-check"):
        target = args.dir / "bin" / program
        shutil.copy2(args.bin / program, target)
        subprocess.run(["strip", target], check=True)
    for library in ("libtinh_runtime.so.0", "libtinh_cuda.so.0"):
        shutil.copy2(args.bin.parent / "lib" / library, args.dir / "lib" / library)
    for library in (args.bin.parent / "lib").glob("libtinh_*.so"):
        if library.stem in ("libtinh_nccl", "libtinh_mpi_openmpi", "libtinh_mpi_mpich"):
            shutil.copy2(library, args.dir / "lib" / library.name)
    shutil.copy2(HERE / "gpu.sh", args.dir / "gpu.sh")
    shutil.copy2(HERE / "gpu" / "torch_models.py", args.dir / "torch_models.py")


def write_archive(folder):
    archive = folder.with_name(folder.name + ".tar.gz")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, arcname=folder.name)
    size = archive.stat().st_size
    print(f"{archive}: {size / 1e6:.1f} MB")
    return size


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parent / "build/bin")
    parser.add_argument("--cpu", default="x86-64-v3")
    parser.add_argument("--chips", help="as --cuda-chips; all if not given")
    parser.add_argument(
        "--small", action="store_true", help="small models, for an emulated GPU"
    )
    args = parser.parse_intermixed_args()
    known = gpu_models.small_models() if args.small else gpu_models.all_models()
    for name in args.models:
        if name not in known:
            parser.error(f"no model '{name}'; there are {', '.join(known)}")
    if args.dir.exists():
        parser.error(f"{args.dir} is there already")
    write_programs(args)
    failed = []
    for name in args.models or known:
        try:
            write_model(args, name, known[name]())
        except subprocess.CalledProcessError:
            failed.append(name)
            shutil.rmtree(args.dir / "models" / name)
            continue
        print(f"compiled {name}", flush=True)
    size = write_archive(args.dir)
    if size > LIMIT:
        sys.exit(f"the archive is larger than {LIMIT / 1e6:.0f} MB")
    if failed:
        sys.exit(f"not compiled, and not in the bundle: {', '.join(failed)}")


if __name__ == "__main__":
    main()
