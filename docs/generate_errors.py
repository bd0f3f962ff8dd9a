#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/errors.md: what error messages mean, and what to do.

    generate_errors.py ROOT [--check]

docs/errors.toml has, for each message, a pattern of its text and what to do. The
message that the document shows is one that a test expects of a wrong input: the
longest match of the pattern in the literals of the group's tests. A pattern that
no test expects any more is an error. With --check nothing is written, and the exit
status is 1 if the document is not what would have been.
"""

import ast
import pathlib
import re
import sys
import tomllib

HEADER = """\
# Error messages

Generated from `docs/errors.toml` and from what the tests expect of wrong input, by
`docs/generate_errors.py`: after a change there, run `ninja -C build errors-document`.

A message names the file and the node, tensor or option that is wrong, what was expected
and what was found. Each below is one that a test provokes; names, numbers and types are
those of the test, so that a search for the words between them finds it. Importers go on
after an error and say up to twenty, in the order of the file; what reads a wrong tensor is
left out. The exit code is 1 for wrong input, 2 for a wrong command line and 3 for a
defect of ours, [an internal error](architecture.md#errors).
"""

# A literal of C++ behind its prefix, or a comment or a character, which may hold
# quotes.
CPP_TOKEN = re.compile(
    r"""R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"
      | "(?P<text>(?:[^"\\\n]|\\.)*)"
      | //[^\n]* | /\*.*?\*/ | '(?:[^'\\]|\\.)'
      | (?P<other>[^\s"'/]+|.)""",
    re.VERBOSE | re.DOTALL,
)


def cpp_literals(text):
    """The strings of a C++ source; those that stand side by side are one."""
    literals, joined = [], ""
    for token in CPP_TOKEN.finditer(text):
        if token["text"] is not None:
            joined += re.sub(r"\\(.)", r"\1", token["text"].replace("\\n", "\n"))
        elif token["raw"] is not None:
            joined += token["raw"]
        elif token["other"] and token["other"].strip() and joined:
            literals.append(joined)
            joined = ""
    return literals


def python_literals(text):
    """The strings of a Python source; what an f-string computes is …."""
    literals = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            parts = [
                part.value if isinstance(part, ast.Constant) else "…"
                for part in node.values
            ]
            literals.append("".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            literals.append(node.value)
    return literals


def mlir_literals(text):
    """What an IR test expects: expected-error {{…}} and CHECK lines."""
    return re.findall(r"expected-error.*?\{\{(.*?)\}\}", text) + re.findall(
        r"// [A-Z-]+: (.*)", text
    )


LITERALS = {
    ".cpp": cpp_literals,
    ".py": python_literals,
    ".mlir": mlir_literals,
    ".md": str.splitlines,
}


def messages_of(root, names):
    """Each line that a test expects, with the test's path."""
    found = []
    for name in names:
        paths = sorted(root.glob(name))
        if not paths:
            sys.exit(f"docs/errors.toml: there is no test {name}")
        for path in paths:
            literals = LITERALS[path.suffix](path.read_text())
            lines = {line for literal in literals for line in literal.splitlines()}
            found += [(line, path.relative_to(root)) for line in sorted(lines)]
    return found


def shown(line, match):
    """The message from where the pattern begins, without FileCheck's patterns."""
    return re.sub(r"\{\{.*?\}\}|\{\}|\[0-9\]\+|\.\*", "…", line[match.start() :]).strip()


def example(pattern, messages):
    """The longest message that the pattern matches, and its test."""
    matches = [
        (shown(line, match), path)
        for line, path in messages
        if (match := re.search(pattern, line))
    ]
    return max(matches, key=lambda found: (len(found[0]), found[0]), default=None)


def write_group(group, root, missing):
    lines = [f"## {group['title']}", "", group["about"].strip(), ""]
    messages = messages_of(root, group["tests"])
    for error in group["error"]:
        found = example(error["message"], messages)
        if not found:
            missing.append(f"{group['title']}: no test expects {error['message']!r}")
            continue
        message, test = found
        lines += [f"**`{message}`**", "", error["do"].strip(), ""]
        lines += [f"<sub>[{test}](../{test})</sub>", ""]
    return lines


def main():
    root = pathlib.Path(sys.argv[1])
    groups = tomllib.loads((root / "docs/errors.toml").read_text())["group"]
    missing, lines = [], [HEADER]
    for group in groups:
        lines += write_group(group, root, missing)
    if missing:
        sys.exit("\n".join(missing))
    text = "\n".join(lines).rstrip("\n") + "\n"
    document = root / "docs/errors.md"
    if "--check" not in sys.argv:
        document.write_text(text)
    elif not document.exists() or document.read_text() != text:
        sys.exit("docs/errors.md is not up to date: ninja -C build errors-document")


if __name__ == "__main__":
    main()
