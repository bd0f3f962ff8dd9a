#!/usr/bin/env python3
"""Compares a document with the example that it shows.

    tour_test.py DOCUMENT SOURCE PROGRAM

The code of the document, block by block, is in SOURCE, and PROGRAM, which is made
of that, prints what the document says it does.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap


def problems(document, source, program):
    for block in re.findall(r"```cpp\n(.*?)```", document, re.DOTALL):
        indents = (textwrap.indent(block, " " * n) for n in (0, 2, 4))
        if not any(text in source for text in indents):
            yield f"the example does not have this code:\n{block}"
    shown = "".join(re.findall(r"```text\n(.*?)```", document, re.DOTALL))
    with tempfile.TemporaryDirectory() as folder:  # For files that it writes.
        printed = subprocess.run(
            [pathlib.Path(program).resolve()],
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
        )
    if printed.stdout != shown:
        yield f"the example prints\n{printed.stdout}and not\n{shown}"


def main():
    document, source = (pathlib.Path(path).read_text() for path in sys.argv[1:3])
    found = list(problems(document, source, sys.argv[3]))
    print("\n".join(found) or f"{sys.argv[1]} is in order")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
