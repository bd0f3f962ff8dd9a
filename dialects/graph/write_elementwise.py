#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the element-wise ops of the graph dialect as calls of macros.

    write_elementwise.py RECORDS OUTPUT

RECORDS is what llvm-tblgen --dump-json makes of ElementwiseOps.td. Who includes
OUTPUT defines the macros that it wants; what is written says what they are.
"""

import json
import pathlib
import sys

HEADER = """\
// Element-wise ops of the graph dialect, written by dialects/graph/write_elementwise.py
// from ElementwiseOps.td. NAME is that of the class without "Op", MNEMONIC without
// quotation marks.
//
//   UNARY_OP(NAME, MNEMONIC, PRECISION_CLASS)    y has the type of x
//   UNARY_TEST(NAME, MNEMONIC)                   y is boolean
//   BINARY_OP(NAME, MNEMONIC, PRECISION_CLASS)
//   COMPARISON(NAME, MNEMONIC)                   predicates of graph.compare
//   UNARY_FUNCTION(NAME, MNEMONIC, DTYPE)        functions of tensors
//   UNARY_ONNX(NAME, STRING)                     ops that ONNX has, too
//   BINARY_ONNX(NAME, STRING)
//   UNARY_SCALAR(NAME, EXPRESSION)               of Scalars `s` and x
//   BINARY_SCALAR(NAME, EXPRESSION)              of Scalars `s`, a and b
"""

MACROS = (
    "UNARY_OP UNARY_TEST BINARY_OP COMPARISON UNARY_FUNCTION UNARY_ONNX BINARY_ONNX"
    " UNARY_SCALAR BINARY_SCALAR"
).split()


# Families of ops, with what all of their ops say.
FAMILIES = (
    ("Graph_UnaryOp", "UNARY", "UNARY_OP"),
    ("Graph_FloatTestOp", "UNARY", "UNARY_TEST"),
    ("Graph_BinaryOp", "BINARY", "BINARY_OP"),
)
FIELDS = ("onnxName", "scalarFunction", "eagerDType")


def line_of(record):
    return int(record["!locs"][0].rsplit(":", 1)[1])


def check(records):
    """Ends the build where what an op says would get lost."""
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
    """The macros of an op, but for what its family is."""
    name = op["!name"].removeprefix("Graph_").removesuffix("Op")
    if op.get("eagerDType"):
        yield "UNARY_FUNCTION", name, op["opName"], op["eagerDType"]
    if op["onnxName"]:
        yield arity + "_ONNX", name, f'"{op["onnxName"]}"'
    if op.get("scalarFunction"):
        yield arity + "_SCALAR", name, op["scalarFunction"]


def all_lines(records):
    def instances(name):
        keys = records["!instanceof"][name]
        return sorted((records[key] for key in keys), key=line_of)

    for family, arity, macro in FAMILIES:
        for op in instances(family):
            name = op["!name"].removeprefix("Graph_").removesuffix("Op")
            precision = () if macro == "UNARY_TEST" else (op["precisionClass"],)
            yield macro, name, op["opName"], *precision
            yield from lines_of(op, arity)
    for case in records["Graph_ComparePredicate"]["enumerants"]:
        case = records[case["def"]]
        yield "COMPARISON", case["symbol"], case["str"]


def main():
    records = json.loads(pathlib.Path(sys.argv[1]).read_text())
    output = pathlib.Path(sys.argv[2])
    check(records)
    text = HEADER
    for macro in MACROS:
        text += f"#ifndef {macro}\n#define {macro}(...)\n#endif\n"
    for macro, *arguments in all_lines(records):
        text += f"{macro}({', '.join(arguments)})\n"
    for macro in MACROS:
        text += f"#undef {macro}\n"
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


if __name__ == "__main__":
    main()
