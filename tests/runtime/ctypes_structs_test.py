# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The structs of benchmarks/tinh_runtime.py are those of the C header.

usage: PYTHONPATH=benchmarks python ctypes_structs_test.py CC INCLUDE_DIR

The C compiler decides: it gets a file that names each field in order, with its
offset and size, and refuses one that has another field, or one less or more.
"""

import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import tinh_runtime

CC = INCLUDE_DIR = None


def structs():
    """The classes that mirror a struct."""
    return [
        value
        for value in vars(tinh_runtime).values()
        if isinstance(value, type) and issubclass(value, ctypes.Structure)
    ]


def c_name(struct):
    """ModuleInfo is tinh_module_info_t."""
    return f"tinh_{re.sub('(?<!^)(?=[A-Z])', '_', struct.__name__).lower()}_t"


def assertions(struct):
    """C that compiles if the struct is what the header says."""
    name = c_name(struct)
    yield f'_Static_assert(sizeof({name}) == {ctypes.sizeof(struct)}, "size");'
    for field, *_ in struct._fields_:
        at = getattr(struct, field)
        yield (
            f"_Static_assert(offsetof({name}, {field}) == {at.offset} &&"
            f' sizeof((({name} *)0)->{field}) == {at.size}, "{field}");'
        )
    # A value for each field: with one too few or too many compilers warn, even of
    # one that lies in another's padding.
    values = ", ".join("0" for _ in struct._fields_)
    yield f"const {name} all_of_{name} = {{{values}}};"


def check(classes):
    """What the compiler has to say."""
    lines = ["#include <stddef.h>", '#include "tinh/runtime.h"']
    for struct in classes:
        lines += assertions(struct)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "structs.c"
        source.write_text("\n".join(lines) + "\n")
        options = ["-std=c11", "-Werror", "-Wmissing-field-initializers"]
        done = subprocess.run(
            [CC, *options, "-fsyntax-only", f"-I{INCLUDE_DIR}", source],
            capture_output=True,
            text=True,
        )
    return done.stderr


def changed(struct, fields):
    return type(struct.__name__, (ctypes.Structure,), {"_fields_": fields})


class StructsTest(unittest.TestCase):
    def test_structs(self):
        self.assertGreater(len(structs()), 0)
        self.assertEqual(check(structs()), "")

    def test_differences_are_found(self):
        """Each field left out, one more, and another name."""
        for struct in structs():
            fields = list(struct._fields_)
            name, kind = fields[-1]
            wrong = [fields[:i] + fields[i + 1 :] for i in range(len(fields))]
            wrong.append([*fields, ("more", ctypes.c_uint8)])
            wrong.append([*fields[:-1], (f"{name}s", kind)])
            for other in wrong:
                with self.subTest(struct=struct.__name__, fields=other):
                    self.assertIn("error: ", check([changed(struct, other)]))


if __name__ == "__main__":
    INCLUDE_DIR, CC = sys.argv.pop(), sys.argv.pop()
    unittest.main()
