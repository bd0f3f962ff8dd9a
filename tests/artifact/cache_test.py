# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cache of compiled kernels, as graph-compile uses it."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import tool_test
from tool_test import ToolTest

WARNING = "warning: compiled kernels are not kept: cannot write '"


class Cache(ToolTest):
    def hits(self, printed):
        """(kernels from the cache, kernels) as --timing prints them."""
        found = re.search(r"kernels from the cache +(\d+) of (\d+)", printed)
        return int(found[1]), int(found[2])

    def entries(self, cache=None):
        return sorted(
            path
            for path in (cache or self.cache).iterdir()
            if path.name != "llvmcache.timestamp"
        )

    def test_the_second_compilation_finds_all_kernels(self):
        model = self.write_model()
        hits, kernels = self.hits(self.compile(model, "cold.so", "--timing"))
        self.assertEqual(hits, 0)
        self.assertGreater(kernels, 2)  # Those of @init are among them.
        self.assertEqual(len(self.entries()), kernels)
        warm = self.compile(model, "warm.so", "--timing")
        self.assertEqual(self.hits(warm), (kernels, kernels))
        self.assertEqual(
            (self.folder / "cold.so").read_bytes(),
            (self.folder / "warm.so").read_bytes(),
        )

    def test_verbose_tells_kernels_and_hits(self):
        model = self.write_model(layers=1)
        cold = self.compile(model, "a.so", "--verbose").splitlines()
        warm = self.compile(model, "a.so", "--verbose").splitlines()
        line = r"\w+ +(contraction|rows) +[\d,]+ bytes +[\d.]+ ms"
        for printed in cold:
            self.assertRegex(printed, line + "$")
        for printed in warm:
            self.assertRegex(printed, line + "  cached$")
        self.assertEqual(len(cold), len(self.entries()))

    def test_without_a_cache_nothing_is_kept(self):
        model = self.write_model(layers=1)
        self.compile(model, "a.so", "--no-cache")
        self.assertFalse(self.cache.exists())
        del self.environment["XDG_CACHE_HOME"]
        self.environment["HOME"] = str(self.root / "home")
        self.compile(model, "b.so")
        self.assertTrue(self.entries(self.root / "home" / ".cache" / "tinh"))

    def test_cache_dir(self):
        model = self.write_model(layers=1)
        other = self.root / "some" / "where"
        self.compile(model, "a.so", "--cache-dir", other)
        self.assertTrue(self.entries(other))
        self.assertFalse(self.cache.exists())

    def test_another_target_is_another_entry(self):
        model = self.write_model(layers=1)
        self.compile(model, "a.so", "--cpu=x86-64-v3")
        printed = self.compile(model, "b.so", "--cpu=haswell", "--timing")
        hits, kernels = self.hits(printed)
        self.assertEqual(hits, 0)
        self.assertEqual(len(self.entries()), 2 * kernels)
        printed = self.compile(model, "d.so", "--cpu=emulated+haswell", "--timing")
        self.assertEqual(self.hits(printed)[0], 0)
        printed = self.compile(model, "c.so", "--cpu=x86-64-v3", "--timing")
        self.assertEqual(self.hits(printed), (kernels, kernels))

    def damages(self):
        """Ways for an entry to go bad, each a function of its bytes."""
        return {
            "empty": lambda data: b"",
            "cut in the hash": lambda data: data[:7],
            "cut at the hash": lambda data: data[:20],
            "cut by a byte": lambda data: data[:-1],
            "one bit": lambda data: data[:-9]
            + bytes([data[-9] ^ 1])
            + data[-8:],
            "longer": lambda data: data + b"\0",
        }

    def test_damaged_entries_are_ignored_and_replaced(self):
        model = self.write_model()
        self.compile(model, "good.so")
        good = (self.folder / "good.so").read_bytes()
        for name, damage in self.damages().items():
            with self.subTest(name):
                for entry in self.entries():
                    entry.write_bytes(damage(entry.read_bytes()))
                hits, kernels = self.hits(
                    self.compile(model, "again.so", "--timing")
                )
                self.assertEqual(hits, 0)
                self.assertEqual((self.folder / "again.so").read_bytes(), good)
                warm = self.compile(model, "warm.so", "--timing")
                self.assertEqual(self.hits(warm), (kernels, kernels))

    def test_an_entry_under_another_name_is_ignored(self):
        model = self.write_model()
        self.compile(model, "good.so")
        entries = self.entries()
        contents = [entry.read_bytes() for entry in entries]
        for entry, content in zip(entries, contents[1:] + contents[:1]):
            entry.write_bytes(content)
        printed = self.compile(model, "again.so", "--timing")
        self.assertEqual(self.hits(printed)[0], 0)

    def test_a_folder_that_cannot_be_written_is_a_warning(self):
        model = self.write_model()
        self.compile(model, "good.so", "--no-cache")
        file = self.root / "file"
        file.write_text("")
        readonly = self.root / "readonly"
        readonly.mkdir()
        readonly.chmod(0o500)
        cases = {"a file": file, "in a file": file / "cache"}
        if os.geteuid() == 0:
            print("read-only folder: not tested, root writes to it")
        else:
            cases["read-only"] = readonly
        for name, cache in cases.items():
            with self.subTest(name):
                done = self.run_tool(
                    "graph-compile", model, "-o", "a.so", "--cache-dir", cache
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertTrue(done.stderr.startswith(WARNING), done.stderr)
                self.assertEqual(
                    (self.folder / "a.so").read_bytes(),
                    (self.folder / "good.so").read_bytes(),
                )

    def test_a_full_disk_is_a_warning(self):
        mount = self.root / "full"
        mount.mkdir()
        # The mount is seen by this shell alone and goes with it.
        script = (
            f"mount -t tmpfs -o size=16k tinh {mount} && "
            f"head -c 1M /dev/zero > {mount}/filler; "
            'test -e "$1/filler" && shift && exec "$@"'
        )
        prefix = ["unshare", "--user", "--map-root-user", "--mount"]
        if subprocess.run([*prefix, "true"], capture_output=True).returncode:
            self.skipTest("this system lets nobody make mounts of their own")
        model = self.write_model(layers=1)
        command = [tool_test.TOOLS / "graph-compile", model, "-o", "a.so"]
        done = subprocess.run(
            [*prefix, "sh", "-c", script, "sh", mount, *command]
            + ["--cache-dir", mount],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count(WARNING), 1, done.stderr)
        self.assertIn("No space left on device", done.stderr)
        self.assertTrue((self.folder / "a.so").exists())

    def test_two_compilations_at_once(self):
        model = self.write_model(layers=4)
        started = [
            self.start("graph-compile", model, "-o", f"{i}.so") for i in range(3)
        ]
        for process in started:
            _, errors = process.communicate()
            self.assertEqual((process.returncode, errors), (0, ""))
        contents = {(self.folder / f"{i}.so").read_bytes() for i in range(3)}
        self.assertEqual(len(contents), 1)

    def test_another_build_of_the_compiler_finds_nothing(self):
        model = self.write_model(layers=1)
        _, kernels = self.hits(self.compile(model, "a.so", "--timing"))
        library = "libtinh_compiler.so"
        linked = subprocess.run(
            ["ldd", tool_test.TOOLS / "graph-compile"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        path = re.search(rf"({library}\S*) => (\S+)", linked)
        other = self.root / "other"
        other.mkdir()
        data = bytearray(pathlib.Path(path[2]).read_bytes())
        note = b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"
        data[data.index(note) + len(note)] ^= 1
        (other / path[1]).write_bytes(data)
        self.environment["LD_LIBRARY_PATH"] = str(other)
        printed = self.compile(model, "b.so", "--timing")
        self.assertEqual(self.hits(printed), (0, kernels))


if __name__ == "__main__":
    tool_test.main()
