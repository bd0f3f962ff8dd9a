"""What engines make of a model before they run it, for compare.py."""

import os
import pathlib
import subprocess

import onnx

import environments

HERE = pathlib.Path(__file__).resolve().parent


class Conversions:
    """Each is a function of a model's folder that gives what the engine loads.
    Where an engine converts slowly, what is newer than the model stays."""

    def __init__(self, build, python_of, log):
        self.build = build
        self.python_of = python_of
        self.log = log
        self.of_engine = {
            "tinh": self.tinh,
            "ncnn": self.ncnn,
            "iree": self.iree,
        }

    def convert(self, engine, folder):
        """The path that the engine loads; that of the ONNX file where there is
        nothing to convert."""
        function = self.of_engine.get(engine)
        return function(folder) if function else folder / "model.onnx"

    def tinh(self, folder):
        artifact = place(folder) / f"{folder.name}.so"
        compiler = self.build / "bin" / "graph-compile"
        self._run([compiler, folder / "model.onnx", "-o", artifact])
        return artifact

    def ncnn(self, folder):
        artifact = place(folder) / f"{folder.name}.ncnn"
        if not is_newer(artifact / "interface.json", folder):
            python = self.python_of(environments.TORCH)
            self._run([python, HERE / "convert_ncnn.py", folder, artifact])
        return artifact

    def iree(self, folder):
        artifact = place(folder) / f"{folder.name}.vmfb"
        if is_newer(artifact, folder):
            return artifact
        programs = self.python_of("iree").parent
        # Another comparison may be at the same model.
        imported = artifact.with_suffix(f".{os.getpid()}.mlir")
        partial = artifact.with_suffix(f".{os.getpid()}.partial")
        try:
            self._import_for_iree(programs, folder / "model.onnx", imported)
            self._compile_for_iree(programs, imported, partial)
            partial.rename(artifact)
        finally:
            imported.unlink(missing_ok=True)
            partial.unlink(missing_ok=True)
        return artifact

    def _import_for_iree(self, programs, model, out):
        command = [programs / "iree-import-onnx", model, "-o", out]
        # Of some ops it knows no older versions.
        if opset_of(model) < 17:
            command += ["--opset-version", "17"]
        self._run(command)

    def _compile_for_iree(self, programs, imported, out):
        command = [programs / "iree-compile", imported, "-o", out]
        command += ["--iree-hal-target-device=local"]
        command += ["--iree-hal-local-target-device-backends=llvm-cpu"]
        command += ["--iree-llvmcpu-target-cpu=host"]
        command += ["--iree-opt-data-tiling", "--iree-opt-level=O3"]
        # At this level, tiles take more stack than it allows; its workers get it.
        unchecked = "--iree-llvmcpu-fail-on-out-of-bounds-stack-allocation=false"
        self._run([*command, unchecked])

    def _run(self, command):
        """What a command says goes to the log."""
        with open(self.log, "a") as log:
            words = [str(word) for word in command]
            print("$", *words, file=log, flush=True)
            code = subprocess.run(words, stdout=log, stderr=log).returncode
        if code:
            names = [pathlib.Path(word).name for word in words]
            name = names[1] if names[0] == "python" else names[0]
            raise RuntimeError(f"{name} failed; see {self.log}")


def opset_of(model):
    imports = onnx.load(model, load_external_data=False).opset_import
    ours = ("", "ai.onnx")
    return max((i.version for i in imports if i.domain in ours), default=0)


def place(folder):
    """Where what is made of a model lies: beside its folder."""
    compiled = folder.parent / "compiled"
    compiled.mkdir(parents=True, exist_ok=True)
    return compiled


def is_newer(path, folder):
    model = folder / "model.onnx"
    return path.exists() and path.stat().st_mtime > model.stat().st_mtime
