# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a library of the runtime's needs, exports and weighs.

usage: library_test.py LIBRARY HEADER...

It may depend on the C and C++ standard libraries alone, exports exactly what
the headers declare, and stays small. Without headers it is the library for
GPUs, which exports its table.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

STANDARD = re.compile(r"lib(c|m|dl|pthread|stdc\+\+|gcc_s)\.so\.\d+")
# By g++, for microcomputers, and by Clang, whose code is larger.
MAX_SIZE = {"libtinh_runtime": (260_000, 310_000), "libtinh_cuda": (190_000, 190_000)}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    library, *headers = sys.argv[1:]
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library))
    assert needed and all(STANDARD.fullmatch(name) for name in needed), needed

    # Without the comments, which speak of functions too.
    texts = (pathlib.Path(header).read_text() for header in headers)
    code = re.sub(r"/\*.*?\*/", "", "".join(texts), flags=re.S)
    declared = set(re.findall(r"TINH_API[^;(]*?\b(tinh_\w+)\(", code))
    if not headers:
        declared = {"tinh_device_api"}
    symbols = run("nm", "-D", "--defined-only", library).split("\n")
    exported = {line.split()[2] for line in symbols if " T " in line}
    assert declared == exported, declared ^ exported

    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / "stripped.so"
        run("strip", "-o", str(stripped), library)
        size = stripped.stat().st_size
    limits = MAX_SIZE[pathlib.Path(library).name.split(".")[0]]
    limit = limits["clang" in run("readelf", "-p", ".comment", library)]
    assert size < limit, (size, limit)
    print(f"{size} bytes, needs {', '.join(needed)}, {len(exported)} functions")


if __name__ == "__main__":
    main()
