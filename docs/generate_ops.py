#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/ops.md and docs/onnx-ops.md, the tables of all ops.

    generate_ops.py TBLGEN INCLUDE_DIR ROOT [--check]

For each folder X of dialects/ that has an XOps.td, llvm-tblgen says what it
defines. The ops of ONNX are read from the tables of their importers, and those that are
one of the graph dialect from its definitions. With --check nothing is written, and the
exit status is 1 if a document is not what would have been.
"""

import json
import pathlib
import re
import subprocess
import sys
import textwrap

HEADER = """\
# Ops

Generated from the definitions in `dialects/` by `docs/generate_ops.py`: after a
change there, run `ninja -C build ops-document`. A `?` marks what may be left
out, `…` what may be there any number of times.
"""

ONNX_HEADER = """\
# ONNX ops

Generated from the tables in `compiler/Import/onnx/ops/` and `strings/` beside it, and
the names that element-wise and cumulative ops have in `dialects/graph/ops/`, by
`docs/generate_ops.py`. Each op is imported from the operator set that is named
on, up to 28. What an op needs to fix
a shape, such as the shape of a Reshape, must be computable from constants or from
sizes that the run decides, see below. Calls
of the model's own functions are expanded;
[Limits.h](../compiler/Import/Limits.h) says how many nodes they may become, and
how deep functions and graphs may lie within each other.

`If`, `Loop` and `Scan` (from operator set 8) become `graph.if`, `graph.scan` and
`graph.while`. Both branches of an `If` give tensors of the same ranks, unless its
condition is known: then that branch takes its place; where their extents differ, the
run decides which. What a loop carries keeps
its shape, but sequences: a loop over these becomes its iterations, whose number has
to be known. A `Loop` that stacks rows and whose trip count is no constant, or that a
condition may end, makes as many rows as the model declares for its output, and
runs no longer, of which a warning tells where the trip count is known to be larger;
rows that it does not make are zeros. Where the model declares none, the run decides
how many there are, up to the trip count. The graphs of `ai.onnx.preview.FlexAttention` are
built where it stands. `ai.onnx.preview.training.Gradient` has the gradients of the sum of
a tensor of its graph, by the [rules](gradients.md) that training has; the nodes between are
built once more, for its own inputs, and merged with the others where these are the same.

How many elements `NonZero` and `Compress` find, boxes `NonMaxSuppression` keeps,
rows such a `Loop` makes, is decided by the run: their outputs have a bound in their
shape, and a [size](architecture.md#data-dependent-dimensions). `Shape`
and `Size` of such a tensor compute with it; `Reshape`, `Expand`, `ConstantOfShape`,
`Range` (from a constant, by 1), `TopK` and the ends of a `Slice` take what was made of
it by additions, products, minima and the like, of which the largest value is known. What
has no rule for such a dimension, as a convolution along it, is refused. Equal scores in
`NonMaxSuppression` are taken in the order of the boxes, as by ONNX Runtime; a score that
is NaN is above no threshold and never taken, where ONNX Runtime, without a threshold, takes
it in an order that nobody defines.

`Resize` with `align_corners` and scales by which an extent is no integer, 4 by 0.8, divides by
3.2 - 1, as ONNX's reference does and its own tests expect. Its text, and so ONNX Runtime and
PyTorch, have the extent that the result has, 3 - 1: a model that wants that gives `sizes`.

Attributes and inputs have the types that ONNX's own schemas give them, in any of
the operator sets from 7 on (`compiler/Import/onnx/Schemas.inc`, which `write_schemas.py`
beside it makes of the `onnx` package).

Tensors of `INT4` and `UINT4` stay as they lie in the file, two numbers to a byte;
inputs and outputs of these types, and of `INT2` and `UINT2`, have a byte for each.
A Cast to them keeps the lowest bits, a QuantizeLinear limits. Those of `FLOAT8E4M3FN`,
`FLOAT8E4M3FNUZ`, `FLOAT8E5M2`, `FLOAT8E5M2FNUZ`, `FLOAT8E8M0` and `FLOAT4E2M1`, which
has a byte for each at inputs and outputs, are moved and converted, by Cast, CastLike,
QuantizeLinear and DequantizeLinear; what would compute with them is refused.

A tensor of strings is one of bytes, with a dimension behind its own: how many bytes a
string has at most, in UTF-8, filled up with NUL, as in NumPy's `S`. An input's strings have
64 bytes, or as many as `--string-length x=256` says; an output has as many as follow, a
dimension that its type in the artifact shows (`y.view("S64")[..., 0]` are its strings in
NumPy, and `graph-run` takes files of `S` and `U` as inputs). A NUL at a string's end is no
part of it. What the run decides of strings, as how many StringNormalizer leaves or
StringSplit makes, is a [size](architecture.md#data-dependent-dimensions).
Strings are compared (Equal), made (Constant, StringConcat, StringNormalizer, StringSplit),
read (RegexFullMatch, TfIdfVectorizer), numbered (LabelEncoder, CategoryMapper,
OneHotEncoder), labels of classifiers, and moved by what only moves elements: Compress,
Concat, DepthToSpace, Expand, Flatten, Gather, GatherElements, GatherND, Identity, If,
Reshape, ReverseSequence, Scatter, ScatterElements, ScatterND, Slice, SpaceToDepth, Split,
Squeeze, Tile, Transpose, Unsqueeze, Where, ArrayFeatureExtractor. Other ops refuse them,
as does a loop whose number of iterations is not known.

StringNormalizer leaves out strings that equal a stop word, as ONNX Runtime does (ONNX's
reference also cuts words out of strings, and accents off letters). It changes the case of a
letter by Unicode's simple mapping, whatever the locale, where the other case takes as many
bytes: some fifty letters, such as the Kelvin sign, stay as they are, and so do bytes that are
no UTF-8. RegexFullMatch compiles RE2's expressions, of 64 KiB at most, to an automaton of at
most 4,000 states; `(?m)`, `\\p{…}` and `\\C` are refused.

A sequence is known tensor by tensor, and an optional by whether it has something: what
is done with them is done at import. As an input, a sequence `x` has the length that
`--length x=3` gives it, and is the inputs `x.0`, `x.1` and `x.2`, whose shapes are those
that the model declares or `--shape` gives, to `x` for all or to `x.1` for one. An optional
input is there with `--length x=1`, or as many as an optional sequence has, and is not with
`--length x=absent`. As an output, a sequence `y` of so many tensors is the outputs `y.0`,
`y.1` and so on; an optional that has nothing is none.

Random numbers follow from a node's `seed` or, without one, from its name: they are
the same in each run, on each machine and in each iteration of a loop. They are other
numbers than NumPy's or ONNX Runtime's. So a Dropout drops whose `training_mode` is true
in inference; in a model that is [trained](training.md#dropout), what is dropped
is new in each step.

A `com.microsoft.GroupQueryAttention` whose `total_sequence_length` is no constant keeps
as many keys as its past has places: a program that runs on gives it a longer past.

ONNX's own tests of single nodes say how complete an op is:
`tests/conformance/refused.txt` lists those that are refused, and why.
"""

# What the definitions of MLIR are called here; all others go by their summary.
TYPES = {
    "BoolAttr": "boolean",
    "DenseI64ArrayAttr": "integers",
    "F64Attr": "number",
    "FlatSymbolRefAttr": "symbol",
    "I64Attr": "integer",
    "StrAttr": "string",
    "SymbolNameAttr": "symbol",
    "TypedAttrInterface": "constant",
    "UnitAttr": "flag",
}

OPTIONAL = {"Optional", "OptionalAttr", "DefaultValuedAttr"}


class Records:
    """The records of a .td file, as llvm-tblgen dumps them."""

    def __init__(self, tblgen, include, root, path):
        done = subprocess.run(
            [tblgen, "--dump-json", f"-I{root}", f"-I{include}", path],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(done.stderr)
        self.all = json.loads(done.stdout)

    def instances(self, name):
        return [self.all[key] for key in self.all["!instanceof"].get(name, [])]

    def get(self, reference):
        return self.all[reference["def"]]

    def is_a(self, record, name):
        return name in record["!superclasses"]


def dedent(text):
    """The text of a [{ … }], whose first line may stand beside its bracket."""
    first, _, rest = text.partition("\n")
    return (first.strip() + "\n" + textwrap.dedent(rest)).strip()


def type_name(records, record):
    """How a constraint on an operand, a result or an attribute is called."""
    for wrapped in ("baseType", "baseAttr", "enum", "constraint"):
        if record.get(wrapped):
            return type_name(records, records.get(record[wrapped]))
    if record["!name"] in TYPES:
        return TYPES[record["!name"]]
    if records.is_a(record, "EnumAttrInfo"):
        cases = record["enumerants"]
        return " ".join(f"`{records.get(case)['str']}`" for case in cases)
    summary = record.get("summary") or record["!name"]
    if "<" in summary:  # A type as MLIR writes it.
        return f"`{summary}`"
    return summary.removeprefix("statically shaped ")


def describe(records, arguments, wanted):
    """`a`, `b`: tensor; `c`?: tensor of booleans"""
    groups = []
    for reference, name in arguments:
        record = records.get(reference)
        if not wanted(record):
            continue
        mark = ""
        if set(record["!superclasses"]) & OPTIONAL:
            mark = "?"
        if records.is_a(record, "Variadic"):
            mark = "…"
        kind = type_name(records, record)
        if groups and groups[-1][1] == kind:
            groups[-1][0].append(f"`{name}`{mark}")
        else:
            groups.append(([f"`{name}`{mark}"], kind))
    return "; ".join(f"{', '.join(names)}: {kind}" for names, kind in groups)


def title_of(path):
    """What the first line of a file says that it is for."""
    return re.match(r"//===- \S+ - (.*?) *-+[*=]", path.open().readline())[1]


class Family:
    """The ops that a .td file defines, in its order."""

    def __init__(self, path):
        self.title = title_of(path)
        self.ops = []

    def table(self, records, prefix):
        yield "| op | operands | attributes | result |"
        yield "|---|---|---|---|"
        for op in self.ops:
            arguments = op["arguments"]["args"]
            cells = [
                f"[`{prefix}{op['opName']}`](#{prefix.replace('.', '')}{op['opName']})",
                describe(
                    records, arguments, lambda r: records.is_a(r, "TypeConstraint")
                ),
                describe(
                    records, arguments, lambda r: records.is_a(r, "AttrConstraint")
                ),
                describe(records, op["results"]["args"], lambda r: True),
            ]
            yield "| " + " | ".join(cells).replace("|  |", "| |") + " |"

    def details(self, prefix):
        for op in self.ops:
            yield f"#### {prefix}{op['opName']}\n\n{dedent(op['summary'])}.\n"
            yield dedent(op["description"]) + "\n"


def collect(records, folder):
    """The families of a dialect's ops, as the main file includes them."""
    families = {}
    ops = records.instances("Op")
    ops.sort(key=lambda op: location(op)[1])
    order = [
        folder.parents[1] / name
        for name in re.findall(r'^include "(.*)"', main_file(folder).read_text(), re.M)
    ] + [main_file(folder)]
    for path in order:
        own = [op for op in ops if location(op)[0] == path.name]
        if own:
            families[path] = Family(path)
            families[path].ops = own
    assert sum(len(f.ops) for f in families.values()) == len(ops)
    return families.values()


def location(record):
    """Where a def stands: the name of the file and the line."""
    path, line = record["!locs"][0].rsplit(":", 1)
    return pathlib.Path(path).name, int(line)


def main_file(folder):
    return folder / f"{folder.name.capitalize()}Ops.td"


def document(tblgen, include, root):
    yield HEADER
    for folder in sorted((root / "dialects").iterdir()):
        if not folder.is_dir() or not main_file(folder).exists():
            continue
        records = Records(tblgen, include, root, main_file(folder))
        for dialect in records.instances("Dialect"):
            if location(dialect)[0] not in {p.name for p in folder.glob("*.td")}:
                continue
            prefix = dialect["name"] + "."
            yield f"## The dialect `{dialect['name']}`\n\n{dialect['summary']}\n"
            yield dedent(dialect["description"]) + "\n"
            for family in collect(records, folder):
                yield f"### {family.title}\n"
                yield from family.table(records, prefix)
                yield ""
                yield from family.details(prefix)


def importer_entries(source, first_sets):
    """The ops in a table of importers, each with the operator set that it is imported
    from: the entry's own, or the first that has it."""
    _, _, table = source.partition("\nOpFamily ")
    entry = r'\{"([\w.]+)",[^{}]+(?:\{(\d+), \d+, -?\d+\})?'
    for name, since in re.findall(entry, table):
        yield name, since or first_sets[name]


def onnx_document(tblgen, include, root):
    yield ONNX_HEADER
    onnx = root / "compiler/Import/onnx"
    schemas = (onnx / "Schemas.inc").read_text()
    first_sets = dict(re.findall(r'^OP\("(\w+)", (\d+)', schemas, re.MULTILINE))
    records = Records(tblgen, include, root, main_file(root / "dialects/graph"))
    own = {
        "UNARY_ONNX": [
            (op["onnxName"], "1")
            for op in records.instances("Graph_Op")
            if op["onnxName"]
        ],
        "CUMULATIVE_ONNX": [
            (op["onnxNode"], op["onnxOpset"])
            for op in records.instances("Graph_CumulativeOp")
        ],
    }
    yield "| family | ops |\n|---|---|"
    folders = [onnx / name for name in ("ops", "strings")]
    for path in sorted(path for folder in folders for path in folder.rglob("*.cpp")):
        text = path.read_text()
        entries = list(importer_entries(text, first_sets))
        for macro, named in own.items():
            if f"#define {macro}" in text:
                entries = sorted(entries + named)
        ops = ", ".join(f"{name} ({since})" for name, since in entries)
        if ops:
            yield f"| {title_of(path)} | {ops} |"


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    tblgen, include, root = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    documents = {
        "ops.md": document(tblgen, include, root),
        "onnx-ops.md": onnx_document(tblgen, include, root),
    }
    for name, lines in documents.items():
        text = "\n".join(lines).rstrip() + "\n"
        path = root / "docs" / name
        if sys.argv[4:] != ["--check"]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path} is out of date: run ninja -C build ops-document")


if __name__ == "__main__":
    main()
