# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler says of its own failures, and the files that reproduce them.

IR that is valid, but that no importer and no pass makes, brings such failures
about: a kernel with numbers of its own, which passes make arguments, and code that
LLVM has no instructions for.
"""

import resource
import shlex

import tool_test
from tool_test import ToolTest

OWN_NUMBERS = """
module attributes {graph.cpu = "x86-64-v3"} {
  func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
    %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
      attributes {graph.plan = #cpu.rows<outer = 0, lanes = 1, units = 1>} {
    %0 = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""

RELU = """
func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.relu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""

# The CPU has no AVX-512.
UNKNOWN_INSTRUCTION = """
module attributes {graph.cpu = "x86-64-v3"} {
  plan.function @main
      inputs("x": tensor<16xi32>)
      outputs("y": tensor<16xi32>)
      arena 0 unplanned 0 lower_bound 0 {
    %0 = plan.dispatch @k chunks 1 scratch 0 reads(input 0[0 to 64]) writes(output 0[0 to 64])
  }
  module @k attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64, plan.operands = (memref<16xi32>) -> memref<16xi32>} {
    llvm.func @k(%buffers: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) {
      %0 = llvm.load %buffers : !llvm.ptr -> !llvm.ptr
      %1 = llvm.load %0 : !llvm.ptr -> vector<8xi64>
      %2 = llvm.call_intrinsic "llvm.x86.aesni.aesenc.512"(%1, %1)
          : (vector<8xi64>, vector<8xi64>) -> vector<8xi64>
      llvm.store %2, %0 : vector<8xi64>, !llvm.ptr
      llvm.return
    }
  }
}
"""


class InternalErrors(ToolTest):
    def compile_wrongly(self, text, phase):
        (self.folder / "model.mlir").write_text(text)
        return self.run_tool(
            "graph-compile", "model.mlir", f"--from={phase}", "-o", "model.so"
        )

    def test_message(self):
        done = self.compile_wrongly(OWN_NUMBERS, "kernels")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(
            done.stderr,
            "model.mlir:7:3: internal error: kernel 'k' cannot be compiled: "
            "no code for this kernel as #cpu.rows<outer = 0, lanes = 1, units = 1>\n"
            "note: this is a defect of the compiler: please report it with the "
            "file './model-plan-reproducer.mlir', which reproduces it:\n"
            "  graph-compile ./model-plan-reproducer.mlir --from=plan --emit=so"
            " -o model.so\n",
        )
        self.assertNoLeftovers("model.mlir", "model-plan-reproducer.mlir")

    def test_reproducer(self):
        """The command in the message fails in the same way, also elsewhere."""
        command = self.compile_wrongly(OWN_NUMBERS, "kernels").stderr.split("\n  ")[1]
        file = self.folder / "model-plan-reproducer.mlir"
        lines = file.read_text().split("\n")
        self.assertEqual(lines[0], "// " + command.strip())
        self.assertRegex(lines[1], r"^// tinh [0-9.]+, LLVM 22[0-9.]*, on \w+")
        (self.folder / "model.mlir").unlink()
        again = self.run_tool(*shlex.split(command))
        self.assertEqual(again.returncode, 3)
        self.assertIn(
            "internal error: kernel 'k' cannot be compiled: no code for "
            "this kernel as #cpu.rows<outer = 0, lanes = 1, units = 1>\n",
            again.stderr,
        )

    def test_references(self):
        """A model elsewhere, whose name and folder must be quoted."""
        folder = self.folder / "my models"
        folder.mkdir()
        (folder / "a b.mlir").write_text(OWN_NUMBERS)
        done = self.run_tool(
            "graph-compile",
            "my models/a b.mlir",
            "--from=kernels",
            "--no-fuse",
            "-o",
            "a b.so",
        )
        self.assertIn(
            '\n  graph-compile "./a b-plan-reproducer.mlir" --from=plan --emit=so'
            ' --no-fuse --model-dir "my models" -o "a b.so"\n',
            done.stderr,
        )

    def test_threads(self):
        """What the system refuses is no defect."""

        def limit():
            tool_test.reset_signals()
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

        (self.folder / "model.mlir").write_text(RELU)
        done = self.run_tool(
            "graph-compare", "model.mlir", "--threads", 4096, preexec_fn=limit
        )
        self.assertEqual(
            done.stderr,
            "error: cannot start a thread: Resource temporarily unavailable; ask "
            "for fewer (--jobs, --threads), or raise the system's limits on them "
            "(ulimit -u, pids.max of the cgroup)\n",
        )
        self.assertEqual(done.returncode, 1)
        self.assertNoLeftovers("model.mlir")

    def test_nothing_is_overwritten(self):
        file = self.folder / "model-plan-reproducer.mlir"
        file.write_text("mine")
        for number in (2, 3):
            done = self.compile_wrongly(OWN_NUMBERS, "kernels")
            self.assertIn(f"'./model-plan-reproducer-{number}.mlir'", done.stderr)
        self.assertEqual(file.read_text(), "mine")
        self.assertNoLeftovers(
            "model.mlir", file.name, *(f"{file.stem}-{i}.mlir" for i in (2, 3))
        )

    def test_folder_takes_no_files(self):
        model = self.folder / "model.mlir"
        model.write_text(OWN_NUMBERS)
        done = self.run_tool(
            "graph-compile", model, "--from=kernels", "-o", "x", cwd="/proc"
        )
        self.assertEqual(done.returncode, 3)
        self.assertIn(
            "please report it with the model; the file "
            "'./model-plan-reproducer.mlir', which would reproduce it, cannot be "
            "written: No such file or directory\n",
            done.stderr,
        )

    def test_phase_llvm(self):
        (self.folder / "model.mlir").write_text(OWN_NUMBERS)
        done = self.run_tool(
            "graph-compile", "model.mlir", "--from=kernels", "--emit=llvm"
        )
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn(
            "internal error: kernel 'k' cannot be compiled: no code for",
            done.stderr,
        )
        self.assertIn("--from=plan --emit=llvm\n", done.stderr)

    def test_llvm_gives_up(self):
        """On a thread of its own: the process goes on to report it."""
        done = self.compile_wrongly(UNKNOWN_INSTRUCTION, "llvm")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(
            done.stderr,
            "^model.mlir:9:3: internal error: kernel 'k' cannot be compiled: LLVM "
            "gave up: .*split.*\n",
        )
        self.assertIn("'./model-llvm-reproducer.mlir'", done.stderr)
        self.assertNoLeftovers("model.mlir", "model-llvm-reproducer.mlir")

    def test_wrong_input_is_not_ours(self):
        wrong = OWN_NUMBERS.replace("units = 1", "units = 0")
        self.fails(self.compile_wrongly(wrong, "kernels"), "must be at least 1, found 0")
        wrong = UNKNOWN_INSTRUCTION.replace('"llvm.x86', '"llvm.x87')
        self.fails(self.compile_wrongly(wrong, "llvm"), "kernel 'k' cannot be")
        self.assertNoLeftovers("model.mlir")


if __name__ == "__main__":
    tool_test.main()
