#!/usr/bin/env python3
"""Compares docs/tensor-api.md with the headers.

    document_test.py ROOT

The table of operations names what the headers declare.
"""

import pathlib
import re
import sys

HEADERS = ("tensor.h", "operations.h", "random.h", "autograd.h", "tensor_types.h")
DECLARATION = re.compile(
    r"^(?:  )?(?:\[\[nodiscard\]\] )?"
    r"(?!\s|return\b|using\b|friend\b|constexpr\b|explicit\b)[\w:<>&, *]*?"
    r"\b(?:void|bool|int64_t|uint64_t|T|DType|Shape|IntArray|Device|Tensor &?|"
    r"std::\w+(?:<\w+>)?|ValuesAndIndices|DLManagedTensor \*)\s?"
    r"\b([a-z]\w*)\((?!\))",
    re.MULTILINE,
)
# Of the classes that tensors are described with, not operations on them.
HELPERS = {
    "name",
    "push_back",
    "seed",
    "counter",
    "numbers",
    "requireElements",
    "copyToHost",
    "shapeOf",
    "operator",
}


def declared(root):
    names = set()
    for header in HEADERS:
        text = (root / "compiler/include/tinh" / header).read_text()
        text = re.sub(r"//.*", "", text)
        # A return type on a line of its own.
        text = re.sub(
            r"^(\s*\S[\w:<>&* ]*)\n\s*(?=[a-z_0-9]+\()",
            r"\1 ",
            text,
            flags=re.MULTILINE,
        )
        names |= set(DECLARATION.findall(text))
    return names - HELPERS


def documented(document):
    table = document.split("## Operations")[1].split("\n## ")[0]
    return set(re.findall(r"`(\w+)`", table))


def problems(root):
    document = (root / "docs/tensor-api.md").read_text()
    known, told = declared(root), documented(document) | {"defined"}
    for name in sorted(known - told):
        yield f"{name} is in the headers, but not in the table"
    for name in sorted(told - known - {"defined"}):
        yield f"{name} is in the table, but not in the headers"
    if len(known) < 150:
        yield f"only {len(known)} names were found in the headers"


def main():
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "docs/tensor-api.md is in order")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
