#!/usr/bin/env python3
"""Checks that the documents and the comments name only files that exist.

    check_documents.py ROOT

Looks at README.md and docs/*.md: every relative link, and every path in
backticks that starts with one of the project's folders, must be in the tree.
So must every source that a comment of a C or C++ source names, by its name at
least.
"""

import pathlib
import re
import sys

CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
PATH = re.compile(
    r"`((?:benchmarks|cmake|compiler|dialects|docs|examples|python|runtime|tests|tools)"
    r"/[\w./*-]*)`"
)

FOLDERS = (
    "benchmarks",
    "compiler",
    "dialects",
    "examples",
    "python",
    "runtime",
    "tests",
    "tools",
)
SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".td"}
COMMENT = re.compile(r"//.*")
SOURCE = re.compile(r"\b([\w-]+\.(?:hpp|h|cpp|cu|c|td|md|py))\b")
# Of other projects.
FOREIGN = {"arrayprint.py", "cublasLt.h", "record_writer.h"}


def missing(root, document):
    text = document.read_text()
    for link in LINK.findall(CODE.sub("", text)):
        if "://" not in link and not (document.parent / link).exists():
            yield f"{document}: the link to {link} leads nowhere"
    for path in PATH.findall(text):
        found = list(root.glob(path)) if "*" in path else (root / path).exists()
        if not found:
            yield f"{document}: there is no {path}"


def files(root):
    """All files of the folders, with those beside them."""
    yield from (path for path in root.iterdir() if path.is_file())
    for folder in (*FOLDERS, "cmake", "docs"):
        yield from (path for path in (root / folder).rglob("*") if path.is_file())


def missing_in_comments(root):
    paths = sorted(files(root))
    names = {path.name for path in paths} | FOREIGN
    for path in paths:
        if path.suffix not in SUFFIXES:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for comment in COMMENT.findall(line):
                for name in SOURCE.findall(comment):
                    if name not in names:
                        yield f"{path}:{number}: there is no {name}"


def main():
    root = pathlib.Path(sys.argv[1])
    documents = [root / "README.md", *sorted(root.glob("docs/**/*.md"))]
    problems = [p for d in documents for p in missing(root, d)]
    problems += missing_in_comments(root)
    print("\n".join(problems) or f"{len(documents)} documents are in order")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
