#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the ops of a .td file of the graph dialect as calls of macros.

    write_ops.py RECORDS OUTPUT

RECORDS is what llvm-tblgen --dump-json makes of the file, whose name is that of
OUTPUT: ElementwiseOps or ReductionOps. Who includes OUTPUT defines the macros that
it wants; what is written says what they are.
"""

import json
import pathlib
import sys

MACROS = {
    "ElementwiseOps": """\
//   UNARY_OP(NAME, MNEMONIC, PRECISION_CLASS)    y has the type of x
//   UNARY_TEST(NAME, MNEMONIC)                   y is boolean
//   BINARY_OP(NAME, MNEMONIC, PRECISION_CLASS)
//   COMPARISON(NAME, MNEMONIC)                   predicates of graph.compare
//   UNARY_FUNCTION(NAME, MNEMONIC, DTYPE)        functions of tensors
//   BINARY_FUNCTION(NAME, FUNCTION, DTYPE)
//   UNARY_ONNX(NAME, STRING)                     ops that ONNX has, too
//   BINARY_ONNX(NAME, STRING)
//   UNARY_SCALAR(NAME, EXPRESSION)               of Scalars `s` and x
//   BINARY_SCALAR(NAME, EXPRESSION)              of Scalars `s`, a and b
""",
    "ReductionOps": """\
//   CUMULATIVE_OP(NAME, MNEMONIC)
//   CUMULATIVE_ONNX(NAME, STRING, OPSET)         from which operator set on
""",
}

HEADER = """\
// Ops of the graph dialect, written by dialects/graph/write_ops.py from {file}.td.
// NAME is that of the class without "Op", MNEMONIC without quotation marks.
//
"""

# Families of element-wise ops, with what all of their ops say.
FAMILIES = (
    ("Graph_UnaryOp", "UNARY", "UNARY_OP"),
    ("Graph_FloatTestOp", "UNARY", "UNARY_TEST"),
    ("Graph_BinaryOp", "BINARY", "BINARY_OP"),
)
FIELDS = ("onnxName", "scalarFunction", "eagerDType", "eagerFunction")


def line_of(record):
    return int(record["!locs"][0].rsplit(":", 1)[1])


def name_of(op):
    return op["!name"].removeprefix("Graph_").removesuffix("Op")


def instances(records, name):
    return sorted((records[key] for key in records["!instanceof"][name]), key=line_of)


def check(records):
    """Ends the build where what an element-wise op says would get lost."""
    families = {key for name, _, _ in FAMILIES for key in records["!instanceof"][name]}
    for key in records["!instanceof"]["Graph_Op"]:
        op = records[key]
        said = [field for field in FIELDS if op.get(field)]
        where = f"ElementwiseOps.td:{line_of(op)}: {op['opName']}"
        if key not in families and said:
            sys.exit(
                f"{where} says {', '.join(said)}: those of"
                f" {', '.join(name for name, _, _ in FAMILIES)} may"
            )
        if key in families and not op.get("precisionClass"):
            sys.exit(f"{where} has no precisionClass: give it Graph_ElementwiseFacts")


def lines_of(op, arity):
    """The macros of an element-wise op, but for what its family is."""
    name = name_of(op)
    if op.get("eagerDType"):
        function = op["opName"] if arity == "UNARY" else op["eagerFunction"]
        yield arity + "_FUNCTION", name, function, op["eagerDType"]
    if op["onnxName"]:
        yield arity + "_ONNX", name, f'"{op["onnxName"]}"'
    if op.get("scalarFunction"):
        yield arity + "_SCALAR", name, op["scalarFunction"]


def elementwise_lines(records):
    check(records)
    for family, arity, macro in FAMILIES:
        for op in instances(records, family):
            precision = () if macro == "UNARY_TEST" else (op["precisionClass"],)
            yield macro, name_of(op), op["opName"], *precision
            yield from lines_of(op, arity)
    for case in records["Graph_ComparePredicate"]["enumerants"]:
        case = records[case["def"]]
        yield "COMPARISON", case["symbol"], case["str"]


def cumulative_lines(records):
    for op in instances(records, "Graph_CumulativeOp"):
        yield "CUMULATIVE_OP", name_of(op), op["opName"]
        if op["onnxNode"]:
            yield "CUMULATIVE_ONNX", name_of(op), f'"{op["onnxNode"]}"', str(op["onnxOpset"])


LINES = {"ElementwiseOps": elementwise_lines, "ReductionOps": cumulative_lines}


def main():
    records = json.loads(pathlib.Path(sys.argv[1]).read_text())
    output = pathlib.Path(sys.argv[2])
    comments = MACROS[output.stem]
    macros = [line.split("(")[0].removeprefix("//").strip() for line in comments.splitlines()]
    text = HEADER.format(file=output.stem) + comments
    for macro in macros:
        text += f"#ifndef {macro}\n#define {macro}(...)\n#endif\n"
    for macro, *arguments in LINES[output.stem](records):
        text += f"{macro}({', '.join(arguments)})\n"
    for macro in macros:
        text += f"#undef {macro}\n"
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


if __name__ == "__main__":
    main()
