#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what ONNX says of the ops' inputs and attributes: Schemas.inc.

    write_schemas.py FILE
    write_schemas.py FILE --check

needs the onnx package. With --check, the file is compared with what would be
written; exits with 1 if they differ. Of an op's versions since operator set 7, the
oldest one that is read, an input has the types of all: later versions allow more, and
what is computed does not depend on the version.
"""

import collections
import pathlib
import re
import string
import sys

import onnx

OLDEST = 7
ANY_NUMBER = 2**31 - 1
HEADER = f"""\
//===- Schemas.inc - Types of the inputs and attributes of ONNX's ops -----===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by write_schemas.py from the onnx package {onnx.__version__}.
//
//   TYPES(letter, types)            a set of element types
//   OP(name, since, minInputs, maxInputs, inputs, attributes)
//                                   since: the first operator set that has it; at
//                                   most -1 inputs: any number; a letter for each
//                                   input: its types, or '.' where it may be no
//                                   tensor; behind a '*' any number like the one
//                                   before
//
//===----------------------------------------------------------------------===//
"""


def versions():
    """The versions of each op of ONNX's own domain that models may have."""
    every = collections.defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            every[schema.name].append(schema)
    for name, schemas in sorted(every.items()):
        schemas.sort(key=lambda schema: schema.since_version)
        older = [s for s in schemas[1:] if s.since_version <= OLDEST]
        yield name, signature(schemas), schemas[len(older) :]


def signature(schemas):
    """The operator set that has an op first, and how many inputs it has at least and at
    most in any of its versions."""
    most = max(schema.max_input for schema in schemas)
    return (
        schemas[0].since_version,
        min(schema.min_input for schema in schemas),
        -1 if most == ANY_NUMBER else most,
    )


def element_types(schemas, index):
    """The element types of an input; nothing if it may be no tensor."""
    types = set()
    for schema in schemas:
        if index < len(schema.inputs):
            types |= set(schema.inputs[index].types)
    tensors = [re.fullmatch(r"tensor\((\w+)\)", each) for each in types]
    return tuple(sorted(t[1].upper() for t in tensors)) if all(tensors) else ()


def describe(schemas, letters):
    """The inputs and the attributes of an op as Schemas.inc has them."""
    inputs = ""
    for index in range(max(len(schema.inputs) for schema in schemas)):
        types = element_types(schemas, index)
        if not types:
            inputs += "."
        else:
            inputs += letters.setdefault(types, string.ascii_letters[len(letters)])
    variadic = onnx.defs.OpSchema.FormalParameterOption.Variadic
    if any(s.inputs and s.inputs[-1].option == variadic for s in schemas):
        inputs += "*"
    attributes = {}
    for schema in schemas:
        for name, attribute in schema.attributes.items():
            kind = attribute.type.name
            if attributes.setdefault(name, kind) != kind:
                raise ValueError(f"{schema.name}: {name} has two types")
    return inputs, " ".join(f"{n}:{t}" for n, t in sorted(attributes.items()))


def text():
    letters = {}
    ops = [(n, *own, *describe(schemas, letters)) for n, own, schemas in versions()]
    lines = [f"TYPES('{c}', \"{' '.join(t)}\")" for t, c in letters.items()]
    lines.append("")
    lines += [f'OP("{n}", {s}, {lo}, {hi}, "{i}", "{a}")' for n, s, lo, hi, i, a in ops]
    return HEADER + "\n".join(lines) + "\n"


def main(arguments):
    path = pathlib.Path(arguments[0])
    if "--check" not in arguments[1:]:
        path.write_text(text())
    elif path.read_text() != text():
        sys.exit(f"{path} is not what write_schemas.py writes: run it")


if __name__ == "__main__":
    main(sys.argv[1:])
