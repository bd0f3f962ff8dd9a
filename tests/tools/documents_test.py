# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Manual pages and completions, which the tools make of their options.

Programs that check or run them are used where they are installed: mandoc and
groff, bash, zsh and fish.

usage: PYTHONPATH=tests/support python3 documents_test.py BIN_DIR
"""

import re
import shutil
import subprocess

import tool_test

# What calls a bash completion as readline does, and prints what it finds.
COMPLETE = """
source "$1"
function=$2
shift 2
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
$function
printf '%s\\n' "${COMPREPLY[@]}"
"""


def tools():
    """All that have options of CLI11: graph-opt is an mlir-opt."""
    found = {path.name for path in tool_test.TOOLS.glob("graph-*")}
    return sorted(found - {"graph-opt"})


class DocumentsTest(tool_test.ToolTest):
    def document(self, tool, *arguments):
        done = self.run_tool(tool, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def options(self, tool):
        """The long names that --help lists."""
        text = self.document(tool, "--help")
        names = re.findall(r"^  (?:-\w,)?--([\w-]+)", text, re.MULTILINE)
        self.assertIn("completion", names)
        self.assertIn("man", names)
        return names

    def require(self, *programs):
        for program in programs:
            if shutil.which(program):
                return program
        self.skipTest(f"{' and '.join(programs)} not installed")

    def write(self, tool, shell):
        path = self.folder / f"{tool}.{shell}"
        path.write_text(self.document(tool, "--completion", shell))
        return path

    def check(self, *command, ignore=None):
        """A checker has nothing to say."""
        done = subprocess.run(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        lines = done.stdout.splitlines()
        self.assertEqual([x for x in lines if not ignore or ignore not in x], [])

    def test_every_option_is_in_every_document(self):
        for tool in tools():
            page = self.document(tool, "--man")
            scripts = {
                shell: self.document(tool, "--completion", shell)
                for shell in ("bash", "zsh", "fish")
            }
            for name in self.options(tool):
                with self.subTest(tool=tool, option=name):
                    escaped = ("--" + name).replace("-", r"\-")
                    self.assertIn(f"\\fB{escaped}\\fR", page)
                    self.assertRegex(scripts["bash"], rf"[' ]--{name}[' ]")
                    self.assertRegex(scripts["zsh"], rf"\)?--{name}[=\[]")
                    self.assertRegex(scripts["fish"], rf" -l {name} ")

    def test_pages_say_what_options_take(self):
        page = self.document("graph-run", "--man")
        self.assertIn(r"\fIARTIFACT\fR", page)
        self.assertIn(r"\fB\-\-profile\fR[=\fItime|steps|kernels|FILE.html", page)
        self.assertIn(r"by default \fImain\fR", page)
        self.assertIn(".SH EXIT STATUS", page)

    def test_pages_have_no_mistakes(self):
        checker = self.require("mandoc", "groff")
        for tool in tools():
            path = self.folder / f"{tool}.1"
            path.write_text(self.document(tool, "--man"))
            if checker == "mandoc":
                # A date would differ from build to build.
                self.check(
                    *"mandoc -T lint -W warning".split(), path, ignore="missing date"
                )
            else:
                self.check("groff", "-man", "-ww", "-z", path)

    def test_shells_can_read_completions(self):
        for shell in ("bash", "zsh", "fish"):
            with self.subTest(shell=shell):
                self.require(shell)
                for tool in tools():
                    self.check(shell, "-n", self.write(tool, shell))

    def complete(self, tool, *words):
        """What bash completes the last word to."""
        function = "_" + tool.replace("-", "_")
        done = subprocess.run(
            ["bash", "-c", COMPLETE, "-", self.write(tool, "bash"), function, tool]
            + list(words),
            cwd=self.files,
            text=True,
            capture_output=True,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return sorted(done.stdout.split("\n")[:-1])

    def test_bash_completes(self):
        self.require("bash")
        self.files = self.root / "files"
        (self.files / "folder").mkdir(parents=True)
        for name in ("a model.onnx", "m.json", "m.so", "notes.txt", "x.npz"):
            (self.files / name).touch()
        cases = [
            (("graph-run", "--in"), ["--in-flight", "--input", "--inputs"]),
            (("graph-run", "--profile", "=", "k"), ["kernels"]),
            (("graph-run", "--profile", "="), ["folder", "kernels", "steps", "time"]),
            (("graph-run", ""), ["folder", "m.so"]),
            (("graph-run", "--inputs", ""), ["folder", "random", "x.npz", "zeros"]),
            (("graph-run", "--output-dir", ""), ["folder"]),
            (("graph-run", "--runs", ""), [""]),
            (("graph-run", "--completion", ""), ["bash", "fish", "zsh"]),
        ]
        if "graph-compile" in tools():
            cases += [
                (("graph-compile", ""), ["a model.onnx", "folder", "m.json"]),
                (("graph-compile", "m.json", "a"), ["a model.onnx"]),
                (("graph-compile", "--winograd", "=", "a"), ["accurate"]),
                (("graph-compile", "--emit", "o"), ["obj", "onnx", "optimised"]),
                (("graph-compile", "-o", "n"), ["notes.txt"]),
                (("graph-compile", "m.json", "-"), None),
            ]
        for words, expected in cases:
            with self.subTest(words):
                found = self.complete(*words)
                if expected is None:
                    names = {"--" + name for name in self.options(words[0])}
                    self.assertLessEqual(names, set(found))
                else:
                    self.assertEqual(found, expected)

    def test_fish_completes(self):
        self.require("fish")
        script = self.write("graph-run", "fish")
        files = self.root / "files"
        (files / "folder").mkdir(parents=True)
        (files / "x.npz").touch()
        for line, expected in (
            ("--completion ", ["bash", "fish", "zsh"]),
            ("--inputs ", ["random", "zeros", "x.npz", "folder/"]),
            ("--inputs=x", ["--inputs=x.npz"]),
            ("--profile=s", ["--profile=steps"]),
            ("--profile=f", ["--profile=folder/"]),
            ("--output-dir=", ["--output-dir=folder/"]),
            ("--output-dir ", ["folder/"]),
            ("--trace ", ["folder/", "x.npz"]),
        ):
            with self.subTest(line):
                done = subprocess.run(
                    ["fish", "-c", f"source {script}; complete -C 'graph-run {line}'"],
                    cwd=files,
                    env=dict(self.environment, HOME=str(self.root)),
                    text=True,
                    capture_output=True,
                )
                words = [line.split("\t")[0] for line in done.stdout.splitlines()]
                self.assertEqual(words, expected, done.stderr)

    def test_another_shell(self):
        done = self.run_tool("graph-run", "--completion", "ksh")
        self.assertEqual(done.returncode, 2)
        self.assertIn("bash,zsh,fish", done.stderr)


if __name__ == "__main__":
    tool_test.main()
