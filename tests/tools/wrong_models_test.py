# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What graph-compile says of models that are wrong: once, and to the point.

Each ends with exit code 1, the whole expected message on stderr, and no file.
tests/import has the messages of each importer; these are the tool's.
"""

import json
import random
import re
import struct

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import tool_test
from tool_test import ToolTest

X = ("x", TensorProto.FLOAT, [2, 3])
OUTSIDE = (
    'external data "{}" is outside the model\'s directory; only relative paths '
    "without .. are read"
)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def tensor(name, dims, data_type=TensorProto.FLOAT, **fields):
    """An initialiser, as wrong as wanted."""
    return TensorProto(name=name, dims=dims, data_type=data_type, **fields)


class WrongModels(ToolTest):
    maxDiff = None
    PLACE = ""  # A pattern of what is said of a place in the file.

    def refused(self, name, content, message, *arguments):
        """`content` as the file `name` gets "NAME: error: MESSAGE"."""
        if isinstance(content, dict):
            content = json.dumps(content)
        if isinstance(content, str):
            content = content.encode()
        (self.folder / name).write_bytes(content)
        before = {path.name for path in self.folder.iterdir()}
        done = self.run_tool("graph-compile", name, "-o", "out.so", *arguments)
        self.assertEqual(done.stdout, "")
        start = re.compile(re.escape(name) + self.PLACE)
        self.assertEqual(start.sub(name, done.stderr, 1), f"{name}: error: {message}\n")
        self.assertEqual(done.returncode, 1)
        self.assertNoLeftovers(*before)


class WrongOnnx(WrongModels):
    def onnx(self, nodes, message, *arguments, inputs=(X,), constants=()):
        graph = helper.make_graph(
            nodes,
            "g",
            [helper.make_tensor_value_info(*entry) for entry in inputs],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            constants,
        )
        model = helper.make_model(
            graph,
            ir_version=8,
            opset_imports=[
                helper.make_opsetid("", 18),
                helper.make_opsetid("com.acme", 3),
            ],
        )
        self.refused("m.onnx", model.SerializeToString(), message, *arguments)

    def test_garbage(self):
        self.refused("m.onnx", b"", "the file is empty")
        self.refused("m.onnx", b"\x08\x08", "not an ONNX model: it holds no graph")
        self.refused(
            "m.onnx",
            random.Random(1).randbytes(200),
            "not a valid ONNX model: malformed field tag at byte 18, in a ModelProto",
        )

    def test_cut(self):
        self.refused(
            "m.onnx",
            b"\x08\x08\x3a\x64" + b"\0" * 50,
            "not a valid ONNX model: truncated: field 7 has 100 bytes, only 50 "
            "remain at byte 2, in a ModelProto",
        )

    def test_dtype(self):
        self.onnx(
            [node("MatMul", "x i", "y", name="mm")],
            'node "mm" (MatMul): graph.matmul: element types differ: a is '
            "2x3xf32, b is 3x2xi64",
            inputs=(X, ("i", TensorProto.INT64, [3, 2])),
        )
        self.onnx(
            [node("MatMul", "x i", "y", name="mm")],
            'node "mm" (MatMul): graph.matmul: element types of the factors differ: '
            "2x3xf32 and 3x2xbf16; cast one of them",
            inputs=(X, ("i", TensorProto.BFLOAT16, [3, 2])),
        )
        self.onnx(
            [node("Relu", "x", "y")],
            'input "x": element type COMPLEX64 is not supported',
            inputs=(("x", TensorProto.COMPLEX64, [2, 3]),),
        )
        self.onnx(
            [node("Cast", "x", "y", to=TensorProto.INT64)],
            'output "y" is declared as FLOAT, but has elements of type i64',
        )

    def test_shapes_of_inputs(self):
        relu = [node("Relu", "x", "y")]
        inputs = (("x", TensorProto.FLOAT, ["batch", 3]),)
        self.onnx(
            relu,
            'input "x" has the open shape [batch, 3]; give it a fixed one, as in '
            "--shape x=1x3",
            inputs=inputs,
        )
        for shape, message in {
            "x=2x4": 'input "x": the given shape [2, 4] has 4 in dimension 1, '
            "which the model fixes at 3",
            "x=2": 'input "x": the given shape [2] has rank 1, the model\'s has '
            "rank 2",
        }.items():
            self.onnx(relu, message, "--shape", shape, inputs=inputs)
        unknown = 'a shape was given for "z", but the model\'s inputs are "x"'
        self.onnx(relu, unknown, "--shape", "z=2x3")

    def test_values_of_inputs(self):
        relu = [node("Relu", "x", "y")]
        for value, message in {
            "x=1,2": 'input "x": the given value has 2 elements; 2x3xf32 has 6',
            "x=y=1": 'input "x": the given value "y=1" is no element of 2x3xf32',
            "z=1": 'a value was given for "z", but the model\'s inputs are "x"',
        }.items():
            self.onnx(relu, message, "--input-value", value)
        for option, message in {
            "--input-value=x": "expected NAME=VALUE",
            "--input-value=x=1": "--input-value excludes --with",
        }.items():
            done = self.run_tool("graph-compare", "m.onnx", option, "--with=onnxruntime")
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)

    def test_shapes_inside(self):
        self.onnx(
            [node("Relu", "x", "r"), node("MatMul", "r x", "y", name="fc1")],
            'node "fc1" (MatMul): graph.matmul: inner dimensions 3 and 2 differ: '
            "a is 2x3xf32, b is 2x3xf32",
        )

    def test_group(self):
        beyond = "graph.conv: groups must be from 1 to 4, the first extent of the "
        for group, message in (
            (-1, beyond + "weights 4x3x3x3xf32, found -1"),
            (0, beyond + "weights 4x3x3x3xf32, found 0"),
            (1 << 62, "attribute group: 4611686018427387904 is out of range"),
        ):
            self.onnx(
                [node("Conv", "x w", "y", name="c", group=group)],
                f'node "c" (Conv): {message}',
                inputs=(("x", TensorProto.FLOAT, [1, 3, 8, 8]),),
                constants=[numpy_helper.from_array(np.ones((4, 3, 3, 3), "f"), "w")],
            )

    def test_declared_shapes_of_outputs(self):
        for shape, declared in ([2, 4], "4 in dimension 1"), ([2], "rank 1"):
            graph = helper.make_graph(
                [node("Relu", "x", "y")],
                "g",
                [helper.make_tensor_value_info(*X)],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
            )
            model = helper.make_model(graph, ir_version=8)
            (self.folder / "m.onnx").write_bytes(model.SerializeToString())
            done = self.run_tool("graph-compile", "m.onnx", "-o", "out.so")
            self.assertEqual(
                (done.returncode, done.stderr),
                (
                    0,
                    f'm.onnx: warning: output "y" is declared with {declared}, '
                    "but has the shape [2, 3]\n",
                ),
            )

    def test_all_unknown_ops_are_listed(self):
        self.onnx(
            [
                node("Frob", "x", "a", name="n1", domain="com.acme"),
                node("Grok", "a", "b", name="n2"),
                node("Frob", "b", "y", name="n3", domain="com.acme"),
            ],
            "the model has 3 nodes of 2 ops not supported:\n"
            '  com.acme.Frob (opset 3), 2 nodes: "n1", "n3"\n'
            '  ai.onnx.Grok (opset 18), 1 node: "n2"',
        )

    def test_names_that_a_terminal_would_obey(self):
        self.onnx(
            [node("Frob", "x", "y", name="a\x1b[31m\u202eé")],
            "the model has 1 node of 1 op not supported:\n"
            '  ai.onnx.Frob (opset 18), 1 node: "a\\x1b[31m\\u{202e}é"',
        )

    def test_the_folder_that_references_start_from(self):
        add = [node("Add", "x w", "y", name="a")]
        constant = tensor("w", [2, 3], data_location=TensorProto.EXTERNAL)
        constant.external_data.add(key="location", value="weights")
        folder = self.root / "elsewhere"
        folder.mkdir()
        self.onnx(
            add,
            f'node "a" (Add): tensor "w": external data file {folder}/weights does '
            "not exist",
            "--model-dir",
            folder,
            constants=[constant],
        )
        (folder / "weights").write_bytes(b"\0" * 24)
        self.compile("m.onnx", "m.so", "--model-dir", folder)
        done = self.run_tool(
            "graph-compile", "m.onnx", "-o", "m.so", "--model-dir", "none"
        )
        self.fails(done, "error: --model-dir: there is no folder 'none'")

    def test_cycle(self):
        self.onnx(
            [
                node("Add", "x b", "a", name="p"),
                node("Relu", "a", "b", name="q"),
                node("Relu", "b", "y", name="r"),
            ],
            'the graph has a cycle: node "p" (Add) needs node "q" (Relu) needs '
            'node "p" (Add)',
        )

    def test_sizes(self):
        add = [node("Add", "x w", "y", name="a")]
        where = 'node "a" (Add): tensor "w": '
        huge = 1 << 62
        for dims, message in {
            (huge, 4): f"the shape [{huge}, 4] is negative or beyond any memory",
            (-2, 3): "the shape [-2, 3] is negative or beyond any memory",
            (1 << 40,): "expected 4398046511104 bytes for 1099511627776xf32, "
            "found 16",
        }.items():
            constant = tensor("w", dims, raw_data=b"\0" * 16)
            self.onnx(add, where + message, constants=[constant])
        self.onnx(
            [node("Relu", "x", "y")],
            f'input "x": the shape [{huge}, 3] is beyond any memory',
            inputs=(("x", TensorProto.FLOAT, [huge, 3]),),
        )
        self.onnx(
            [node("Expand", "x s", "y", name="e")],
            f'node "e" (Expand): the shape [{huge}, 2, 3] is negative or beyond '
            "any memory",
            constants=[numpy_helper.from_array(np.array([huge, 2, 3]), "s")],
        )

    def test_external_data(self):
        add = [node("Add", "x w", "y", name="a")]

        def check(location, message, **more):
            entries = {"location": location, **more}
            constant = tensor("w", [2, 3], data_location=TensorProto.EXTERNAL)
            for key, value in entries.items():
                constant.external_data.add(key=key, value=str(value))
            self.onnx(add, f'node "a" (Add): tensor "w": {message}', constants=[constant])

        secret = self.root / "secret"
        secret.write_bytes(b"\0" * 24)
        for outside in ("../secret", str(secret), "a/../../secret"):
            check(outside, OUTSIDE.format(outside))
        (self.folder / "link").symlink_to(secret)
        check(
            "link",
            'external data "link" leads outside the model\'s directory by a '
            "symbolic link",
        )
        check("none", "external data file ./none does not exist")
        (self.folder / "w").write_bytes(b"\0" * 20)
        check("w", "its 24 bytes at 0 go beyond the end of ./w (20 bytes)")
        (self.folder / "w").write_bytes(b"\0" * 24)
        check("w", 'external data: malformed offset "-1"', offset=-1)
        check(
            "w",
            f"its 24 bytes at {2**64 - 8} go beyond the end of ./w (24 bytes)",
            offset=2**64 - 8,
        )


class WrongJson(WrongModels):
    PLACE = r":1:\d+"

    def model(self, **changes):
        return {
            "tinh": 1,
            "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}],
            "nodes": [{"op": "relu", "inputs": ["x"], "outputs": ["y"]}],
            "outputs": ["y"],
            **changes,
        }

    def weight(self, **weight):
        """A model that adds a weight w."""
        add = {"op": "add", "inputs": ["x", "w"], "outputs": ["y"]}
        return self.model(weights=[{"name": "w", **weight}], nodes=[add])

    def test_text(self):
        for text, place in {"": "1:1", '{"tinh": 1,\n "x"': "2:5"}.items():
            (self.folder / "m.json").write_text(text)
            done = self.run_tool("graph-compile", "m.json", "-o", "out.so")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"m.json:{place}: error: malformed JSON", done.stderr)
        self.assertNoLeftovers("m.json")

    def all_of(self, text):
        """The errors of a model without the name of the file."""
        (self.folder / "m.json").write_text(text)
        done = self.run_tool("graph-compile", "m.json", "-o", "out.so")
        self.assertEqual(done.returncode, 1)
        self.assertNoLeftovers("m.json")
        return done.stderr.replace("m.json:", "").splitlines()

    def test_all_that_is_wrong_is_said_where_it_is(self):
        errors = self.all_of(
            """{"tinh": 1,
 "inputs": [{"name": "x", "dtype": "f32", "shape": [1, 3, 8, 8]},
            {"name": "i", "dtype": "int64", "shape": [-1]}],
 "weights": [{"name": "w", "dtype": "f32", "shape": [4, 3, 3, 3],
              "data": [1, 2]}, {"name": "é",
   "dtype": "f32", "shape": [4, 3, 3, 3], "data": 0.5}],
 "nodes": [
  {"op": "conv2d", "inputs": ["x", "w"], "outputs": ["c"]},
  {"op": "conv", "inputs": ["x", "é"], "outputs": ["d"],
   "attributes": {"padding": [1, 1]}},
  {"op": "reduce", "inputs": ["c"], "outputs": ["e"],
   "attributes": {"kind": "avg", "axis": [1],
                  "keepdims": 1}},
  {"op": "relu", "inputs": ["d"], "outputs": ["f"]}
 ], "outputs": ["e", "f"], "inptus": [] }"""
        )
        dtypes = (
            "f64 f32 f16 bf16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu "
            "f4e2m1fn i64 i32 i16 i8 u64 u32 u16 u8 bool"
        )
        self.assertEqual(
            errors,
            [
                f'3:36: error: input "i": unknown dtype "int64"; there are {dtypes}',
                '3:55: error: input "i": each dimension is an extent or the name of '
                "an open one, found -1",
                '5:23: error: weight "w": expected 108 elements for 4x3x3x3xf32, '
                "found 2",
                '8:10: error: unknown op "conv2d" of node "c"; did you mean "conv"?',
                '9:3: error: node "d" (conv): graph.conv: input 1x3x8x8xf32 has 2 '
                "spatial dimensions, and padding must have 4 entries, first those "
                "before each and then those behind, found 2",
                '12:27: error: node "e" (reduce): attribute kind: found "avg", '
                "expected one of sum, mean, prod, max, min",
                '12:42: error: node "e" (reduce): unknown attribute "axis"; did you '
                'mean "axes"?',
                '13:31: error: node "e" (reduce): attribute keepdims: found 1, '
                "expected true or false",
                '15:38: error: unknown key "inptus"; did you mean "inputs"?',
            ],
        )

    def test_names(self):
        errors = self.all_of(
            """{"tinh": 1, "inputs": [{"name": "image", "dtype": "f32", "shape": []}],
 "nodes": [{"op": "exp", "inputs": ["imgae"], "outputs": ["y"]},
  {"op": "relu", "inputs": ["image"], "outputs": ["y"]}],
 "outputs": ["z"]}"""
        )
        no = "is no input or constant of the graph and no node's output"
        self.assertEqual(
            errors,
            [
                f'2:37: error: node "y" (exp): its input "imgae" {no}; did you mean '
                '"image"?',
                '3:51: error: tensor "y" is made twice, by node "y" (exp) and node '
                '"y" (relu)',
                f'4:14: error: output "z" {no}',
            ],
        )

    def test_more_errors_than_are_shown(self):
        keys = "".join(f', "k{i}": 0' for i in range(23))
        text = json.dumps(self.model())
        errors = self.all_of(text[:-1] + keys + "}")
        self.assertEqual(len(errors), 21)
        self.assertEqual(errors[-1], " error: there are 3 more errors")

    def test_inputs(self):
        for change, message in (
            ({"dtype": "f33"}, 'unknown dtype "f33"; there are f64 f32 f16 bf16 '
             "f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu f4e2m1fn "
             "i64 i32 i16 i8 u64 u32 u16 u8 bool"),
            ({"shape": [-1]}, "each dimension is an extent or the name of an open one, "
             "found -1"),
            ({"shape": [1 << 62, 2]}, f"the shape [{1 << 62}, 2] is beyond any memory"),
        ):
            model = self.model()
            model["inputs"][0].update(change)
            self.refused("m.json", model, f'input "x": {message}')

    def test_shapes(self):
        self.refused(
            "m.json",
            self.model(),
            'a shape was given for "z", but the model\'s inputs are "x"',
            "--shape",
            "z=2",
        )
        product = {"op": "matmul", "inputs": ["x", "x"], "outputs": ["y"]}
        self.refused(
            "m.json",
            self.model(nodes=[product]),
            'node "y" (matmul): graph.matmul: inner dimensions 3 and 2 differ: a '
            "is 2x3xf32, b is 2x3xf32",
        )

    def test_nodes(self):
        def node(op, source, output):
            return {"op": op, "inputs": [source], "outputs": [output]}

        self.refused(
            "m.json",
            self.model(nodes=[node("frob", "x", "a"), node("grok", "a", "y")]),
            'unknown op "frob" of node "a"; docs/ops.md lists those that there are\n'
            'm.json:1:141: error: unknown op "grok" of node "y"; docs/ops.md lists '
            "those that there are",
        )
        self.refused(
            "m.json",
            self.model(nodes=[node("relu", "b", "y"), node("exp", "y", "b")]),
            'the graph has a cycle: node "y" (relu) needs node "b" (exp) needs '
            'node "y" (relu)',
        )

    def test_weights(self):
        self.refused(
            "m.json",
            self.weight(dtype="f32", shape=[2], data=[1, 2, 3]),
            'weight "w": expected 2 elements for 2xf32, found 3',
        )
        self.refused(
            "m.json",
            self.weight(dtype="f32", shape=[1 << 62, 1 << 62], data=1),
            f'weight "w": the shape [{1 << 62}, {1 << 62}] is negative or beyond '
            "any memory",
        )
        self.refused(
            "m.json",
            self.weight(file="../w.safetensors", tensor="w"),
            'weight "w": ' + OUTSIDE.format("../w.safetensors"),
        )

    def test_safetensors(self):
        def check(content, message):
            (self.folder / "w").write_bytes(content)
            self.refused(
                "m.json",
                self.weight(file="w", tensor="t"),
                f"weight \"w\": cannot read './w': {message}",
            )

        def file(size=24, **change):
            entry = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
            header = json.dumps({"t": {**entry, **change}}).encode()
            return struct.pack("<Q", len(header)) + header + b"\0" * size

        cut = "not a safetensors file, or truncated: its header would have "
        check(b"1234", "not a safetensors file: it has 4 bytes")
        check(file()[:20], f"{cut}65 bytes, the file has 20")
        check(b"\xff" * 20, f"{cut}{2**64 - 1} bytes, the file has 20")
        outside = "lie outside the 20 bytes of data"
        check(file(20), f'tensor "t": data_offsets [0, 24] {outside}')
        check(
            file(data_offsets=[0, 20]),
            'tensor "t": expected 24 bytes for F32 [2, 3], found 20',
        )
        check(file(dtype="F6_E2M3"), 'tensor "t": dtype F6_E2M3 is not supported')
        check(
            file(shape=[1 << 62, 4]),
            f'tensor "t": the shape [{1 << 62}, 4] is beyond any '
            "memory",
        )


if __name__ == "__main__":
    tool_test.main()
