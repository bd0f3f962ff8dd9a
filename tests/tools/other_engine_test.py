# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""graph-compare --with=onnxruntime: the engine itself, and what may go wrong.

What goes wrong is played by scripts in place of Python, and so is an engine
that takes its time, during which the tool shows on a terminal what it does.

usage: PYTHONPATH=tests/support python other_engine_test.py BIN_DIR
"""

import fcntl
import importlib.util
import json
import os
import pty
import signal
import sys

import tool_test

HAS_ENGINE = all(
    importlib.util.find_spec(name) for name in ("numpy", "onnx", "onnxruntime")
)

# A Python that answers with the lines of its second argument, and then does
# what comes after it.
SCRIPT = """#!{python}
import json, os, signal, sys
sys.stdout.reconfigure(errors="surrogateescape")
answers = {answers!r}
for answer in answers:
    sys.stdin.readline()
    print(answer, flush=True)
{last}
"""
BEGUN = '{"version": "1"}'


class OtherEngineTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        # Only what reads it reads an .onnx file.
        self.model = self.folder / "m.onnx"
        done = self.run_tool("graph-compile", self.write_model(), "-o", self.model)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def compare(self, *arguments, model=None, **options):
        return self.run_tool(
            "graph-compare", model or self.model, "--with=onnxruntime", "--runs=3",
            *arguments, **options,
        )

    def play(self, *answers, last=""):
        """A program in place of Python."""
        path = self.folder / "python"
        path.write_text(
            SCRIPT.format(python=sys.executable, answers=answers, last=last)
        )
        path.chmod(0o755)
        return f"--python={path}"

    def need_engine(self):
        if not HAS_ENGINE:
            self.skipTest(f"{sys.executable} has no numpy, onnx or onnxruntime")
        return f"--python={sys.executable}"

    def test_its_times_are_beside_the_others(self):
        done = self.compare(self.need_engine(), "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(done.stdout)
        other = found["onnxruntime"]
        self.assertLess(other["max_abs_difference"], 1e-3)
        for key in ("load_ms", "first_ms", "median_ms", "p99_ms"):
            self.assertGreater(other[key], 0, key)
        done = self.compare(self.need_engine(), "--threads=2")
        self.assertRegex(done.stdout, "eager +compiled +onnxruntime\n")
        self.assertRegex(done.stdout, r"median( +[\d.]+ ms){3}\n")
        self.assertIn(
            f"times as fast as ONNX Runtime {other['version']}", done.stdout
        )
        # ONNX Runtime leaves files of its own.
        self.assertEqual(list(self.temporary.glob("tinh*")), [])

    def test_all_types_of_inputs(self):
        python = self.need_engine()
        from onnx import TensorProto, helper, save

        types = [TensorProto.FLOAT16, TensorProto.INT64, TensorProto.BOOL]
        inputs = [
            helper.make_tensor_value_info(f"x/{i}", each, [2, 3])
            for i, each in enumerate(types)
        ]
        outputs = [
            helper.make_tensor_value_info(f"y{i}", each, [2, 3])
            for i, each in enumerate(types)
        ]
        nodes = [
            helper.make_node("Neg", ["x/0"], ["y0"]),
            helper.make_node("Add", ["x/1", "x/1"], ["y1"]),
            helper.make_node("Not", ["x/2"], ["y2"]),
        ]
        save(
            helper.make_model(
                helper.make_graph(nodes, "g", inputs, outputs),
                opset_imports=[helper.make_opsetid("", 17)],
                ir_version=10,
            ),
            self.folder / "types.onnx",
        )
        done = self.compare(python, "--json", model="types.onnx")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        other = json.loads(done.stdout)["onnxruntime"]
        self.assertEqual(other["max_abs_difference"], 0)

    def test_what_onnx_runtime_refuses(self):
        python = self.need_engine()
        from onnx import load, save

        model = load(self.model)
        model.ir_version = 1000  # Which Tinh does not look at.
        save(model, self.folder / "later.onnx")
        self.fails(
            self.compare(python, model="later.onnx"),
            "error: --with=onnxruntime: ",
            "1000",
        )

    def test_no_such_python(self):
        self.fails(
            self.compare("--python=nowhere"),
            "cannot run 'nowhere': No such file or directory",
            "--python names a Python that has onnxruntime",
        )

    def test_a_python_without_it(self):
        path = self.folder / "python"
        path.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
        path.chmod(0o755)
        self.fails(self.compare(f"--python={path}"), "has no onnxruntime", "install")

    def test_another_format(self):
        self.fails(
            self.compare(model=self.folder / "model.json"),
            "ONNX Runtime reads .onnx files, not '",
            "graph-compile writes one with -o NAME.onnx",
        )

    def test_it_dies(self):
        self.fails(
            self.compare(self.play(last="sys.exit(7)")),
            "has ended before it answered, with exit code 7",
        )
        kill = "sys.stdin.readline(); os.kill(os.getpid(), signal.SIGSEGV)"
        self.fails(
            self.compare(self.play(BEGUN, '{"milliseconds": 1}', last=kill)),
            "has ended before it answered, by a signal: Segmentation fault",
        )
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_it_says_something_else(self):
        timed = '{"milliseconds": 1}'
        for *before, answer in (
            ["gibberish"],
            ["[]"],
            ["{}"],
            ['{"version":1}'],
            ['{"error":5}'],
            [BEGUN, "{}"],
            [BEGUN, '{"milliseconds":"1"}'],
            [BEGUN, timed, '{"milliseconds":null}'],
            [BEGUN, timed, '{"milliseconds":true}'],
            [BEGUN, timed, "\udcff"],
        ):
            with self.subTest(before=before, answer=answer):
                self.fails(
                    self.compare(self.play(*before, answer)),
                    "error: --with=onnxruntime: expected an answer of Python's,"
                    f" found: {answer}\n".replace("\udcff", "\ufffd"),
                )
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_it_closes_its_output_and_goes_on(self):
        """It is ended, with a message, and not waited for."""
        going_on = "sys.stdin.readline(); os.close(0); os.close(1); signal.pause()"
        for answers in ([], [BEGUN]):
            self.fails(
                self.compare(self.play(*answers, last=going_on)),
                "has closed its output before it answered; --python",
            )

    def test_nobody_knows_how_it_ended(self):
        """Where SIGCHLD is ignored, there are no exit codes."""
        done = self.compare(
            self.play(last="sys.exit(7)"),
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
        )
        self.fails(done, "has ended before it answered; --python")

    def test_paths_that_are_no_text(self):
        model = self.folder / os.fsdecode(b"\xff.onnx")
        model.write_bytes(self.model.read_bytes())
        self.fails(
            self.compare(self.play(BEGUN), model=model),
            "ONNX Runtime reads no file whose path is not UTF-8, such as '",
        )
        # Arrays go through files, which may lie anywhere.
        temporary = self.root / os.fsdecode(b"\xff")
        temporary.mkdir()
        self.environment["TMPDIR"] = str(temporary)
        done = self.compare(self.need_engine())
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_paths_that_are_no_ascii(self):
        python = self.need_engine()
        model = self.folder / "mô hình.onnx"
        model.write_bytes(self.model.read_bytes())
        for locale in ("C.UTF-8", "POSIX"):
            self.environment["LC_ALL"] = locale
            done = self.compare(python, model=model)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_options_that_need_it(self):
        done = self.run_tool("graph-compare", self.model, "--python=x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--python requires --with", done.stderr)
        done = self.compare("--with=torch")
        self.assertEqual(done.returncode, 2)

    def test_a_terminal_shows_what_is_done(self):
        """An engine that loads until the line about it has been seen."""
        os.mkfifo(self.folder / "seen")
        last = f"""
sys.stdin.readline()
open({str(self.folder / "seen")!r}).read()
print(json.dumps(dict(error="enough")), flush=True)
sys.stdin.read()
"""
        seen, terminal = pty.openpty()
        process = self.start(
            "graph-compare", self.model, "--with=onnxruntime",
            self.play(BEGUN, last=last),
            env=dict(self.environment, TERM="xterm"), stderr=terminal,
        )
        os.close(terminal)
        line = b"ONNX Runtime loads the model\x1b[K\r"
        written = b""
        while not written.endswith(line):
            written += os.read(seen, 1)
        with open(self.folder / "seen", "w"):
            pass
        process.communicate()
        fcntl.fcntl(seen, fcntl.F_SETFL, os.O_NONBLOCK)
        rest = os.read(seen, 4096)
        os.close(seen)
        self.assertEqual(process.returncode, 1)
        # What an engine says is printed where the line was.
        erased = b"\r\x1b[K"
        message = b"error: --with=onnxruntime: enough\r\n"
        self.assertEqual(rest, erased + message)


if __name__ == "__main__":
    tool_test.main()
