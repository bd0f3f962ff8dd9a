# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Strings of ONNX models, compiled and run against Python.

usage: PYTHONPATH=tests/support python tests/end-to-end/strings_test.py
           BIN_DIR [unittest's options]
"""

import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tool_test

CHARACTERS = "02468ACEGIKMOQSUWYacegikmoqsuwy"  # No two are neighbours.
WORDS = ["", "a", "Abc", "dEF.ghi", "Straße", "ÄÖü", "日本", "tab\there", "x" * 30]


def strings(values, *shape):
    return np.array(values, object).reshape(shape or (len(values),))


class StringsTest(tool_test.ToolTest):
    def save(self, nodes, inputs, outputs, constants=()):
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes,
            "g",
            [info(name, TensorProto.STRING, x.shape) for name, x in inputs.items()],
            [info(name, kind, None) for name, kind in outputs.items()],
            [numpy_helper.from_array(x, name) for name, x in dict(constants).items()],
        )
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
        proto = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        onnx.save(proto, self.folder / "m.onnx")

    def run_model(self, nodes, inputs, outputs, constants=(), options=()):
        """Outputs of strings come as lists of them."""
        self.save(nodes, inputs, outputs, constants)
        self.compile("m.onnx", "m.so", *options)
        arguments = ["m.so", "--output-dir", "out"]
        for name, x in inputs.items():
            x = x if x.dtype.kind == "S" else x.astype(np.str_)
            np.save(self.folder / f"{name}.npy", x)
            arguments += ["--input", f"{name}={name}.npy"]
        done = self.run_tool("graph-run", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = []
        for name, kind in outputs.items():
            y = np.load(self.folder / "out" / f"{name}.npy")
            if kind == TensorProto.STRING:
                y = y.view(f"S{y.shape[-1]}")[..., 0]
                y = np.char.decode(y, "utf-8", "surrogateescape").tolist()
            found.append(y)
        return found

    def test_split(self):
        delimiters = [".", "aa", "aba", "", "ü", "ab", "no string has it" * 99]
        texts = [
            "a.b..c", "aaaaa", "ababaXaba", " x\ty  z \u2003w ", "aüübü", ".", "", "abab",
            "aabaabaaa",
        ]  # fmt: skip
        x = strings(texts)
        nodes, outputs = [], {}
        cases = [(d, most) for d in delimiters for most in (None, 0, 1, 2)]
        for i, (delimiter, most) in enumerate(cases):
            limit = {} if most is None else {"maxsplit": most}
            nodes.append(
                helper.make_node(
                    "StringSplit", ["x"], [f"y{i}", f"n{i}"], delimiter=delimiter, **limit
                )
            )
            outputs |= {f"y{i}": TensorProto.STRING, f"n{i}": TensorProto.INT64}
        found = self.run_model(nodes, {"x": x}, outputs)
        for i, (delimiter, most) in enumerate(cases):
            limit = -1 if most is None else most
            expected = [t.split(delimiter or None, limit) for t in texts]
            longest = max(map(len, expected))
            padded = [parts + [""] * (longest - len(parts)) for parts in expected]
            self.assertEqual(found[2 * i], padded, (delimiter, most))
            np.testing.assert_array_equal(found[2 * i + 1], [len(p) for p in expected])

    def test_regular_expressions(self):
        patterns = [
            "", "a*", ".*", "(?s).*", "(?i)abc|STRASSE", "[^a-z]+", r"\w+\.\w+", "x{2,40}",
            "x{3}", "[[:alpha:]]+", r"[äöüÄÖÜ]{3}", "(?i)äöü", r"日.", r".*\bhere",
            r".*\Bf.*", "^(Abc)$", r"\Qa\E", r"\Qxx\E{29}", r"\x{65e5}\u672c".replace(r"\u672c", "本"),
            r"[\w.]+?", "(a|b)*?c?", r"[\]a]", "(?P<name>a)", r"(?i:A)bc", r"tab\there",
        ]  # fmt: skip
        nodes = [
            helper.make_node("RegexFullMatch", ["x"], [f"y{i}"], pattern=pattern)
            for i, pattern in enumerate(patterns)
        ]
        outputs = {f"y{i}": TensorProto.BOOL for i in range(len(patterns))}
        found = self.run_model(nodes, {"x": strings(WORDS)}, outputs)
        names = {"[[:alpha:]]": "[A-Za-z]", r"\Qa\E": "a", r"\Qxx\E": "xx", r"\x{65e5}": "日"}
        for pattern, y in zip(patterns, found):
            for of_re2, of_python in names.items():
                pattern = pattern.replace(of_re2, of_python)
            expected = [bool(re.fullmatch(pattern, w, re.ASCII)) for w in WORDS]
            if "(?i)äöü" in pattern:  # By Unicode in RE2, whatever a \w is.
                expected = [bool(re.fullmatch(pattern, w)) for w in WORDS]
            self.assertEqual(y.tolist(), expected, pattern)

    def test_normalizer(self):
        """What is left goes on through other ops, with a size of its own."""
        x = strings(["The", "cat", "ÄRGER", "the", "", "ΣΑΣ", "ǅ", "ﬀß", "\u212a"])
        node = helper.make_node
        nodes = [
            node("StringNormalizer", ["x"], ["lower"], case_change_action="LOWER"),
            node("StringNormalizer", ["x"], ["upper"], case_change_action="UPPER"),
            node(
                "StringNormalizer", ["x"], ["left"],
                case_change_action="LOWER", stopwords=["THE", "sas", "ärger"],
            ),
            node("StringConcat", ["left", "dot"], ["dotted"]),
            node("RegexFullMatch", ["dotted"], ["is_cat"], pattern="cat[.]"),
            node("Equal", ["left", "cat"], ["same"]),
            node("Shape", ["left"], ["shape"]),
            node(
                "StringNormalizer", ["x"], ["none"],
                is_case_sensitive=0, stopwords=list(x) + ["Ignored"],
            ),
        ]  # fmt: skip
        kinds = dict.fromkeys(["lower", "upper", "left", "dotted"], TensorProto.STRING)
        kinds |= {"is_cat": TensorProto.BOOL, "same": TensorProto.BOOL}
        kinds |= {"shape": TensorProto.INT64, "none": TensorProto.STRING}
        constants = {"dot": strings(["."], 1), "cat": np.array("cat", object)}
        lower, upper, left, dotted, is_cat, same, shape, none = self.run_model(
            nodes, {"x": x}, kinds, constants, ["--string-length", "x=9"]
        )
        self.assertEqual(
            lower, ["the", "cat", "ärger", "the", "", "σασ", "ǆ", "ﬀß", "\u212a"]
        )
        self.assertEqual(
            upper, ["THE", "CAT", "ÄRGER", "THE", "", "ΣΑΣ", "Ǆ", "ﬀß", "\u212a"]
        )
        expected = ["cat", "", "σασ", "ǆ", "ﬀß", "\u212a"]
        self.assertEqual(left, expected)
        self.assertEqual(dotted, [word + "." for word in expected])
        self.assertEqual(is_cat.tolist(), [word == "cat" for word in expected])
        self.assertEqual(same.tolist(), [word == "cat" for word in expected])
        self.assertEqual(shape.tolist(), [6])
        self.assertEqual(none, [""])

    def test_bytes_that_are_no_characters(self):
        """They stay, and what is beside them is changed."""
        x = [b"\xc3A", b"\xc3\xa4", b"\xe2\x82", b"\xc1\x81", b"ab\xe9", b"\xe0\x81\x81"]
        upper = [b"\xc3A", b"\xc3\x84", b"\xe2\x82", b"\xc1\x81", b"AB\xe9", x[5]]
        lower = [b"\xc3a", *x[1:]]
        nodes = [
            helper.make_node("StringNormalizer", ["x"], [to], case_change_action=to)
            for to in ("UPPER", "LOWER")
        ]
        outputs = dict.fromkeys(["UPPER", "LOWER"], TensorProto.STRING)
        found = self.run_model(nodes, {"x": np.array(x)}, outputs)
        for strings_found, expected in zip(found, (upper, lower)):
            encoded = [s.encode(errors="surrogateescape") for s in strings_found]
            self.assertEqual(encoded, expected)

    def test_moves(self):
        """Strings of different lengths, moved, chosen and in branches."""
        x, y = strings(WORDS[:6], 2, 3), strings(["q", "rr", "sss"], 1, 3)
        node, info = helper.make_node, helper.make_tensor_value_info
        branch = lambda name: helper.make_graph(
            [node("Identity", [name], ["out"])], name, [], [info("out", 8, None)]
        )
        nodes = [
            node("Concat", ["x", "y"], ["joined"], axis=0),
            node("Transpose", ["joined"], ["turned"]),
            node("Equal", ["x", "abc"], ["is_abc"]),
            node("Where", ["is_abc", "y", "x"], ["chosen"]),
            node("Gather", ["joined", "last"], ["row"], axis=0),
            node("GatherElements", ["x", "order"], ["ordered"], axis=1),
            node("ReduceMax", ["found"], ["any"], keepdims=0),
            node("Cast", ["is_abc"], ["found"], to=TensorProto.INT32),
            node("Cast", ["any"], ["condition"], to=TensorProto.BOOL),
            node(
                "If", ["condition"], ["branch"],
                then_branch=branch("y"), else_branch=branch("abc2"),
            ),
            node("Compress", ["row", "mask"], ["kept"]),
            node("Slice", ["joined", "one", "three"], ["part"]),
        ]  # fmt: skip
        constants = {
            "abc": np.array("Abc", object),
            "abc2": strings(["a", "b", "c"], 1, 3),
            "last": np.array(-1),
            "order": np.array([[2, 0, 1]] * 2),
            "mask": np.array([True, False, True]),
            "one": np.array([1]),
            "three": np.array([3]),
        }
        names = ["turned", "chosen", "row", "ordered", "branch", "kept", "part"]
        outputs = dict.fromkeys(names, TensorProto.STRING)
        found = dict(
            zip(names, self.run_model(nodes, {"x": x, "y": y}, outputs, constants))
        )
        joined = np.concatenate([x, y])
        self.assertEqual(found["turned"], joined.T.tolist())
        self.assertEqual(found["chosen"], np.where(x == "Abc", y, x).tolist())
        self.assertEqual(found["row"], y[0].tolist())
        self.assertEqual(found["ordered"], x[:, [2, 0, 1]].tolist())
        self.assertEqual(found["branch"], y.tolist())
        self.assertEqual(found["kept"], ["q", "sss"])
        self.assertEqual(found["part"], joined[1:3].tolist())

    def test_labels(self):
        x = strings(["red", "blue", "grey"])
        ml = lambda op, y, **attributes: helper.make_node(
            op, ["x"], [y], domain="ai.onnx.ml", **attributes
        )
        nodes = [
            ml("LabelEncoder", "a", keys_strings=["blue", "red"], values_int64s=[3, 4]),
            ml("LabelEncoder", "b", keys_strings=["blue"], values_strings=["azure"]),
            ml("CategoryMapper", "c", cats_strings=["red", "blue"], cats_int64s=[7, 8]),
            ml("OneHotEncoder", "d", cats_strings=["grey", "red"]),
        ]
        outputs = {"a": TensorProto.INT64, "b": TensorProto.STRING}
        outputs |= {"c": TensorProto.INT64, "d": TensorProto.FLOAT}
        a, b, c, d = self.run_model(nodes, {"x": x}, outputs)
        self.assertEqual(a.tolist(), [4, 3, -1])
        self.assertEqual(b, ["_Unused", "azure", "_Unused"])
        self.assertEqual(c.tolist(), [7, 8, -1])
        self.assertEqual(d.tolist(), [[0, 1], [0, 0], [1, 0]])

    def test_classifiers(self):
        """Their labels may be strings."""
        names = ["low", "höher", "highest"]
        ml = lambda op, inputs, outputs, **attributes: helper.make_node(
            op, inputs, outputs, domain="ai.onnx.ml", **attributes
        )
        nodes = [
            ml("LabelEncoder", ["x"], ["n"], keys_strings=["a", "b", "c"],
               values_floats=[0.0, 1.0, 2.0]),
            helper.make_node("Unsqueeze", ["n", "one"], ["column"]),
            ml("LinearClassifier", ["column"], ["linear", "s"], classlabels_strings=names,
               coefficients=[0.0, 1.0, 2.0], intercepts=[0.5, 0.0, -1.5]),
            ml("TreeEnsembleClassifier", ["column"], ["tree", "t"],
               classlabels_strings=names, nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2],
               nodes_featureids=[0] * 3, nodes_values=[1.5, 0.0, 0.0],
               nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0],
               nodes_falsenodeids=[2, 0, 0], class_treeids=[0, 0], class_nodeids=[1, 2],
               class_ids=[1, 2], class_weights=[1.0, 1.0]),
        ]  # fmt: skip
        outputs = dict.fromkeys(["linear", "tree"], TensorProto.STRING)
        constants = {"one": np.array([1])}
        linear, tree = self.run_model(
            nodes, {"x": strings(["a", "b", "c"])}, outputs, constants
        )
        self.assertEqual(linear, ["low", "höher", "highest"])
        self.assertEqual(tree, ["höher", "höher", "highest"])

    def test_counts_of_words(self):
        """Without stop words, a text has as many words as the run finds."""
        node = helper.make_node
        attributes = dict(
            mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0,
            ngram_counts=[0, 2], ngram_indexes=[0, 1, 2],
            pool_strings=["cat", "dog", "cat", "dog"],
        )  # fmt: skip
        nodes = [
            node("StringNormalizer", ["x"], ["left"],
                 case_change_action="LOWER", stopwords=["the"]),
            node("TfIdfVectorizer", ["left"], ["y"], **attributes),
            node("TfIdfVectorizer", ["x"], ["z"], **attributes),
        ]  # fmt: skip
        x = strings(["Cat", "the", "dog", "bird", "cat", "cat"])
        outputs = {"y": TensorProto.FLOAT, "z": TensorProto.FLOAT}
        y, z = self.run_model(nodes, {"x": x}, outputs)
        self.assertEqual(y.tolist(), [3, 1, 1])
        self.assertEqual(z.tolist(), [2, 1, 0])

    def test_constants(self):
        """An input with a value is known, as are those that a node has."""
        nodes = [
            helper.make_node("Constant", [], ["c"], value_strings=["b", "é"]),
            helper.make_node("StringConcat", ["x", "c"], ["y"]),
        ]
        x = strings(["a", "bb"])
        self.save(nodes, {"x": x}, {"y": TensorProto.STRING})
        self.compile("m.onnx", "m.so", "--input-value", "x=a,bb")
        done = self.run_tool("graph-run", "m.so", "--output-dir", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        y = np.load(self.folder / "out" / "y.npy")
        y = y.view(f"S{y.shape[-1]}")[..., 0]
        self.assertEqual([s.decode() for s in y], ["ab", "bbé"])

    def test_errors(self):
        command = ["graph-compile", "m.onnx", "-o", "m.so"]
        x = {"x": strings(["a", "b"])}
        node = lambda op, **attributes: [helper.make_node(op, ["x"], ["y"], **attributes)]
        self.save(node("Relu"), x, {"y": TensorProto.FLOAT})
        self.fails(
            self.run_tool(*command),
            'node "y" (Relu): "x" is strings of the shape [2]; numbers are needed here',
        )
        wrong = {
            "a)": "a ) without a (",
            "(a": "a ( without a )",
            "[a": "a [ without a ]",
            "*": "nothing is in front of it to repeat",
            "a**": "a repeat of a repeat",
            "a{2,1}": "expected repeats of 0 to 1000",
            r"\pL": "classes by Unicode's properties",
            "(?m)a": "lines of their own",
            "(?=a)": "what stands behind a match",
            r"\y": r"\y means nothing",
            "[z-a]": "a range of characters from the last to the first",
            "(.*x.{20}){9}": "no automaton of at most 4000 states",
            "(" + "|" * 60000 + "){1000}": "no automaton of at most 4000 states",
            "([%s]{0,1000}){19}" % CHARACTERS: "no automaton of at most 4000 states",
            "a" * 70000: "expected a pattern of at most 65536 bytes, found 70000",
            "ü" * 99 + ")": "a ) without a (, at byte 198 of \"" + "ü" * 50 + "…\"",
        }
        for pattern, text in wrong.items():
            self.save(
                node("RegexFullMatch", pattern=pattern), x, {"y": TensorProto.BOOL}
            )
            self.fails(self.run_tool(*command), "attribute pattern: " + text)
        where = helper.make_node("Where", ["c", "x", "n"], ["y"])
        constants = {"c": np.array([True, False]), "n": np.array([0, 1])}
        self.save([where], x, {"y": TensorProto.STRING}, constants)
        self.fails(self.run_tool(*command), "input 2: expected strings, found ")
        gather = helper.make_node("Gather", ["n", "x"], ["y"])
        self.save([gather], x, {"y": TensorProto.STRING}, constants)
        self.fails(
            self.run_tool(*command),
            'input 1 ("x"): expected elements of INT32, INT64, found STRING',
        )
        self.save(node("StringSplit"), x, {"y": TensorProto.INT64})
        self.fails(self.run_tool(*command), "is declared as INT64, but has strings")
        self.save(node("StringSplit"), x, {"y": TensorProto.STRING})
        done = self.run_tool(*command, "--string-length", "x=0")
        self.assertEqual(done.returncode, 2)
        done = self.run_tool(*command, "--string-length", "x=9999999")
        self.fails(done, "longer than the 1048576 that are supported")
        done = self.run_tool(*command, "--string-length", "z=9")
        self.fails(done, 'a length of strings was given for "z"')
        done = self.run_tool(*command, "--input-value", "x=abc", "--string-length", "x=2")
        self.fails(done, 'the given value "abc" is longer than 2 bytes')


if __name__ == "__main__":
    tool_test.main()
