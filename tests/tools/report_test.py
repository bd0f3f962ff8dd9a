# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is in the pages that the tools write.

usage: PYTHONPATH=tests/support:tests/cuda python tests/tools/report_test.py
           BIN_DIR [unittest's options]
"""

import json
import os

import cuda_models
import tool_test


def two_layer():
    b = cuda_models.Builder("two_layer")
    x = b.input("x", 8, 100)
    h = b.add("relu", b.dense(x, "fc1", 100, 64))
    return b.finish(b.dense(h, "fc2", 64, 10))


def data_of(page):
    text = page.read_text()
    begin = text.index('id="data">') + len('id="data">')
    return json.loads(text[begin : text.index("</script>", begin)])


BRANCH = """
func.func @main(%x: tensor<32x32xf32> {graph.name = "x"},
                %w: tensor<32x32xf32> {graph.name = "w"},
                %c: tensor<i1> {graph.name = "c"})
    -> (tensor<32x32xf32> {graph.name = "y"}) {
  %0 = graph.if %c : (tensor<32x32xf32>) {
    %1 = graph.relu %x : tensor<32x32xf32>
    %2 = graph.matmul %1, %w : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    graph.yield %2 : tensor<32x32xf32>
  } else {
    %3 = graph.matmul %w, %x : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    graph.yield %3 : tensor<32x32xf32>
  }
  %4 = graph.matmul %0, %x : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  return %4 : tensor<32x32xf32>
}
"""


class ReportTest(tool_test.ToolTest):
    def compile_with_page(self, model, *options):
        """The artifact of a model as JSON or MLIR, its page, and what is in that."""
        is_mlir = isinstance(model, str)
        path = self.folder / ("model.mlir" if is_mlir else "model.json")
        path.write_text(model if is_mlir else json.dumps(model))
        artifact, page = self.folder / "model.so", self.folder / "model.html"
        self.compile(path, artifact, f"--report={page}", "--cpu=x86-64-v3", *options)
        return artifact, page, data_of(page)

    def check(self, data):
        """Whatever the model: all that is named is there, and once."""
        for function in data["functions"]:
            ops, steps, arena = (function[k] for k in ("ops", "steps", "arena"))
            for of, rows in (("ops", ops), ("steps", steps)):
                drawn = [i for block in function["blocks"] for i in block[of]]
                self.assertEqual(sorted(drawn), list(range(len(rows))))
                for row in rows:
                    self.assertLessEqual(set(row["reads"] + row["far"]), set(drawn))
            kernels = {step["kernel"] for step in steps} - {None}
            self.assertLessEqual(kernels, data["kernels"].keys())
            self.assertEqual(len(arena["live"]), len(steps))
            self.assertLessEqual(max(arena["live"], default=0), arena["size"])
            for buffer in arena["buffers"]:
                self.assertLessEqual(buffer["offset"] + buffer["size"], arena["size"])
            self.check_buffers_apart(arena["buffers"])

    def check_buffers_apart(self, buffers):
        for i, a in enumerate(buffers):
            for b in buffers[:i]:
                in_time = a["first"] <= b["last"] and b["first"] <= a["last"]
                a_end, b_end = (x["offset"] + x["size"] for x in (a, b))
                self.assertFalse(
                    in_time and a["offset"] < b_end and b["offset"] < a_end, (a, b)
                )

    def test_what_reads_a_branch_reads_what_its_arms_give(self):
        (main,) = self.compile_with_page(BRANCH)[2]["functions"]
        kinds = [op["op"] for op in main["ops"]]
        self.assertEqual(kinds, ["if", "relu", "matmul", "matmul", "matmul"])
        self.assertEqual([op["reads"] for op in main["ops"]], [[], [], [1], [], [0, 2, 3]])
        steps = [(step["kind"], step["reads"]) for step in main["steps"]]
        kernel = "kernel"
        self.assertEqual(
            steps,
            [("branch", []), (kernel, []), ("jump", []), (kernel, []), (kernel, [1, 3])],
        )

    def test_branches_that_exchange_values(self):
        """Each gives what any of those before it has given."""
        types = "tensor<4xf32>"
        pair = f"{types}, {types}"
        lines, (x, y) = [], ("%x", "%y")
        for i in range(40):
            lines.append(f"%{i}:2 = graph.if %c : ({pair}) {{")
            lines.append(f"  graph.yield {x}, {y} : {pair}\n}} else {{")
            lines.append(f"  graph.yield {y}, {x} : {pair}\n}}")
            x, y = f"%{i}#0", f"%{i}#1"
        text = f"""
            func.func @main(%x: {types} {{graph.name = "x"}},
                            %y: {types} {{graph.name = "y"}},
                            %c: tensor<i1> {{graph.name = "c"}})
                -> ({types} {{graph.name = "z"}}) {{
              {" ".join(lines)}
              %z = graph.sub {x}, {y} : {pair} -> {types}
              return %z : {types}
            }}"""
        (main,) = self.compile_with_page(text)[2]["functions"]
        for op in main["ops"]:
            self.assertEqual(len(set(op["reads"])), len(op["reads"]))

    def test_ops_are_with_the_steps_that_compute_them(self):
        _, _, data = self.compile_with_page(two_layer())
        self.check(data)
        self.assertEqual((data["format"], data["model"]), (1, "model"))
        (main,) = data["functions"]
        kinds = [op["op"] for op in main["ops"]]
        self.assertEqual(kinds, ["matmul", "add", "relu", "matmul", "add"])
        self.assertEqual(
            main["blocks"],
            [{"ops": [0, 1, 2], "steps": [0]}, {"ops": [3, 4], "steps": [1]}],
        )
        self.assertEqual([op["reads"] for op in main["ops"]], [[], [0], [1], [2], [3]])
        self.assertEqual(
            main["ops"][0]["reads_also"], ["x 8x100xf32", "fc1.weight 100x64xf32"]
        )
        self.assertEqual(main["ops"][0]["type"], "8x64xf32")
        self.assertEqual(main["ops"][0]["nodes"], ["matmul0"])
        self.assertEqual(main["steps"][1]["reads"], [0])
        self.assertEqual(main["inputs"], [{"name": "x", "type": "8x100xf32"}])

    def test_choices_have_their_names(self):
        text = """
            func.func @main(%x: tensor<8x16xf32> {graph.name = "x"})
                -> (tensor<8x1xf32> {graph.name = "y"}) {
              %y = graph.reduce max %x axes [1] keepdims
                : tensor<8x16xf32> -> tensor<8x1xf32>
              return %y : tensor<8x1xf32>
            }"""
        (main,) = self.compile_with_page(text)[2]["functions"]
        (attributes,) = [o["attributes"] for o in main["ops"] if o["op"] == "reduce"]
        self.assertIn("kind = max", attributes)

    def test_kernels_have_their_code(self):
        _, _, data = self.compile_with_page(two_layer(), "--no-cache")
        kernel = data["kernels"]["matmul_add_relu_0"]
        self.assertEqual(kernel["strategy"], "contraction")
        self.assertIn("#cpu.contraction<", kernel["plan"])
        self.assertIn("func.func private @matmul_add_relu_0(", kernel["ir"])
        self.assertIn("vfmadd", kernel["assembly"]["text"])
        self.assertRegex(
            kernel["assembly"]["what"],
            r"innermost loop, at depth \d+: \d+ of \d+ instructions",
        )
        self.assertGreaterEqual(kernel["operations"], 2 * 8 * 100 * 64)
        self.assertGreater(kernel["compile_ms"], 0)
        self.assertFalse(kernel["cached"])
        stages = [stage["name"] for stage in data["compile"]["stages"]]
        self.assertIn("compile kernels", stages)

    def test_whatever_is_compiled(self):
        layer = cuda_models.transformer_layer()
        for model, options in (
            (cuda_models.lstm(), ()),
            (layer, ()),
            (layer, ("--no-fuse",)),
            (two_layer(), ("--train", "--loss=mse", "--optimizer=adam")),
            (layer, ("--target=cuda", "--cuda-chips=emulated")),
            (layer, ("--target=cpu,cuda", "--cuda-chips=emulated")),
        ):
            with self.subTest(model=model["name"], options=options):
                _, _, data = self.compile_with_page(model, *options)
                self.check(data)
                ops = [op for f in data["functions"] for op in f["ops"]]
                self.assertGreaterEqual(len(ops), len(model["nodes"]))
                if "--target=cuda" in options:
                    steps = data["functions"][0]["steps"]
                    self.assertIn("cuda", {step["device"] for step in steps})

    def test_steps_in_loops_have_depth(self):
        _, _, data = self.compile_with_page(cuda_models.lstm())
        steps = data["functions"][0]["steps"]
        kinds = [step["kind"] for step in steps]
        inside = slice(kinds.index("loop") + 1, kinds.index("next"))
        self.assertEqual({step["depth"] for step in steps[inside]}, {1})

    def test_names_stay_text(self):
        model = two_layer()
        name = model["nodes"][0]["outputs"][0] = "</script><b>"
        model["nodes"][1]["inputs"] = [name, "fc1.bias"]
        _, page, data = self.compile_with_page(model)
        self.assertEqual(data["functions"][0]["ops"][0]["nodes"], [name])
        self.assertNotIn("</script><b>", page.read_text())

    def test_profiles(self):
        artifact, page, data = self.compile_with_page(two_layer())
        profile = self.folder / "profile.html"
        few = ("--runs=5", "--threads=2", "--inputs=zeros", f"--profile={profile}")
        done = self.run_tool("graph-run", artifact, *few)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        alone = data_of(profile)
        self.check(alone)
        (main,) = alone["functions"]
        self.assertEqual(main["ops"], [])
        self.assertEqual(main["steps"], data["functions"][0]["steps"])
        self.assertEqual(main["arena"], data["functions"][0]["arena"])
        self.assertEqual(main["profile"]["runs"], 5)
        self.assertEqual(len(main["timeline"]["threads"]), 2)
        spans = [span for row in main["timeline"]["threads"] for span in row]
        self.assertEqual({step for step, _, _ in spans}, {0, 1})
        done = self.run_tool("graph-run", artifact, *few, f"--report={page}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        both = data_of(profile)
        self.assertEqual(both["functions"][0]["ops"], data["functions"][0]["ops"])
        self.assertEqual(both["functions"][0]["profile"]["runs"], 5)
        self.assertEqual(both["kernels"], data["kernels"])

    def test_reports_of_other_artifacts_are_refused(self):
        artifact, page, _ = self.compile_with_page(two_layer())
        other = self.folder / "other.html"
        other.write_text(page.read_text().replace('"model":"model"', '"model":"m"'))
        wrong = self.folder / "wrong.html"
        wrong.write_text(page.read_text().replace('"functions":', '"f":'))
        damaged = self.folder / "damaged.html"
        damaged.write_text(page.read_text().replace('"format":1', '"format":"x"'))
        for report, *parts in (
            (damaged, "is no report of graph-compile --report"),
            (other, f"'{other}' is not about what runs here"),
            (wrong, f"'{wrong}' is not about what runs here"),
            (artifact, "is no report of graph-compile --report"),
            (self.folder / "none.html", "No such file or directory"),
        ):
            done = self.run_tool(
                "graph-run", artifact, "--profile=p.html", f"--report={report}"
            )
            self.fails(done, *parts)

    def test_pages_about_gpus_are_not_those_of_runs_without(self):
        options = ("--target=cpu,cuda", "--cuda-chips=emulated")
        artifact, page, _ = self.compile_with_page(two_layer(), *options)
        run = ("graph-run", artifact, "--profile=p.html", "--inputs=zeros")
        run += ("--runs=1", "--device=cpu")
        self.fails(self.run_tool(*run, f"--report={page}"), "a GPU where there is none")
        done = self.run_tool(*run)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.check(data_of(self.folder / "p.html"))

    def test_comparisons(self):
        path, page = self.folder / "model.json", self.folder / "compared.html"
        path.write_text(json.dumps(two_layer()))
        done = self.run_tool("graph-compare", path, "--runs=4", f"--report={page}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        data = data_of(page)
        self.check(data)
        eager, compiled = data["comparison"]["sides"]
        self.assertEqual((eager["kernels"], compiled["kernels"]), (5, 2))
        self.assertEqual(len(eager["times_ms"]), 4)
        self.assertEqual(data["functions"][0]["profile"]["runs"], 4)
        self.assertEqual(len(data["functions"][0]["ops"]), 5)

    def test_other_files_are_refused(self):
        path = self.folder / "model.json"
        path.write_text(json.dumps(two_layer()))
        done = self.run_tool("graph-compile", path, "-o", "a.so", "--report=a.txt")
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected text, or FILE.html, not a.txt", done.stderr)
        done = self.run_tool("graph-compile", path, "-o", "a.html", "--report=a.html")
        self.fails(done, "the page would be written over the output 'a.html'")
        done = self.run_tool("graph-compile", path, "-o", "a.so", "--report=no/a.html")
        self.fails(done, "--report: cannot write 'no/a.html': No such file")
        os.mkfifo(self.folder / "fifo.html")
        done = self.run_tool("graph-compile", path, "-o", "a.so", "--report=fifo.html")
        self.fails(done, "'fifo.html': it is not a regular file")


if __name__ == "__main__":
    tool_test.main()
