"""ATen ops and graphs as PyTorch computes them: what benchmarks/record_aten.py has
recorded, lowered, compiled and run."""

import gzip
import json
import pathlib
import unittest

import numpy as np
import tinh
from tinh import aten

from models import seeded_inputs, summary

RECORDED = pathlib.Path(__file__).parent / "aten"
DTYPES = {"f64": "f8", "f32": "f4", "i64": "i8", "i32": "i4", "i16": "i2"}
DTYPES |= {"i8": "i1", "u8": "u1", "bool": "?"}
TOGETHER = 40  # Calls that are compiled as one model.


def array(type, elements):
    return np.array(elements, DTYPES[type[0]]).reshape(type[1:])


def prefixed(model, prefix):
    """A model with other names."""

    def rename(entry, keys):
        entry = dict(entry)
        for key in keys:
            if key in entry:
                value = entry[key]
                entry[key] = (
                    [prefix + v for v in value]
                    if isinstance(value, list)
                    else prefix + value
                )
        return entry

    return {
        "inputs": [rename(i, ["name"]) for i in model["inputs"]],
        "weights": [rename(w, ["name"]) for w in model["weights"]],
        "nodes": [rename(n, ["name", "inputs", "outputs"]) for n in model["nodes"]],
        "outputs": [prefix + name for name in model["outputs"]],
    }


class Call:
    def __init__(self, case, number):
        self.case, self.prefix = case, f"c{number}."
        self.graph = aten.Graph.from_json(case["graph"])
        self.op = self.graph.nodes[0].op
        self.lowered = aten.lower(self.graph)
        self.model = prefixed(self.lowered.model, self.prefix)

    def inputs(self):
        types, data = self.case["graph"]["inputs"], self.case["inputs"]
        names = [i["name"] for i in self.model["inputs"]]
        arrays = [array(types[i][1], data[i]) for i in self.lowered.inputs]
        return dict(zip(names, arrays))

    def check(self, test, results):
        types = self.case["graph"]["nodes"][0]["results"]
        for i, (kind, x) in enumerate(self.lowered.outputs):
            if kind == "result":
                expected = array(types[i], self.case["expected"][i])
                found = results[self.model["outputs"][x]]
                with test.subTest(op=self.op, graph=self.case["graph"]):
                    test.assertEqual(found.dtype, expected.dtype)
                    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


class AtenTest(unittest.TestCase):
    def test_recorded_calls(self):
        text = gzip.decompress((RECORDED / "ops.json.gz").read_bytes())
        calls = [Call(case, i) for i, case in enumerate(json.loads(text))]
        self.assertGreater(len(calls), 900)
        for first in range(0, len(calls), TOGETHER):
            self.run_together(calls[first : first + TOGETHER])

    def run_together(self, calls):
        keys = ("inputs", "weights", "nodes", "outputs")
        model = {key: [x for c in calls for x in c.model[key]] for key in keys}
        compiled = tinh.compile({"tinh": 1, **model}, threads=1)
        inputs = {name: x for c in calls for name, x in c.inputs().items()}
        results = compiled(**inputs)
        names = [info.name for info in compiled.outputs]
        by_name = dict(zip(names, results))
        for call in calls:
            call.check(self, by_name)

    def test_recorded_graphs(self):
        text = gzip.decompress((RECORDED / "graphs.json.gz").read_bytes())
        recorded = json.loads(text)
        self.assertGreater(len(recorded), 10)
        for case in recorded:
            with self.subTest(name=case["name"]):
                self.run_graph(case)

    def run_graph(self, case):
        graph = aten.Graph.from_json(case["graph"])
        arrays = seeded_inputs([type for _, type in case["graph"]["inputs"]])
        # Half of the inputs lie in memory, as parameters do.
        memory = {name: name for name, _ in graph.inputs[::2]}
        arrays_by_name = {n: x for (n, _), x in zip(graph.inputs, arrays)}
        lowered = aten.lower(graph, memory)
        used = {w["memory"] for w in lowered.model["weights"] if "memory" in w}
        held = {name: arrays_by_name[name] for name in used}
        compiled = tinh.compile(lowered.model, memory=held, threads=2)
        results = compiled(*(arrays[i] for i in lowered.inputs))
        results = results if isinstance(results, tuple) else (results,)
        for expected, (kind, x) in zip(case["expected"], lowered.outputs):
            if kind == "value":
                self.assertEqual(expected, x)
                continue
            found = summary(results[x] if kind == "result" else arrays[x])
            scale = max(expected["scale"], 1e-3)
            np.testing.assert_allclose(
                found["elements"], expected["elements"], rtol=0, atol=2e-4 * scale
            )

    def test_a_graph_survives_json(self):
        graph = aten.Graph(
            [("x", aten.TensorType("f32", (2, 3)))],
            [
                aten.Node(
                    "y",
                    "clamp.default",
                    (aten.Ref("x"), -float("inf")),
                    {"max": 2.5},
                    [aten.TensorType("f32", (2, 3))],
                )
            ],
            [aten.Ref("y"), None, aten.Ref("x")],
        )
        again = aten.Graph.from_json(json.loads(json.dumps(graph.to_json())))
        self.assertEqual(again, graph)
        lowered = aten.lower(again)
        self.assertEqual(
            lowered.outputs, [("result", 0), ("value", None), ("input", 0)]
        )

    def test_what_is_missing_is_said_at_once(self):
        type = aten.TensorType("f32", (2,))
        nodes = [
            aten.Node("a", "fft.default", (aten.Ref("x"),), {}, [type]),
            aten.Node("b", "svd.default", (aten.Ref("a"),), {}, [type]),
        ]
        graph = aten.Graph([("x", type)], nodes, [aten.Ref("b")])
        with self.assertRaises(aten.Unsupported) as raised:
            aten.lower(graph)
        self.assertEqual(raised.exception.ops, ["fft.default", "svd.default"])


if __name__ == "__main__":
    unittest.main()
