# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in object files, linked into programs by a C compiler (CC)."""

import os
import pathlib
import subprocess

import tool_test
from tool_test import ToolTest

INCLUDE = pathlib.Path(__file__).parents[2] / "runtime/include"

# Runs a model that is part of the program, or one in a library, and prints the
# bits of its output.
PROGRAM = r"""
#include "tinh/runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TINH_MODEL(first);
TINH_MODEL(second_one);

static void check(tinh_status_t status) {
  if (status == TINH_OK)
    return;
  fprintf(stderr, "error: %s\n", tinh_last_error());
  exit(1);
}

int main(int argc, char **argv) {
  const char *weights = argc > 2 ? argv[2] : NULL;
  tinh_module_t *module;
  tinh_context_t *context;
  tinh_tensor_info_t in, out;
  if (!strcmp(argv[1], "first"))
    check(tinh_module_load_linked(&tinh_model_first, weights, &module));
  else if (!strcmp(argv[1], "second"))
    check(tinh_module_load_linked(&tinh_model_second_one, weights, &module));
  else
    check(tinh_module_load(argv[1], &module));
  check(tinh_module_verify_weights(module));
  check(tinh_context_create(module, NULL, &context));
  check(tinh_module_input_info(module, 0, 0, &in));
  check(tinh_module_output_info(module, 0, 0, &out));
  float *x = malloc(in.size), *y = malloc(out.size);
  for (size_t i = 0; i < in.size / 4; ++i)
    x[i] = i % 7 - 2.5f;
  tinh_buffer_t input = {x, in.size}, output = {y, out.size};
  check(tinh_context_run(context, 0, &input, 1, &output, 1));
  for (size_t i = 0; i < out.size / 4; ++i)
    printf("%a\n", y[i]);
  tinh_context_release(context);
  tinh_module_release(module);
  return 0;
}
"""


class Link(ToolTest):
    def setUp(self):
        super().setUp()
        (self.folder / "main.c").write_text(PROGRAM)
        # Models of other sizes and weights, whose kernels have the same names.
        self.models = {
            "first": self.write_model("first.json", width=48),
            "second-one": self.write_model("second-one.json", width=31, layers=3),
        }

    def compile_objects(self, *options):
        for name, model in self.models.items():
            self.compile(model, f"{name}.o", "--emit=obj", *options)

    def link(self, *options, output="program"):
        library = tool_test.TOOLS.parent / "lib"
        subprocess.run(
            [os.environ.get("CC", "cc"), "main.c", "first.o", "second-one.o"]
            + [f"-I{INCLUDE}", f"-L{library}", f"-Wl,-rpath,{library}"]
            + ["-ltinh_runtime", *options, "-o", output],
            cwd=self.folder,
            check=True,
        )

    def run_program(self, *arguments):
        return subprocess.run(
            ["./program", *map(str, arguments)],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )

    def expect(self, name, *arguments):
        """The linked model gives the bits that the library gives."""
        done = self.run_program(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        library = self.folder / f"{name}.so"
        self.compile(self.models[name], library)
        self.assertEqual(done.stdout, self.run_program(library).stdout)
        self.assertGreater(len(set(done.stdout.split("\n"))), 20)

    def test_two_models_in_one_program(self):
        self.compile_objects()
        for options in ([], ["-no-pie"], ["-Wl,--gc-sections"]):
            with self.subTest(options):
                self.link(*options)
                self.expect("first", "first")
                self.expect("second-one", "second")

    def test_external_weights(self):
        self.compile_objects("--weights=external")
        self.link()
        weights = self.folder / "first.safetensors"
        self.expect("first", "first", weights)
        missing = self.run_program("first")
        self.assertEqual(missing.returncode, 1)
        self.assertEqual(
            missing.stderr,
            "error: cannot load the model 'first' in the program: its weights are "
            "external; give the path of 'first.safetensors'\n",
        )
        other = self.run_program("first", self.folder / "second-one.safetensors")
        self.assertEqual(other.returncode, 1)
        self.assertIn("does not belong to it: the digests differ", other.stderr)

    def test_the_name_can_be_chosen(self):
        model = self.models["first"]
        self.compile(model, "first.o", "--emit=obj")
        self.compile(model, "second-one.o", "--emit=obj", "--name=second one")
        self.link()
        self.assertEqual(
            self.run_program("first").stdout, self.run_program("second").stdout
        )

    def test_same_bytes(self):
        model = self.models["first"]
        for name in ("a.o", "b.o"):
            self.compile(model, name, "--emit=obj", "--no-cache")
        self.assertEqual(
            (self.folder / "a.o").read_bytes(), (self.folder / "b.o").read_bytes()
        )


if __name__ == "__main__":
    tool_test.main()
