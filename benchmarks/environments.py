"""The engines' Python environments, each made when it is first asked for."""

import filecmp
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# PyTorch's is the one that exports models: it takes several GB.
TORCH = "torch"


class Environments:
    """Those below a build folder, each with a requirements file of its own."""

    def __init__(self, build):
        self.build = build

    def python(self, name):
        """The environment's Python. With what is not there yet, or was made
        from other requirements, pip is run, as by ./dev."""
        venv, requirements = self._place(name)
        file_name = f"benchmarks/{requirements.relative_to(HERE)}"
        installed = venv / f"installed-{file_name.replace('/', '-')}"
        python = venv / "bin" / "python"
        if not (installed.exists() and filecmp.cmp(requirements, installed)):
            print(f"    installing the packages of {file_name}", file=sys.stderr)
            make_environment(venv, python, requirements)
            shutil.copyfile(requirements, installed)
        return python

    def _place(self, name):
        if name == TORCH:
            return self.build / "venv-bench", HERE / "requirements.txt"
        return (
            self.build / "bench" / name,
            HERE / "requirements" / f"{name}.txt",
        )


def make_environment(venv, python, requirements):
    venv.parent.mkdir(parents=True, exist_ok=True)
    pip = [python, "-m", "pip", "install", "--quiet"]
    pip += ["--disable-pip-version-check", "-r", requirements]
    try:
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run(pip, check=True)
    except subprocess.CalledProcessError:
        raise RuntimeError(
            f"the packages of {requirements.name} cannot be installed"
        ) from None
