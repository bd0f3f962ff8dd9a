# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""graph-run on the toy artifact: exit codes, messages, files, numbers.

usage: graph_run_test.py GRAPH_RUN TOY

Needs the standard library alone. The toy computes y[i] = 2 * x[(i + 64) % 1024]
+ i, with f32 everywhere.
"""

import ast
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

GRAPH_RUN, TOY = sys.argv[1:3]
SIZE = 1024

LIST = """\
model toy, by toy 1.0, for toy-cpu
weights 4096 bytes, state 64 bytes, 5 kernels

function main
  input   x                                f32 1024                         4096 bytes
  output  y                                f32 1024                         4096 bytes
  steps 3, arena 8192 bytes (lower bound 8192, without reuse 8192)

function count (updates state)
  output  runs                             i64 scalar                          8 bytes
  steps 1, arena 0 bytes (lower bound 0, without reuse 0)
"""


def run(*arguments, artifact=TOY, **options):
    command = [GRAPH_RUN, str(artifact), *map(str, arguments)]
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(
        command, stderr=subprocess.PIPE, text=True, check=False, **options
    )


def npy(values, descr="<f4", code="f", shape=None, order="False"):
    """The bytes of a .npy file."""
    shape = (len(values),) if shape is None else shape
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    data = struct.pack(f"<{len(values)}{code}", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def read_npy(path):
    """The header and the elements of a little-endian .npy file."""
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    start = 10 + struct.unpack("<H", data[8:10])[0]
    assert start % 64 == 0
    header = ast.literal_eval(data[10:start].decode())
    code = {"<f4": "f", "<i8": "q"}[header["descr"]]
    count = (len(data) - start) // struct.calcsize(code)
    return header, list(struct.unpack(f"<{count}{code}", data[start:]))


def expected(x):
    return [2 * x[(i + 64) % SIZE] + i for i in range(SIZE)]


class GraphRun(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def file(self, content):
        path = self.folder / "x.npy"
        path.write_bytes(content)
        return path

    def succeeds(self, *arguments, **options):
        done = run(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def fails(self, message, *arguments, **options):
        """Exit code 1, and exactly this message."""
        done = run(*arguments, **options)
        self.assertEqual(done.stderr, f"graph-run: error: {message}\n")
        self.assertEqual(done.returncode, 1)

    def refuses(self, content, why):
        path = self.file(content)
        self.fails(
            f"input 'x': cannot read '{path}': {why}", "--input", f"x={path}"
        )


class Usage(GraphRun):
    def test_wrong_options(self):
        for arguments in (
            ["--no-such-option"],
            ["--runs", "0"],
            ["--runs", "many"],
            ["--threads", "-1"],
            ["--in-flight", "0"],
            ["--check-numerics=inf"],
            ["--timeout=nan"],
            ["--input"],
            ["second.so"],
        ):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn("--help", done.stderr)
        done = subprocess.run([GRAPH_RUN], capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"ARTIFACT is required", done.stderr)

    def test_help(self):
        text = self.succeeds("--help")
        for option in (
            "list input inputs output-dir threads runs warmup in-flight percentiles "
            "verify-weights "
            "trace json"
        ).split():
            self.assertIn(f"--{option}", text)

    def test_list(self):
        text = self.succeeds("--list")
        self.assertTrue(text.startswith(LIST), text)

    def test_list_as_json(self):
        module = json.loads(self.succeeds("--list", "--json"))
        self.assertEqual((module["model"], module["weights_bytes"]), ("toy", 4096))
        main, count = module["functions"][:2]
        self.assertEqual(
            main["inputs"],
            [{"name": "x", "dtype": "f32", "shape": [SIZE], "bytes": 4 * SIZE}],
        )
        self.assertEqual(
            main["arena"],
            {"bytes": 8192, "lower_bound_bytes": 8192, "unplanned_bytes": 8192},
        )
        self.assertEqual((main["updates_state"], count["updates_state"]), (False, True))
        self.assertEqual(count["outputs"][0]["shape"], [])

    def test_version(self):
        text = self.succeeds("--version")
        self.assertRegex(text, r"^graph-run \d+\.\d+\.\d+( \([0-9a-f]{10}\))?\n$")

    def test_artifacts(self):
        none = self.folder / "none.so"
        self.fails(
            f"cannot open the artifact '{none}': No such file or directory",
            artifact=none,
        )
        text = self.file(b"no library")
        self.fails(
            f"cannot load '{text}': it is not a shared library written by "
            "graph-compile",
            artifact=text,
        )
        whole = pathlib.Path(TOY).read_bytes()
        cut = self.file(whole[:-1])
        self.fails(
            f"cannot load '{cut}': the file has {len(whole) - 1} bytes where "
            f"the compiler wrote {len(whole)}; it is truncated or damaged",
            artifact=cut,
        )

    def test_functions(self):
        self.fails(
            "the module has no function 'train'; it has 'main', 'count', "
            "'chain', 'late'",
            "--function",
            "train",
        )
        self.succeeds("--function", "count", "--output-dir", self.folder, "--runs", 3)
        header, values = read_npy(self.folder / "runs.npy")
        self.assertEqual((header["shape"], values), ((), [3]))

    def test_weights(self):
        self.succeeds("--list", "--verify-weights")
        damaged = bytearray(pathlib.Path(TOY).read_bytes())
        damaged[-9] ^= 1  # The last byte before the checksum of all else.
        path = self.file(damaged)
        self.succeeds("--list", artifact=path)
        self.fails(
            f"the weights in '{path}' have changed since they were written: their "
            "digest is f33fff60d054660ce558af911bf8f8d7, not "
            "6cda8a40235ba45c96114dc00e01d0d3; copy the file or compile the model "
            "again",
            "--list",
            "--verify-weights",
            artifact=path,
        )

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            self.fails(
                "cannot write to the standard output", "--list", stdout=full
            )


class Inputs(GraphRun):
    def test_names(self):
        self.fails(
            "the model has no input 'z'; its inputs are 'x' (f32 1024)",
            "--input",
            "z=zeros",
        )
        self.fails(
            "--input x: expected NAME=FILE.npy, NAME=random or NAME=zeros",
            "--input",
            "x",
        )
        self.fails(
            "input 'x' is given twice", "--input", "x=zeros", "--input", "x=random"
        )

    def test_files_that_do_not_fit(self):
        path = self.file(npy([0.0] * SIZE, "<f8", "d"))
        self.fails(
            f"input 'x': the model expects dtype f32, and '{path}' has f64; "
            "convert it with numpy.astype",
            "--input",
            f"x={path}",
        )
        path = self.file(npy([0.0] * SIZE, shape=(32, 32)))
        self.fails(
            f"input 'x': the model expects shape 1024, and '{path}' has 32x32",
            "--input",
            f"x={path}",
        )

    def test_files_that_cannot_be_read(self):
        none = self.folder / "none.npy"
        self.fails(
            f"input 'x': cannot read '{none}': No such file or directory",
            "--input",
            f"x={none}",
        )
        whole = npy([0.0] * SIZE)
        self.refuses(b"no array", "it is not a .npy file")
        self.refuses(whole[:50], "it is not a .npy file")
        self.refuses(
            whole[:-1],
            "it is truncated: its shape needs 4096 bytes of data, and it has 4095",
        )
        self.refuses(
            npy([0.0] * SIZE, shape=(32, 32), order="True"),
            "it is in Fortran order; save it again through "
            "numpy.ascontiguousarray",
        )
        self.refuses(
            npy([0.0] * SIZE, ">f4"), "its element type '>f4' is not supported"
        )
        self.refuses(
            npy([0.0] * SIZE, "<c8"), "its element type '<c8' is not supported"
        )
        self.refuses(npy([0.0], shape=(2**40, 2**40)), "its shape is too large")
        for shape in ("(-1,)", "(20 6)", "(120)", "(20,,6)", "(,)", "(2, 3 4)", "(x)"):
            self.refuses(
                npy([0.0] * 120, shape=shape),
                f"its header has {shape} as 'shape'; expected a tuple such as (), "
                "(3,) or (20, 6)",
            )

        long = "(" * 5000
        self.refuses(
            npy([0.0] * 120, shape=long),
            f"its header has {long[:80]}… as 'shape'; expected a tuple such as (), "
            "(3,) or (20, 6)",
        )

    def test_generated(self):
        results = {}
        for source in ("random", "zeros", "random"):
            self.succeeds("--input", f"x={source}", "--output-dir", self.folder)
            _, y = read_npy(self.folder / "y.npy")
            self.assertEqual(results.setdefault(source, y), y)
        self.assertEqual(results["zeros"], expected([0.0] * SIZE))
        x = [(y - i) / 2 for i, y in enumerate(results["random"])]
        self.assertLess(abs(sum(x) / SIZE), 0.2)  # Standard normal,
        variance = sum(value * value for value in x) / SIZE
        self.assertLess(abs(variance - 1), 0.3)  # with six sigma of room.

    def results(self, *options):
        done = run(*options, "--output-dir", self.folder / "y")
        self.assertEqual(done.returncode, 0, done.stderr)
        return read_npy(self.folder / "y" / "y.npy")[1], done.stderr

    def test_all_others(self):
        zeros = expected([0.0] * SIZE)
        ones = expected([1.0] * SIZE)
        random, note = self.results()
        self.assertIn("the inputs are random", note)
        self.assertEqual(self.results("--inputs=random"), (random, ""))
        self.assertEqual(self.results("--inputs=zeros"), (zeros, ""))
        both = ("--inputs=zeros", "--input", "x=random")
        self.assertEqual(self.results(*both), (random, ""))
        self.file(npy([1.0] * SIZE))  # x.npy
        self.assertEqual(self.results(f"--inputs={self.folder}"), (ones, ""))
        archive = self.folder / "x.npz"
        for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(archive, "w", kind) as file:
                file.writestr("x.npy", npy([1.0] * SIZE))
            self.assertEqual(self.results(f"--inputs={archive}"), (ones, ""))

    def test_others_that_are_not_there(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.fails(
            f"input 'x': cannot read '{empty}/x.npy': No such file or directory",
            f"--inputs={empty}",
        )
        archive = self.folder / "y.npz"
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("z.npy", npy([1.0]))
        self.fails(
            f"--inputs: '{archive}' has no array 'x'", f"--inputs={archive}"
        )
        self.fails(
            "--inputs: cannot read 'none.npz' as an .npz file: there is no zip "
            "archive",
            "--inputs=none.npz",
        )


class Runs(GraphRun):
    def setUp(self):
        super().setUp()
        self.x = [i % 100 - 50.0 for i in range(SIZE)]
        self.input = ("--input", f"x={self.file(npy(self.x))}")

    def test_outputs(self):
        folder = self.folder / "a" / "b"
        for options in (
            ["--threads", 1],
            ["--threads", 3, "--runs", 7],
            ["--in-flight", 4, "--runs", 10, "--warmup", 3],
            ["--in-flight", 8, "--runs", 2],
        ):
            self.succeeds(*self.input, *options, "--output-dir", folder)
            header, y = read_npy(folder / "y.npy")
            self.assertEqual(
                header, {"descr": "<f4", "fortran_order": False, "shape": (SIZE,)}
            )
            self.assertEqual(y, expected(self.x), options)
            (folder / "y.npy").unlink()

    def test_numbers_that_are_not_finite(self):
        numbers = [0.0] * SIZE
        numbers[70] = float("inf")
        path = self.file(npy(numbers))
        arguments = ("--input", f"x={path}", "--in-flight", "3", "--runs", "7")
        self.succeeds(*arguments)
        self.succeeds(*arguments, "--check-numerics=nan")
        self.fails(
            "main: step 0 of 3: kernel 'twice', of the nodes 'Double_0', gave "
            "infinity at [70], the first of 1 among 1024 numbers of its result 0, "
            "f32 [1024]; it had read infinity at [70], the first of 1 among 1024 "
            "numbers of its operand 0, the input 'x', f32 [1024]",
            *arguments,
            "--check-numerics",
        )
        numbers[70] = 3e38
        path = self.file(npy(numbers))
        self.fails(
            "main: step 0 of 3: kernel 'twice', of the nodes 'Double_0', gave "
            "infinity at [70], the first of 1 among 1024 numbers of its result 0, "
            "f32 [1024]; all that it had read was finite",
            *arguments,
            "--check-numerics=all",
        )

    def test_outputs_that_cannot_be_written(self):
        taken = self.folder / "taken"
        taken.touch()
        self.fails(
            f"cannot make the directory '{taken}': Not a directory",
            *self.input,
            "--output-dir",
            taken,
        )
        (self.folder / "y.npy").mkdir()
        self.fails(
            f"cannot write '{self.folder}/y.npy': Is a directory",
            *self.input,
            "--output-dir",
            self.folder,
        )

    def test_wrong_inputs_leave_no_folder(self):
        none, folder = self.folder / "none.npy", self.folder / "new"
        self.fails(
            f"input 'x': cannot read '{none}': No such file or directory",
            "--input",
            f"x={none}",
            "--output-dir",
            folder,
        )
        self.assertFalse(folder.exists())

    def test_json(self):
        options = ["--json", "--runs", 9, "--warmup", 2, "--threads", 2]
        for more in ([], ["--in-flight", 4]):
            result = json.loads(self.succeeds(*self.input, *options, *more))
            self.assertEqual(
                list(result),
                "model device threads runs first_ms min_ms median_ms p90_ms p99_ms "
                "arena_bytes".split(),
            )
            self.assertEqual(
                [result[k] for k in ("model", "threads", "runs", "arena_bytes")],
                ["toy", 2, 9, 8192],
            )
            times = [result[k + "_ms"] for k in ("min", "median", "p90", "p99")]
            self.assertEqual(times, sorted(times))
            self.assertGreater(min(times[0], result["first_ms"]), 0)

    def test_text(self):
        first = r"toy: 4 runs on 1 thread, first [\d.]+ ms, median [\d.]+ ms\n"
        options = ["--runs", 4, "--threads", 1]
        text = self.succeeds(*self.input, *options)
        self.assertRegex(text, f"^{first}$")
        text = self.succeeds(*self.input, *options, "--percentiles")
        lines = "".join(rf"  {k:6} +[\d.]+ ms\n" for k in "min p50 p90 p99 max".split())
        self.assertRegex(text, f"^{first}{lines}$")
        times = [float(t) for t in re.findall(r"([\d.]+) ms\n", text)[1:]]
        self.assertEqual(times, sorted(times))

    def test_trace(self):
        path = self.folder / "trace.json"
        options = ["--threads", 2, "--runs", 5, "--in-flight", 2]
        self.succeeds(*self.input, *options, "--trace", path)
        trace = json.loads(path.read_text())
        events = trace["traceEvents"]
        steps = [e for e in events if e["ph"] == "X"]
        # Two kernels on two threads and a small copy on one of them.
        self.assertEqual(len(steps), 5 * 5)
        self.assertEqual({e["tid"] for e in steps}, {0, 1})
        self.assertEqual(
            {(e["name"], e["args"]["nodes"]) for e in steps},
            {("twice", "Double_0"), ("shift_add", "Add_1"), ("copy", "Copy_2")},
        )
        self.assertEqual({e["args"]["run"] for e in steps}, set(range(5)))
        self.assertTrue(all(e["ts"] >= 0 and e["dur"] >= 0 for e in steps))
        begins = {e["id"]: e["ts"] for e in events if e["ph"] == "b"}
        ends = {e["id"]: e["ts"] for e in events if e["ph"] == "e"}
        self.assertEqual(set(begins), set(range(5)))
        for step in steps:
            number = step["args"]["run"]
            self.assertLessEqual(begins[number], step["ts"])
            self.assertLessEqual(step["ts"] + step["dur"], ends[number] + 0.002)
        names = [e["args"]["name"] for e in events if e["ph"] == "M"]
        self.assertEqual(names, ["toy", "worker 0", "worker 1"])

    def test_traces_that_cannot_be_written(self):
        none = self.folder / "none" / "trace.json"
        self.fails(
            f"cannot write '{none}': No such file or directory",
            *self.input,
            "--trace",
            none,
        )
        self.fails(
            "cannot write '/dev/full': No space left on device",
            *self.input,
            "--trace",
            "/dev/full",
        )


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
