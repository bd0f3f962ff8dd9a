#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs the build, builds a project against what was installed, runs it.

usage: install_test.py SOURCE_DIR BUILD_DIR CMAKE GENERATOR runtime|compiler
                       [-DOPTION=VALUE ...]

`runtime` is for builds of the runtime alone: there must be no tinh::compiler
then. The options are for the configuration of the consuming project.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:3])
CMAKE, GENERATOR, KIND = sys.argv[3:6]
OPTIONS = sys.argv[6:]


def run(*command, expected=0):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != expected:
        sys.exit(
            f"{' '.join(map(str, command))} exits with {done.returncode}:\n"
            f"{done.stdout}{done.stderr}"
        )
    return done.stdout + done.stderr


def configure(prefix, folder, with_compiler, expected=0):
    return run(
        CMAKE,
        "-S",
        SOURCE / "tests/install/consumer",
        "-B",
        folder,
        "-G",
        GENERATOR,
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DEXAMPLES={SOURCE / 'examples'}",
        f"-DWITH_COMPILER={with_compiler}",
        *OPTIONS,
        expected=expected,
    )


def c_compiler():
    """The compiler of C, and its flags, among the options."""
    given = dict(o.removeprefix("-D").split("=", 1) for o in OPTIONS)
    return [given["CMAKE_C_COMPILER"], *given.get("CMAKE_C_FLAGS", "").split()]


def check_paths(prefix):
    """What is installed must not need the build's folder."""
    for path in [*prefix.glob("bin/*"), *prefix.glob("lib*/**/*.so")]:
        for line in run("readelf", "-d", path).splitlines():
            if "PATH" in line and str(BUILD) in line:
                sys.exit(f"{path} refers to the build: {line.strip()}")


def check_runtime(folder):
    """The examples are run on the model that the runtime's tests make by hand."""
    text = run(folder / "classify", BUILD / "tests/runtime/toy.so")
    assert "1. class 1023, score 1023" in text, text
    image = folder / "image.f32"
    image.write_bytes(bytes(4 * 1024))  # All zeros: y[i] = i.
    text = run(folder / "classify_stream", BUILD / "tests/runtime/toy.so", image)
    assert text == f"{image}: class 1023, score 1023\n", text
    assert run(folder / "classify_static", BUILD / "tests/runtime/toy.so", image) == text
    needed = run("readelf", "-d", folder / "classify_static")
    assert "libtinh" not in needed, needed


def check_library_for_gpus(prefix):
    """It lies beside the runtime's, by the name that this looks for."""
    (runtime,) = prefix.glob("lib*/**/libtinh_runtime.so.0")
    assert runtime.with_name("libtinh_cuda.so.0").exists(), runtime.parent


def check_documents(prefix):
    """Each tool has a manual page and completions, but for graph-opt."""
    share = prefix / "share"
    names = sorted(path.name for path in prefix.glob("bin/graph-*"))
    names = [name for name in names if name != "graph-opt"]
    for folder, form in (
        ("man/man1", "{}.1"),
        ("bash-completion/completions", "{}"),
        ("zsh/site-functions", "_{}"),
        ("fish/vendor_completions.d", "{}.fish"),
    ):
        found = {path.name: path.read_text() for path in (share / folder).iterdir()}
        assert sorted(found) == sorted(map(form.format, names)), found
        assert all(text.count("completion") for text in found.values()), found


def check_pkg_config(prefix, folder, compilers):
    """A program in C, by the flags that pkg-config knows."""
    (found,) = prefix.glob("lib*/**/pkgconfig")
    os.environ["PKG_CONFIG_PATH"] = str(found)
    flags = run("pkg-config", "--cflags", "--libs", "tinh-runtime").split()
    program = folder / "by_pkg_config"
    run(*compilers, SOURCE / "examples/c/classify.c", "-o", program, *flags)
    os.environ["LD_LIBRARY_PATH"] = str(found.parent)
    text = run(program, BUILD / "tests/runtime/toy.so")
    assert "1. class 1023, score 1023" in text, text
    if KIND == "compiler":
        assert "-ltinh_compiler" in run("pkg-config", "--libs", "tinh-compiler")


def check_compiler(prefix, folder):
    """The rows are (0, 1), (2, 3) …: a sum s above 1 gives 2 - s."""
    model, artifact = SOURCE / "examples/json/xor.json", folder / "xor.so"
    text = run(folder / "compile_and_run", model, artifact)
    assert text.split() == ["1", "-3", "-7", "-11"], text
    text = run(
        folder / "compile_and_run", folder / "missing.onnx", artifact, expected=1
    )
    assert "missing.onnx: error: cannot read the file" in text, text
    run(prefix / "bin/graph-compile", model, "-o", artifact)
    assert "xor" in run(prefix / "bin/graph-run", artifact, "--list")
    assert "1 + 1 = 10\n" in run(folder / "half_adder")


def main():
    with tempfile.TemporaryDirectory() as temporary:
        prefix = pathlib.Path(temporary) / "prefix"
        folder = pathlib.Path(temporary) / "consumer"
        run(CMAKE, "--install", BUILD, "--prefix", prefix)
        check_paths(prefix)
        check_documents(prefix)
        check_library_for_gpus(prefix)
        if KIND == "runtime":
            text = configure(prefix, folder / "refused", "ON", expected=1)
            said = " ".join(text.split())  # CMake wraps it.
            assert "has no component compiler. The runtime was" in said, text
        configure(prefix, folder, "ON" if KIND == "compiler" else "OFF")
        run(CMAKE, "--build", folder)
        check_runtime(folder)
        check_pkg_config(prefix, folder, c_compiler())
        if KIND == "compiler":
            check_compiler(prefix, folder)


if __name__ == "__main__":
    main()
