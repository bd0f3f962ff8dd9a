#!/usr/bin/env python3
"""Checks that no folder includes what it must not know.

    check_layers.py ROOT

Reads the #include lines of all C and C++ files and prints each that breaks a
rule of docs/architecture.md; exits with 1 if there is any.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
INCLUDE_LINE = re.compile(INCLUDE.pattern, re.MULTILINE)
LLVM = re.compile(r"^(llvm|llvm-c|mlir|mlir-c|lld|clang)/")
COMPILER = re.compile(r"^compiler/|^tinh/compiler")
DIALECTS = re.compile(r"^dialects/")
# But for a list of names, which needs nothing and is not installed.
DIALECTS_BUT_NAMES = re.compile(r"^dialects/(?!graph/(Elementwise|Reduction)Ops\.inc$)")
RUNTIME_SOURCES = re.compile(r"^runtime/src/")
PUBLIC = "compiler/include/"
# Headers of the runtime that need nothing else of it: the compiler may have them.
SHARED = "runtime/src/shared"

# The folders of the runtime, each of which includes none that comes later: so there
# is no cycle.
RUNTIME_ORDER = (
    "shared",
    "support",
    "threads",
    "files",
    "artifact",
    "trace",
    "collectives",
    "device",
    "program",
    "resources",
    "inspection",
    "run",
    "api",
)
# Likewise within libtinh_cuda.so.
CUDA_ORDER = ("cuda/driver", "cuda/libraries", "cuda/run")

# Headers of the runtime, but for those that libtinh_cuda.so may see.
RUNTIME_PRIVATE = (
    r"^(?!device/device_api\.h|support/(error|guarded)\.h|shared/futex\.h"
    r"|artifact/(step_buffers|steps)\.h|trace/trace_clock\.h)("
    + "|".join(RUNTIME_ORDER)
    + ")/"
)

# The folders of dialects/ and compiler/, and which of them each may include. A folder
# stands below all that it includes: so there is no cycle. What no file uses is no
# part of the list. The folders of compiler/Eager are one here: they include each other.
MAY_INCLUDE = {
    "dialects/graph": (),
    "dialects/cpu": ("dialects/graph",),
    "dialects/cuda": ("dialects/graph",),
    "dialects/origin": (),
    "dialects/plan": ("dialects/graph",),
    "compiler/Codegen/Kernel": ("dialects/graph", "dialects/origin"),
    "compiler/Distributed": (),
    "compiler/Planning": (),
    "compiler/Reference": ("dialects/graph",),
    "compiler/Support": ("runtime/src/shared",),
    "compiler/Artifact": ("compiler/Planning", "compiler/Support"),
    "compiler/Codegen/CPU": (
        "runtime/src/shared",
        "dialects/cpu",
        "dialects/graph",
        "dialects/origin",
        "compiler/Codegen/Kernel",
        "compiler/Support",
    ),
    "compiler/Codegen/CUDA": (
        "dialects/cuda",
        "dialects/graph",
        "dialects/origin",
        "compiler/Artifact",
        "compiler/Codegen/CPU",
        "compiler/Codegen/Kernel",
        "compiler/Support",
    ),
    "compiler/Codegen": (
        "dialects/cpu",
        "dialects/cuda",
        "dialects/graph",
        "dialects/plan",
        "compiler/Codegen/CPU",
        "compiler/Codegen/CUDA",
        "compiler/Codegen/Kernel",
        "compiler/Planning",
        "compiler/Support",
    ),
    "compiler/Graph": ("dialects/graph", "compiler/Reference", "compiler/Support"),
    "compiler/Gradients": ("dialects/graph", "compiler/Graph"),
    "compiler/Import": (
        "dialects/graph",
        "compiler/Gradients",
        "compiler/Graph",
        "compiler/Reference",
        "compiler/Support",
    ),
    "compiler/Export": (
        "dialects/graph",
        "compiler/Graph",
        "compiler/Import",
        "compiler/Support",
    ),
    "compiler/Transforms": (
        "dialects/graph",
        "compiler/Gradients",
        "compiler/Graph",
        "compiler/Planning",
        "compiler/Support",
    ),
    "compiler/Codegen/Linalg": (
        "dialects/graph",
        "dialects/origin",
        "compiler/Codegen",
        "compiler/Codegen/Kernel",
        "compiler/Transforms",
    ),
    "compiler/Pipelines": (
        "dialects/cpu",
        "dialects/graph",
        "dialects/origin",
        "dialects/plan",
        "compiler/Artifact",
        "compiler/Codegen",
        "compiler/Codegen/CPU",
        "compiler/Codegen/CUDA",
        "compiler/Codegen/Kernel",
        "compiler/Codegen/Linalg",
        "compiler/Gradients",
        "compiler/Graph",
        "compiler/Import",
        "compiler/Planning",
        "compiler/Support",
        "compiler/Transforms",
    ),
    "compiler/Calibration": (
        "dialects/graph",
        "compiler/Graph",
        "compiler/Pipelines",
        "compiler/Reference",
        "compiler/Support",
        "compiler/Transforms",
    ),
    "compiler/Eager": (
        "runtime/src/shared",
        "dialects/cpu",
        "dialects/graph",
        "dialects/plan",
        "compiler/Codegen/CPU",
        "compiler/Export",
        "compiler/Gradients",
        "compiler/Graph",
        "compiler/Pipelines",
        "compiler/Support",
        "compiler/Transforms",
    ),
    "compiler/Fit": ("compiler/Eager", "compiler/Support"),
    "compiler/Nn": ("compiler/Eager",),
    "compiler/Quantization": (
        "compiler/Calibration",
        "compiler/Graph",
        "compiler/Transforms",
    ),
    "compiler/Reduction": (
        "dialects/graph",
        "compiler/Export",
        "compiler/Graph",
        "compiler/Import",
        "compiler/Pipelines",
        "compiler/Transforms",
    ),
    "compiler/Bisection": (
        "dialects/graph",
        "compiler/Eager",
        "compiler/Export",
        "compiler/Graph",
        "compiler/Pipelines",
        "compiler/Reduction",
        "compiler/Reference",
        "compiler/Support",
        "compiler/Transforms",
    ),
    "compiler/Report": (
        "dialects/graph",
        "dialects/plan",
        "compiler/Import",
        "compiler/Pipelines",
        "compiler/Support",
    ),
    "compiler/Training": (
        "dialects/graph",
        "compiler/Eager",
        "compiler/Gradients",
        "compiler/Graph",
        "compiler/Import",
        "compiler/Nn",
        "compiler/Pipelines",
        "compiler/Support",
        "compiler/Transforms",
    ),
    "compiler/Pruning": (
        "dialects/graph",
        "compiler/Calibration",
        "compiler/Codegen/CPU",
        "compiler/Gradients",
        "compiler/Graph",
        "compiler/Pipelines",
        "compiler/Training",
        "compiler/Transforms",
    ),
    "compiler/Tuning": (
        "dialects/graph",
        "compiler/Codegen/CPU",
        "compiler/Codegen/Kernel",
        "compiler/Pipelines",
        "compiler/Support",
    ),
    "compiler/Driver": (
        "compiler/Codegen/CPU",
        "compiler/Graph",
        "compiler/Pipelines",
        "compiler/Training",
        "compiler/Tuning",
    ),
}


def later(order, index):
    """Headers of what comes after a folder."""
    return re.compile("^(" + "|".join(order[index + 1 :]) + ")/")


def rules_of_order(order):
    for index, folder in enumerate(order[:-1]):
        yield (
            rf"^runtime/src/{folder}/",
            later(order, index),
            f"{folder} comes before it in the order of the runtime's folders",
        )


# Tools that run artifacts, and what they share with the others.
RUNTIME_TOOLS = (
    r"^tools/(graph-run|graph-scale|command-line|common|data|npy|page|ranks|report"
    r"|scaling|schedule|terminal|training)/"
)

# Files (a pattern), what they must not include, and the rule in words.
RULES = [
    (r"^runtime/", LLVM, "the runtime knows nothing of LLVM"),
    (r"^runtime/", COMPILER, "the runtime knows nothing of the compiler"),
    (r"^runtime/", DIALECTS, "the runtime knows nothing of the dialects"),
    (
        r"^runtime/(src/(?!cuda/)|include/|mpi/)",
        re.compile(r"^cuda/"),
        "the runtime knows of devices what device_api.h says; what uses CUDA is"
        " libtinh_cuda.so",
    ),
    (
        r"^runtime/src/cuda/",
        re.compile(RUNTIME_PRIVATE),
        "libtinh_cuda.so shares with the runtime device_api.h and what knows"
        " artifacts alone",
    ),
    (
        r"^compiler/Planning/",
        LLVM,
        "planning works on plain data structures without IR",
    ),
    (
        r"^compiler/Eager/Engine/",
        LLVM,
        "the engine is plain code, tested under sanitizers without LLVM",
    ),
    (
        r"^compiler/Eager/Engine/",
        DIALECTS,
        "the engine is plain code, tested under sanitizers without LLVM",
    ),
    (
        r"^compiler/include/",
        re.compile(LLVM.pattern + "|^compiler/|" + DIALECTS.pattern),
        "public headers need nothing of the compiler's own, nor of LLVM",
    ),
    (
        r"^compiler/Eager/(Tensor|Engine)/",
        re.compile(LLVM.pattern + "|" + DIALECTS_BUT_NAMES.pattern),
        "tensors and the engine work without IR",
    ),
    (
        r"^compiler/Nn/",
        re.compile(LLVM.pattern + "|" + DIALECTS_BUT_NAMES.pattern),
        "layers, losses and optimizers are functions of tensors",
    ),
    (
        RUNTIME_TOOLS,
        LLVM,
        "graph-run and what the tools share link nothing of LLVM",
    ),
    (
        RUNTIME_TOOLS,
        COMPILER,
        "graph-run and what the tools share link nothing of the compiler",
    ),
    (
        r"^tools/(graph-run|graph-scale|page|ranks|report|scaling|schedule|training)/",
        RUNTIME_SOURCES,
        "graph-run and its reports use the runtime's public headers",
    ),
    (
        r"^python/",
        re.compile(
            LLVM.pattern + "|^compiler/|" + DIALECTS_BUT_NAMES.pattern + "|^runtime/"
        ),
        "Python binds the public headers and the tools",
    ),
    *rules_of_order(RUNTIME_ORDER),
    *rules_of_order(CUDA_ORDER),
]

# Thin mains: what a tool may have at most, in lines of all its sources.
TOOL_LINES = 900

FOLDERS = ("runtime", "dialects", "compiler", "tools", "python")
SUFFIXES = {".h", ".hpp", ".c", ".cpp"}


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path.relative_to(root).as_posix(), path.read_text()


def unordered_folder(name):
    """A folder of the runtime that no order has, so that no rule is about it."""
    match = re.match(r"runtime/src/((?:cuda/)?\w+)/", name)
    if match and match[1] not in (*RUNTIME_ORDER, "cuda", *CUDA_ORDER):
        yield f"{name}: {match[1]} has no place in the order of the runtime's folders"


def listed_folder(name):
    """Which folder of MAY_INCLUDE a file belongs to: the innermost."""
    folders = [f for f in MAY_INCLUDE if name.startswith(f + "/")]
    return max(folders, key=len, default=None)


def edge(name, header):
    """The folders of a file and of what it includes, where MAY_INCLUDE says
    something of both: (from, to), or nothing."""
    if not name.startswith(("compiler/", "dialects/")) or name.startswith(PUBLIC):
        return None
    if not header.startswith(("compiler/", "dialects/", "runtime/")):
        return None
    source = listed_folder(name)
    target = listed_folder(header) or header.rpartition("/")[0]
    return (source, target) if source != target else None


def broken_rules(name, text):
    yield from unordered_folder(name)
    rules = [r for r in RULES if re.match(r[0], name)]
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        for _, forbidden, why in rules:
            if forbidden.match(match[1]):
                yield f"{name}:{number}: includes {match[1]}, but {why}"
        folders = edge(name, match[1])
        if folders and folders[1] not in MAY_INCLUDE.get(folders[0], ()):
            yield (
                f"{name}:{number}: includes {match[1]}, but what"
                f" {folders[0] or 'this folder'} may include is listed in MAY_INCLUDE"
            )


def broken_list(used):
    """What is wrong with MAY_INCLUDE itself: a cycle, or what nothing needs."""
    above = set()
    for folder, allowed in MAY_INCLUDE.items():
        for other in allowed:
            if other not in above and other != SHARED:
                yield f"MAY_INCLUDE: {folder} does not stand below {other}"
            if (folder, other) not in used:
                yield f"MAY_INCLUDE: no file of {folder} includes {other}"
        above.add(folder)


def self_check():
    """The rules must be able to fail."""
    bad = [
        ("runtime/src/a.cpp", '#include "llvm/ADT/StringRef.h"'),
        ("runtime/src/run/run.h", '#include "cuda/run/device_run.h"'),
        ("runtime/src/cuda/run/a.h", '#include "program/program.h"'),
        ("runtime/src/cuda/driver/a.h", '#include "cuda/run/device_run.h"'),
        ("runtime/src/artifact/a.cpp", '#include "run/context.h"'),
        ("dialects/graph/A.h", '# include "compiler/Import/Import.h"'),
        ("compiler/Planning/A.h", "#include <mlir/IR/Operation.h>"),
        ("compiler/Export/A.cpp", '#include "compiler/Pipelines/Phases.h"'),
        ("compiler/Pipelines/A.cpp", '#include "compiler/Driver/CompileModel.h"'),
        ("compiler/Import/A.cpp", '#include "compiler/Driver/CompileModel.h"'),
        ("compiler/Gradients/A.cpp", '#include "compiler/Import/Import.h"'),
        ("compiler/Support/A.cpp", '#include "runtime/src/run/run.h"'),
        ("compiler/Codegen/CPU/A.cpp", '#include "compiler/Codegen/Codegen.h"'),
        ("compiler/New/A.cpp", '#include "compiler/Import/Import.h"'),
        ("tools/graph-run/a.cpp", '#include "compiler/Import/Import.h"'),
        ("tools/ranks/a.cpp", '#include "compiler/Import/Import.h"'),
        ("tools/scaling/a.cpp", '#include "llvm/ADT/StringRef.h"'),
        ("tools/command-line/a.cpp", '#include "compiler/Import/Import.h"'),
        ("tools/graph-scale/a.cpp", '#include "runtime/src/run/run.h"'),
        ("compiler/include/tinh/a.h", '#include "compiler/Eager/Backend.h"'),
        ("compiler/Eager/Tensor/A.cpp", '#include "mlir/IR/Value.h"'),
        ("python/src/a.cpp", '#include "compiler/Pipelines/Compile.h"'),
    ]
    good = [
        ("compiler/Import/A.cpp", '#include "llvm/ADT/StringRef.h"'),
        ("compiler/Codegen/A.cpp", '#include "compiler/Codegen/CPU/Target.h"'),
        ("compiler/Support/A.cpp", '#include "runtime/src/shared/futex.h"'),
        ("runtime/src/run/a.cpp", '#include "artifact/module.h"'),
        ("runtime/src/cuda/run/a.cpp", '#include "device/device_api.h"'),
    ]
    for name, text in bad:
        assert list(broken_rules(name, text)), f"{name} {text} is not noticed"
    for name, text in good:
        assert not list(broken_rules(name, text)), f"{name} {text} is refused"
    assert list(broken_list(set())), "a permission that nothing uses is not noticed"


def main():
    self_check()
    root = pathlib.Path(sys.argv[1])
    problems = []
    count = 0
    tool_lines = {}
    used = set()
    for name, text in sources(root):
        count += 1
        problems += broken_rules(name, text)
        used.update(edge(name, header) for header in INCLUDE_LINE.findall(text))
        if name.startswith("tools/"):
            tool = name.split("/")[1]
            tool_lines[tool] = tool_lines.get(tool, 0) + text.count("\n")
    problems += broken_list(used)
    for tool, lines in tool_lines.items():
        if lines > TOOL_LINES:
            problems.append(
                f"tools/{tool}: {lines} lines; a tool is a thin main over the"
                f" libraries, at most {TOOL_LINES}"
            )
    print("\n".join(problems) or f"{count} files keep to their layers")
    sys.exit(1 if problems or not count else 0)


if __name__ == "__main__":
    main()
