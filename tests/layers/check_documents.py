#!/usr/bin/env python3
"""Checks that the documents name only files that exist.

    check_documents.py ROOT

Looks at README.md and docs/*.md: every relative link, and every path in
backticks that starts with one of the project's folders, must be in the tree.
"""

import pathlib
import re
import sys

CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
PATH = re.compile(
    r"`((?:benchmarks|cmake|compiler|dialects|docs|examples|runtime|tests|tools)"
    r"/[\w./*-]*)`"
)


def missing(root, document):
    text = document.read_text()
    for link in LINK.findall(CODE.sub("", text)):
        if "://" not in link and not (document.parent / link).exists():
            yield f"{document}: the link to {link} leads nowhere"
    for path in PATH.findall(text):
        found = list(root.glob(path)) if "*" in path else (root / path).exists()
        if not found:
            yield f"{document}: there is no {path}"


def main():
    root = pathlib.Path(sys.argv[1])
    documents = [root / "README.md", *sorted(root.glob("docs/**/*.md"))]
    problems = [p for d in documents for p in missing(root, d)]
    print("\n".join(problems) or f"{len(documents)} documents are in order")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
