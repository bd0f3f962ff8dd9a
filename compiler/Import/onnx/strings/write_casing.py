#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes Casing.inc beside it, of what Python knows of Unicode.

A letter's other case is one letter, which takes as many bytes in UTF-8: others,
about fifty, keep their case.
"""

import pathlib
import unicodedata

HEADER = """\
//===- Casing.inc - Letters that have another case ------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by write_casing.py, of Unicode {version}.
//
//   LOWER(first, last, step, distance)   each step-th letter from the first to
//   UPPER(first, last, step, distance)   the last, and how far its other case is
//   PAIR(first, last, step, distance)    the same where each has that lower case,
//                                        whose upper case it is
//
//===----------------------------------------------------------------------===//
"""


def mapped(letter, change):
    """The simple mapping: where the full one has several letters, that of titles."""
    for to in (change(letter), letter.title() if change is str.upper else ""):
        if len(to) == 1:
            return to
    return letter


def distances(change):
    """Of each letter that `change` changes, as long as its UTF-8 keeps its length."""
    found = {}
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        letter = chr(code)
        to = mapped(letter, change)
        if to != letter and len(to.encode()) == len(letter.encode()):
            found[code] = ord(to) - code
    return found


def ranges(found):
    """(first, last, step, distance) of letters one or two apart."""
    codes = sorted(found)
    i = 0
    while i < len(codes):
        first = codes[i]
        step = 1
        if i + 1 < len(codes) and codes[i + 1] - first == 2:
            step = 2
        while (
            i + 1 < len(codes)
            and codes[i + 1] - codes[i] == step
            and found[codes[i + 1]] == found[first]
        ):
            i += 1
        yield first, codes[i], step if codes[i] != first else 1, found[first]
        i += 1


def main():
    lines = [HEADER.format(version=unicodedata.unidata_version)]
    lower, upper = distances(str.lower), distances(str.upper)
    pairs = {code: d for code, d in lower.items() if upper.get(code + d) == -d}
    for code, distance in pairs.items():
        del lower[code], upper[code + distance]
    for name, found in (("PAIR", pairs), ("LOWER", lower), ("UPPER", upper)):
        for first, last, step, distance in ranges(found):
            lines.append(f"{name}({first:#x}, {last:#x}, {step}, {distance})\n")
    path = pathlib.Path(__file__).with_name("Casing.inc")
    path.write_text("".join(lines))


if __name__ == "__main__":
    main()
