# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing an artifact: the same bytes each time, and whole or not at all."""

import os
import pathlib
import re
import resource
import signal
import subprocess
import time
import unittest

import tool_test
from tool_test import ToolTest

TEMPORARY = re.compile(r"^out\.(so|safetensors)\.[0-9a-f]{8}\.tmp$")


class SameBytes(ToolTest):
    def test_jobs_names_folders_and_the_cache_make_no_difference(self):
        model = self.write_model(layers=3)
        elsewhere = self.root / "elsewhere"
        elsewhere.mkdir()
        self.compile(model, "a.so", "-j1", "--no-cache")
        ways = {
            "jobs": (["-j2", "--no-cache"], "b.so", self.folder),
            "cold cache": ([], "other_name.so", self.folder),
            "warm cache": ([], "c.so", self.folder),
            "folder": (["--no-cache"], "../elsewhere/d.so", elsewhere),
        }
        good = (self.folder / "a.so").read_bytes()
        for name, (options, output, cwd) in ways.items():
            with self.subTest(name):
                given = os.path.relpath(model, cwd)
                self.compile(given, output, *options, cwd=cwd)
                self.assertEqual((cwd / output).read_bytes(), good)

    def test_external_weights(self):
        model = self.write_model()
        files = ("m.so", "m.safetensors")
        contents = []
        for folder in ("one", "two"):
            (self.folder / folder).mkdir()
            self.compile(model, f"{folder}/m.so", "--weights=external")
            contents.append(
                [(self.folder / folder / name).read_bytes() for name in files]
            )
        self.assertEqual(contents[0], contents[1])


class Unwritable(ToolTest):
    """An output that cannot be written leaves what was there, and no more."""

    def setUp(self):
        super().setUp()
        self.model = self.write_model(layers=1)

    def refused(self, output, *parts, **options):
        done = self.run_tool("graph-compile", self.model, "-o", output, **options)
        self.fails(done, f"error: cannot write '{output}': ", *parts)

    def test_a_folder(self):
        (self.folder / "out").mkdir()
        self.refused("out", "it is a directory")
        self.assertNoLeftovers("model.json", "out")

    def test_no_folder(self):
        self.refused("nowhere/out.so", "No such file or directory")
        self.refused("model.json/out.so", "Not a directory")
        self.assertNoLeftovers("model.json")

    def test_something_that_is_no_file(self):
        os.mkfifo(self.folder / "pipe")
        self.refused("pipe", "it is not a regular file")
        self.refused("/dev/full", "it is not a regular file")
        self.assertNoLeftovers("model.json", "pipe")

    def test_a_folder_without_permission(self):
        if os.geteuid() == 0:
            self.skipTest("root writes to any folder")
        locked = self.folder / "locked"
        locked.mkdir()
        locked.chmod(0o500)
        self.refused("locked/out.so", "Permission denied")

    def test_the_model_itself(self):
        self.compile(self.model, "old.so")
        text = self.model.read_bytes()
        done = self.run_tool("graph-compile", self.model, "-o", "./model.json")
        self.fails(done, "error: the output './model.json' is the model itself")
        self.assertEqual(self.model.read_bytes(), text)

    def test_a_file_of_someone_else_where_external_weights_go(self):
        other = self.folder / "model.safetensors"
        other.write_bytes(b"\x10\0\0\0\0\0\0\0{}              data")
        done = self.run_tool(
            "graph-compile", self.model, "-o", "model.so", "--weights=external"
        )
        self.fails(
            done,
            "error: cannot write 'model.safetensors': it is there and holds no "
            "weights of an artifact; remove it or choose another name",
        )
        self.assertNoLeftovers("model.json", "model.safetensors")
        other.unlink()
        for _ in range(2):  # Its own is replaced.
            self.compile(self.model, "model.so", "--weights=external")
        self.assertNoLeftovers("model.json", "model.safetensors", "model.so")

    def test_external_weights_of_the_same_name(self):
        for output in ("q.safetensors", "./q.safetensors"):
            done = self.run_tool(
                "graph-compile", self.model, "-o", output, "--weights=external"
            )
            self.fails(
                done,
                f"error: cannot write '{output}': its external weights would have "
                "the same name; call it otherwise, such as q.so",
            )
            self.assertNoLeftovers("model.json")

    def test_a_companion_that_is_no_file(self):
        os.mkfifo(self.folder / "m.safetensors")
        done = self.run_tool(
            "graph-compile", self.model, "-o", "m.so", "--weights=external"
        )
        self.fails(done, "'m.safetensors': it is not a regular file but a pipe")
        self.assertNoLeftovers("model.json", "m.safetensors")

    def test_files_may_not_grow_enough(self):
        """As on a full disk, each write beyond the limit fails."""
        self.compile(self.model, "out.so")
        old = (self.folder / "out.so").read_bytes()
        cases = (
            (2000, "embedded", "cannot make a file in memory: "),
            (len(old) - 100, "embedded", "cannot write 'out.so': "),
            (len(old) - 6000, "external", "cannot write 'out.safetensors': "),
        )
        for limit, weights, where in cases:
            with self.subTest(limit=limit, weights=weights):
                done = self.run_tool(
                    "graph-compile",
                    self.model,
                    "-o",
                    "out.so",
                    f"--weights={weights}",
                    preexec_fn=lambda: resource.setrlimit(
                        resource.RLIMIT_FSIZE, (limit, limit)
                    ),
                )
                self.fails(done, where, "File too large")
                self.assertNoLeftovers("model.json", "out.so")
                self.assertEqual((self.folder / "out.so").read_bytes(), old)

    def test_ir_is_whole_or_not_there(self):
        for name in ("out.mlir", "out.mlirbc"):
            path = self.folder / name
            path.write_text("old")
            done = self.run_tool(
                "graph-compile",
                self.model,
                "--emit=graph",
                "-o",
                name,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
            )
            self.fails(done, f"error: cannot write '{name}': ")
            self.assertEqual(path.read_text(), "old")
            path.unlink()
        (self.folder / "real.mlir").write_text("old")
        (self.folder / "out.mlir").symlink_to("real.mlir")
        self.compile(self.model, "out.mlir", "--emit=graph")
        self.assertTrue((self.folder / "out.mlir").is_symlink())
        self.assertIn("func.func @main", (self.folder / "real.mlir").read_text())
        self.compile(self.model, "/dev/null", "--emit=graph")
        self.assertNoLeftovers("model.json", "out.mlir", "real.mlir")

    def test_a_full_disk(self):
        mount = self.folder / "disk"
        mount.mkdir()
        # The mount is seen by this shell alone and goes with it.
        script = (
            'mount -t tmpfs -o size=8k tinh "$1" && cd "$1" && shift && "$@"; '
            "code=$?; ls -A; exit $code"
        )
        prefix = ["unshare", "--user", "--map-root-user", "--mount"]
        if subprocess.run([*prefix, "true"], capture_output=True).returncode:
            self.skipTest("this system lets nobody make mounts of their own")
        command = [tool_test.TOOLS / "graph-compile", self.model, "-o", "a.so"]
        done = subprocess.run(
            [*prefix, "sh", "-c", script, "sh", mount, *command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        self.fails(done, "a.so'", "No space left on device")
        self.assertEqual(done.stdout, "")  # What ls lists.


class Interrupted(ToolTest):
    """A signal ends the compiler; it leaves a whole artifact or nothing."""

    def setUp(self):
        super().setUp()
        self.model = self.write_large_model()
        self.sources = {"large.json", "large.weights"}

    def added(self):
        """The names of new files."""
        paths = [*self.folder.iterdir(), *self.temporary.iterdir()]
        return {path.name for path in paths} - self.sources

    def is_writing(self, process):
        """Whether the output is open, with or without a name."""
        folder = pathlib.Path(f"/proc/{process.pid}/fd")
        output = re.escape(str(self.folder)) + r"/(#\d+ \(deleted\)|out.*\.tmp)"
        try:
            return any(re.fullmatch(output, os.readlink(x)) for x in folder.iterdir())
        except OSError:  # Closed meanwhile.
            return False

    def interrupt(self, number, is_time, weights="embedded"):
        """Sends the signal when is_time(process); gives the exit code."""
        process = self.start(
            "graph-compile",
            self.model,
            "-o",
            "out.so",
            "--no-cache",
            f"--weights={weights}",
        )
        while process.poll() is None and not is_time(process):
            time.sleep(0.0002)
        process.send_signal(number)
        process.communicate()
        return process.returncode

    def moments(self):
        """Functions that tell when to send the signal."""

        def after(seconds):
            start = time.monotonic()
            return lambda _: time.monotonic() - start >= seconds

        yield from (after(seconds) for seconds in (0, 0.02, 0.05, 0.1))
        yield self.is_writing

    def clear(self):
        for path in self.folder.iterdir():
            if path.name not in self.sources:
                path.unlink()

    def check_whole(self, names):
        """Whatever has the output's name can be run."""
        if "out.so" in names:
            done = self.run_tool("graph-run", "out.so", "--input", "x=zeros")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_signals(self):
        interrupted = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            for weights in ("embedded", "external"):
                for is_time in self.moments():
                    code = self.interrupt(number, is_time, weights)
                    names = self.added()
                    self.assertIn(code, (0, -number))
                    self.assertLessEqual(names, {"out.so", "out.safetensors"})
                    if code:
                        interrupted += 1
                        self.assertNotIn("out.so", names)
                    self.check_whole(names)
                    self.clear()
        self.assertGreater(interrupted, 0)

    def test_kill(self):
        unnamed = tool_test.has_unnamed_files(self.folder)
        for weights in ("embedded", "external"):
            for is_time in self.moments():
                self.interrupt(signal.SIGKILL, is_time, weights)
                names = self.added()
                for name in names - {"out.so", "out.safetensors"}:
                    self.assertFalse(unnamed, name)  # Nothing is replaced.
                    self.assertRegex(name, TEMPORARY)
                self.check_whole(names)
                self.clear()

    def test_comparing(self):
        """What graph-compare compiles to run is temporary."""
        for tenths in range(3):
            process = self.start("graph-compare", self.model, "--runs", "100000")
            while process.poll() is None and not list(self.temporary.iterdir()):
                time.sleep(0.0002)
            time.sleep(0.1 * tenths)
            process.send_signal(signal.SIGTERM)
            process.communicate()
            self.assertEqual(process.returncode, -signal.SIGTERM)
            self.assertNoLeftovers(*self.sources)


if __name__ == "__main__":
    tool_test.main()
