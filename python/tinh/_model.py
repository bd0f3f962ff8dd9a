"""Models to call."""

from __future__ import annotations

import numbers
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable
from typing import Any

from . import _tinh
from ._report import Profile, Report
from ._tables import Table


# Options of a model that runs, and what each takes. tinh.compile has them, too.
_OPTIONS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    name: ("an integer of at least 0", lambda v: _is_integer(v, 0))
    for name in ("threads", "cuda_device", "max_in_flight")
}
_OPTIONS["spin_us"] = ("an integer of at least -1", lambda v: _is_integer(v, -1))
_OPTIONS |= {
    name: ("True or False", lambda v: isinstance(v, bool))
    for name in ("pin_threads", "measure_steps")
}
_OPTIONS |= {
    name: ("text or None", lambda v: v is None or isinstance(v, str))
    for name in ("device", "check_numerics")
}
_OPTIONS |= {
    name: ("a path or None", lambda v: isinstance(v, (str, os.PathLike, type(None))))
    for name in ("trace", "weights")
}
RUN_OPTIONS = _OPTIONS.keys() - {"weights", "measure_steps"}


def _is_integer(value: object, least: int) -> bool:
    return isinstance(value, numbers.Integral) and value >= least


def check_options(options: dict[str, Any]) -> None:
    """Options of a model that runs; paths among them become text."""
    for name, value in options.items():
        if name not in _OPTIONS:
            raise TypeError(
                f'a model has no option "{name}"; it has {", ".join(_OPTIONS)}'
            )
        what, accepts = _OPTIONS[name]
        if not accepts(value):
            raise TypeError(f"{name}: expected {what}, found {value!r}")
        if isinstance(value, os.PathLike):
            options[name] = os.fspath(value)


class Model(_tinh.Model):
    """A compiled model: what tinh.compile and tinh.load give.

    A call runs the function "main"; others are attributes. `inputs` and
    `outputs` say what it takes and gives.
    """

    def __init__(self, path: str | os.PathLike[str], **options):
        check_options(options)
        super().__init__(path, **options)
        self._report: Report | None = None
        # The artifact itself, which save copies: its file may be gone.
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the artifact to `path`, for tinh.load, tinh_runtime and the C
        API: whole, or not at all. Weights that lie in a file of their own are
        not copied."""
        folder = os.path.dirname(os.path.abspath(path))
        with open(f"/proc/self/fd/{self._file}", "rb") as artifact:
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as copy:
                try:
                    shutil.copyfileobj(artifact, copy, 1 << 22)
                    os.fchmod(copy.fileno(), 0o755)
                    copy.flush()
                    os.replace(copy.name, path)
                except BaseException:
                    os.unlink(copy.name)
                    raise

    def report(self) -> Report:
        """What the compiler said of the model; tinh.load has nothing to tell."""
        if self._report is None:
            raise _tinh.Error(
                "only a model that this process has compiled has a report; "
                "profile() and kernels work for those that were loaded, too"
            )
        return self._report

    @property
    def kernels(self) -> Table:
        """The kernels of all functions: how they are computed, and what they
        have to do."""
        measured = self.again(threads=self.threads, measure_steps=True)
        seen = {}
        for function in self.functions:
            for step in measured.function_profile(function)["steps"]:
                if step["kernel"]:
                    row = seen.setdefault(step["kernel"], [0, step])
                    row[0] += 1
        return Table(
            ["kernel", "steps", "operations", "bytes", "plan"],
            [
                [name, count, step["operations"], step["bytes"], step["plan"] or ""]
                for name, (count, step) in seen.items()
            ],
        )

    def profile(
        self, *args, function: str | None = None, seconds: float = 1.0, **kwargs
    ) -> Profile:
        """Calls the function, "main" or the one named, with these arguments for
        some seconds, after three calls that do not count, and says what each
        step takes. State is that of a new model: this one's does not change."""
        measured = self.again(threads=self.threads, measure_steps=True)
        if function is None:
            called = next(
                (f for f in measured.functions if f.name == "main"),
                measured.functions[0],
            )
        else:
            called = getattr(measured, function)
        for _ in range(3):
            called(*args, **kwargs)
        measured.reset_profile()
        end = time.perf_counter() + seconds
        while True:
            called(*args, **kwargs)
            if time.perf_counter() >= end:
                break
        page = _tinh._profile_data(
            measured._engine, called.name, self._report and self._report._page
        )
        return Profile(measured.function_profile(called), page)

    def state_dict(self) -> dict:
        """All variables by name, as NumPy arrays: copies."""
        return {v.name: self.read_variable(v.name) for v in self.variables}

    def load_state_dict(self, state: dict) -> None:
        """Gives variables the values of `state`, by name; if one is wrong, none
        changes."""
        before = {}
        try:
            for name, value in state.items():
                before[name] = self.read_variable(name)
                self.write_variable(name, value)
        except BaseException:
            for name, value in before.items():
                self.write_variable(name, value)
            raise


def load(path: str | os.PathLike[str], **options) -> Model:
    """The artifact at `path`, to be called. Model has the options, threads and
    device among them."""
    return Model(path, **options)
