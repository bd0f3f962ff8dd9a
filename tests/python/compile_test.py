"""tinh.compile: what it takes, and what it gives."""

import json
import os
import pathlib
import tempfile
import unittest
import warnings

import numpy as np
import tinh

from models import OnlyDlpack, expected_two_layer, graph, onnx_add, two_layer


class CompileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.graph, self.memory = two_layer()
        self.x = np.random.default_rng(1).standard_normal((4, 8)).astype("f4")
        self.y = expected_two_layer(self.x, self.memory)

    def assert_close(self, found, expected):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)

    def test_a_graph_with_weights_in_memory(self):
        f = tinh.compile(self.graph, memory=self.memory)
        self.assert_close(f(self.x), self.y)
        self.assertEqual(repr(f.inputs), "[x: f32[4, 8]]")
        self.assertEqual(f.outputs[0].shape, (4, 3))
        self.assertEqual(f.name, "two_layer")
        signature = "main(x: f32[4, 8]) -> (y: f32[4, 3])"
        self.assertEqual(repr(f), f"two_layer: {signature}")

    def test_inputs_that_become_constants(self):
        model = graph(
            {"x": ("f32", [2]), "k": ("i64", [3]), "b": ("bool", [])},
            [
                ("cast", ["k"], "c", {"dtype": "f32"}),
                ("reduce", ["c"], "s", {"kind": "sum", "axes": [0]}),
                ("mul", ["x", "s"], "p", {}),
                ("where", ["b", "p", "x"], "y", {}),
            ],
            ["y"],
        )
        k = np.array([1, -2, 5])
        f = tinh.compile(model, input_values={"k": k, "b": True})
        self.assertEqual(repr(f.inputs), "[x: f32[2]]")
        self.assert_close(f(np.array([1, 3], "f4")), [4, 12])
        with self.assertRaisesRegex(tinh.CompileError, '"1.0" is no element of 3xi64'):
            tinh.compile(model, input_values={"k": [1.0, 2.0, 3.0]})

    def test_weights_that_are_not_dense(self):
        memory = {name: np.asfortranarray(w) for name, w in self.memory.items()}
        f = tinh.compile(self.graph, memory=memory)
        self.assert_close(f(self.x), self.y)

    def test_weights_that_have_changed(self):
        path = self.folder / "model.so"
        f = tinh.compile(
            self.graph, memory=self.memory, output=path, weights="external"
        )
        f.verify_weights()
        weights = path.with_suffix(".safetensors")
        data = bytearray(weights.read_bytes())
        data[-1] ^= 1
        weights.write_bytes(data)
        with self.assertRaisesRegex(tinh.Error, "have changed since they were"):
            tinh.load(path).verify_weights()

    def test_weights_of_others(self):
        memory = {name: OnlyDlpack(w) for name, w in self.memory.items()}
        self.assert_close(tinh.compile(self.graph, memory=memory)(self.x), self.y)
        memory = {name: w.tobytes() for name, w in self.memory.items()}
        self.assert_close(tinh.compile(self.graph, memory=memory)(self.x), self.y)

    def test_weights_are_what_the_graph_says(self):
        path = self.folder / "model.json"
        path.write_text(json.dumps(self.graph))
        w1 = self.memory["w1"]
        for wrong, text in [  # As many bytes as are expected.
            (w1[:, :3].astype("f8"), "expected an array of float32, found float64"),
            (w1.view("i4"), "found int32"),
            (w1.astype(">f4"), "found >f4"),
            (w1.reshape(6, 8), r"expected shape \[8, 6\], found \[6, 8\]"),
        ]:
            for model in (self.graph, path, path.read_bytes()):
                with self.assertRaisesRegex(tinh.CompileError, text):
                    tinh.compile(model, memory={**self.memory, "w1": wrong})

    def test_numbers_of_numpy_in_a_graph(self):
        shape = (np.int64(3), 4)
        double = graph({"x": ("f32", shape)}, [("add", "xx", "y", {})], ["y"])
        self.assertEqual(tinh.compile(double).inputs[0].shape, (3, 4))
        with self.assertRaisesRegex(TypeError, "not ndarray; weights may lie in"):
            tinh.compile({**double, "nodes": np.ones(2)})

    def test_files_and_bytes(self):
        double = graph({"x": ("f32", [3])}, [("add", "xx", "y", {})], ["y"])
        path = self.folder / "double.json"
        path.write_text(json.dumps(double))
        mlir = """func.func @main(%x: tensor<3xf32> {graph.name = "x"})
            -> (tensor<3xf32> {graph.name = "y"}) {
          %y = graph.add %x, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
          return %y : tensor<3xf32>
        }"""

        class Proto:
            def SerializeToString(self):
                return onnx_add()

        x = np.array([1, 2, 3], "f4")
        models = [path, str(path), path.read_bytes(), mlir.encode()]
        for model in models + [onnx_add(), bytearray(onnx_add()), Proto()]:
            self.assertEqual(tinh.compile(model)(x).tolist(), [2, 4, 6])

    def test_open_shapes(self):
        double = graph({"x": ("f32", ["n"])}, [("add", "xx", "y", {})], ["y"])
        f = tinh.compile(double, shapes={"x": [2]})
        self.assertEqual(f(np.ones(2, "f4")).tolist(), [2, 2])
        with self.assertRaises(tinh.CompileError) as raised:
            tinh.compile(double)
        self.assertIn("x", str(raised.exception))

    def test_it_can_be_saved_and_loaded(self):
        f = tinh.compile(self.graph, memory=self.memory)
        path = self.folder / "model.so"
        f.save(path)
        self.assertEqual(os.listdir(self.folder), ["model.so"])
        g = tinh.load(path, threads=2)
        self.assertEqual(g.threads, 2)
        self.assertEqual(g(self.x).tolist(), f(self.x).tolist())
        g.save(path)  # Over the file that it is.
        self.assertEqual(tinh.load(path)(self.x).tolist(), f(self.x).tolist())
        with self.assertRaises(FileNotFoundError):
            f.save(self.folder / "nowhere" / "model.so")
        with self.assertRaisesRegex(tinh.Error, "has a report"):
            g.report()

    def test_output_and_weights_beside_it(self):
        path = self.folder / "model.so"
        tinh.compile(self.graph, memory=self.memory, output=path, weights="external")
        self.assert_close(tinh.load(path)(self.x), self.y)
        with self.assertRaisesRegex(ValueError, "output"):
            tinh.compile(self.graph, memory=self.memory, weights="external")

    def test_options(self):
        f = tinh.compile(
            self.graph,
            memory=self.memory,
            precision="bf16",
            winograd="off",
            math="accurate",
            cache=False,
            jobs=1,
            threads=1,
        )
        np.testing.assert_allclose(f(self.x), self.y, rtol=0.05, atol=0.1)
        self.assertEqual(f.threads, 1)
        cache = self.folder / "cache"
        tinh.compile(self.graph, memory=self.memory, cache=cache)
        self.assertTrue(any(cache.rglob("*")))

    def test_what_is_wrong_is_said(self):
        def refuses(error, text, model=self.graph, **options):
            with self.assertRaisesRegex(error, text):
                tinh.compile(model, **options)

        memory = {"memory": self.memory}
        refuses(tinh.CompileError, 'weight "w1": there is no memory "w1"')
        refuses(TypeError, 'no option "optimise"', optimise=3, **memory)
        refuses(TypeError, "jobs: a value of type str", jobs="many", **memory)
        refuses(tinh.CompileError, "winograd", winograd="sometimes", **memory)
        refuses(ValueError, "target: expected", target="tpu", **memory)
        refuses(ValueError, "device: expected", device="tpu", **memory)
        refuses(TypeError, "threads: expected an integer of", threads=-1, **memory)
        refuses(TypeError, "threads: .* found '2'", threads="2", **memory)
        refuses(TypeError, "pin_threads: expected True", pin_threads=3, **memory)
        refuses(TypeError, "trace: expected a path", trace=3, **memory)
        refuses(ValueError, "check_numerics: exp", check_numerics="inf", **memory)
        refuses(tinh.CompileError, "precision", precision="f64", **memory)
        refuses(tinh.CompileError, "time limit of 1e-09 s", time_limit=1e-9, **memory)
        refuses(tinh.CompileError, "the limit is 1.0 MB", memory_limit="1MB", **memory)
        refuses(tinh.CompileError, "inputs are", shapes={"z": [2]}, **memory)
        refuses(tinh.CompileError, "fixes at 4", shapes={"x": [3, 8]}, **memory)
        refuses(tinh.CompileError, "nowhere", output="/nowhere/f.so", **memory)
        refuses(TypeError, "memory: .* found int", memory={1: self.memory["w1"]})
        refuses(TypeError, "not list", [1])
        refuses(tinh.CompileError, "nowhere.onnx", "nowhere.onnx")
        refuses(tinh.CompileError, "error", b"garbage")
        unknown = [{"op": "wrong", "inputs": ["x"], "outputs": ["y"]}]
        model = {**self.graph, "nodes": unknown}
        text = r'two_layer.json:\d+:\d+: error: unknown op "wrong" of node "y"'
        refuses(tinh.CompileError, text, model, **memory)
        small = {"memory": {**self.memory, "w1": np.ones(3, "f4")}}
        refuses(tinh.CompileError, 'weight "w1"', **small)
        refuses(TypeError, "bytes-like", memory={**self.memory, "w1": 5})

    def test_what_cannot_be_loaded_is_said(self):
        path = self.folder / "model.so"
        with self.assertRaisesRegex(tinh.Error, "cannot open the artifact") as raised:
            tinh.load(path)
        self.assertEqual(raised.exception.status, "TINH_NOT_FOUND")
        path.write_bytes(b"garbage")
        with self.assertRaises(tinh.Error) as raised:
            tinh.load(path)
        self.assertEqual(raised.exception.status, "TINH_INVALID_ARTIFACT")
        with self.assertRaisesRegex(TypeError, 'no option "thread"; it has threads'):
            tinh.load(path, thread=2)

    def check_page(self, shown, ops):
        """What is in the page that a report or a profile saves."""
        path = self.folder / "page.html"
        shown.save(path)
        text = path.read_text()
        begin = text.index('id="data">') + len('id="data">')
        data = json.loads(text[begin : text.index("</script>", begin)])
        self.assertEqual(len(data["functions"][0]["ops"]), ops)
        return data

    def test_reports_and_profiles(self):
        f = tinh.compile(self.graph, memory=self.memory)
        report = f.report()
        self.assertEqual(report["weights_size"] > 0, True)
        self.assertIn("distinct kernels", repr(report))
        self.assertIn("<iframe srcdoc=", report._repr_html_())
        self.check_page(report, ops=3)
        profile = f.profile(self.x, seconds=0.01)
        self.assertGreater(profile["runs"], 0)
        nodes = {name for step in profile["steps"] for name in step["nodes"]}
        self.assertLessEqual({"fc1", "fc2"}, nodes)
        self.assertIn("GFLOP/s", repr(profile))
        data = self.check_page(profile, ops=3)
        self.assertEqual(data["functions"][0]["profile"]["runs"], profile["runs"])
        self.assertIn("matmul", repr(f.kernels))
        self.assertIn("<td", f.kernels._repr_html_())
        with self.assertRaisesRegex(AttributeError, '"nothing"'):
            f.profile(self.x, function="nothing")
        self.assertEqual(len(f.kernels.rows), report["distinct_kernels"])

    def test_what_cannot_be_written_is_said(self):
        with self.assertRaisesRegex(tinh.CompileError, "cannot be written|cannot write"):
            tinh.compile(self.graph, memory=self.memory, output="/none/model.so")

    def test_ways_of_running_it(self):
        double = graph({"x": ("f32", [3])}, [("add", "xx", "y", {})], ["y"])
        found = tinh.compare(double, runs=3)
        self.assertEqual(list(found), ["eager", "compiled"])
        self.assertGreater(found["eager"]["over_compiled"], 0)
        self.assertLess(found["eager"]["difference"], 1e-6)
        self.assertIn("median, ms", repr(found))
        self.assertIn("<table>", found._repr_html_())
        with self.assertRaisesRegex(tinh.CompileError, "nowhere.onnx"):
            tinh.compare("nowhere.onnx")

    def test_ways_of_running_it_with_weights_and_options(self):
        memory = {name: np.asfortranarray(w) for name, w in self.memory.items()}
        found = tinh.compare(self.graph, memory=memory, runs=3, winograd="off")
        self.assertLess(found["eager"]["difference"], 1e-5)
        bf16 = {"precision": "bf16", "keep_f32": ["fc1"]}
        tinh.compare(self.graph, memory=memory, runs=3, **bf16)
        with self.assertRaisesRegex(tinh.CompileError, "precision"):
            tinh.compare(self.graph, memory=memory, precision="f64")
        with self.assertRaisesRegex(TypeError, 'no option "shapes" for such'):
            tinh.compare(self.graph, memory=memory, shapes={})
        with self.assertRaisesRegex(TypeError, "not for bytes"):
            tinh.compare(b"", memory=memory)

    def test_warnings_are_python_s(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tinh.compile(self.graph, memory=self.memory)


if __name__ == "__main__":
    unittest.main()
