# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scatters give what they give on the CPU, bit by bit, whoever comes first.

usage: PYTHONPATH=tests/support python tests/cuda/scatter_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]
"""

import numpy as np

import cuda_models
import cuda_test

KINDS = ("assign", "add", "mul", "max", "min")


def scatter_of(op, x, indices, updates, dtype="f32", **attributes):
    """One scatter on inputs of these shapes, and an element-wise op before it."""
    b = cuda_models.Builder("scatter", 1)
    shapes = (("x", x, dtype), ("i", indices, "i64"), ("u", updates, dtype))
    names = [b.input(name, *shape, dtype=kind) for name, shape, kind in shapes]
    names[0] = b.add("add", names[0], names[0])
    return b.finish(b.add(op, *names, **attributes))


def into_zeros(rows, columns, count):
    """The gradient of an embedding."""
    b = cuda_models.Builder("embedding", 1)
    x = b.weight("zeros", rows, columns, value=0.0)
    i, u = b.input("i", count, dtype="i64"), b.input("u", count, columns)
    return b.finish(b.add("scatter", x, i, u, kind="add", axis=0))


class ScatterTest(cuda_test.CudaTest):
    def inputs_of(self, model, extent):
        """Files with random elements; indices, some negative, meet often."""
        random = np.random.default_rng(7)
        options = []
        for value in model["inputs"]:
            shape, dtype = value["shape"], value["dtype"]
            if value["name"] == "i":
                array = random.integers(-extent, extent, shape)
                array[random.random(shape) < 0.3] = extent // 2
            else:
                array = random.normal(0, 1 if dtype[0] == "f" else 9, shape)
                array = array.astype({"f": "float", "i": "int"}[dtype[0]] + dtype[1:])
            path = self.folder / f"{value['name']}.npy"
            np.save(path, array)
            options += ["--input", f"{value['name']}={path}"]
        return options

    def check(self, model, extent):
        cpu, cuda = self.compile_for(model, "cpu"), self.compile_for(model, "cuda")
        self.assertEqual(self.strategies(model) - {"threads"}, {"scatter"})
        inputs = self.inputs_of(model, extent)
        expected, _ = self.outputs_of(cpu, *inputs)
        for settings in cuda_test.SETTINGS:
            got, _ = self.outputs_of(cuda, *inputs, settings=settings)
            for name, values in expected.items():
                np.testing.assert_array_equal(got[name], values, settings)

    def check_each(self, *models):
        for op, x, indices, updates, options in models:
            with self.subTest(x=x, indices=indices, **options):
                model = scatter_of(op, x, indices, updates, **options)
                self.check(model, x[options.get("axis", 0)])

    def test_kinds(self):
        for kind in KINDS:
            for dtype in ("f32", "f16", "i32"):
                options = {"kind": kind, "axis": 0, "dtype": dtype}
                self.check_each(("scatter", (90, 20), (300,), (300, 20), options))

    def test_along_axes(self):
        add = {"kind": "add"}
        self.check_each(
            # Many columns, some without vectors; ranges with a tail.
            ("scatter", (1500, 24), (700,), (700, 24), add | {"axis": 0}),
            ("scatter", (7, 2050), (3, 2), (3, 2, 2050), add | {"axis": 0}),
            ("scatter", (6, 40, 36), (5,), (6, 5, 36), add | {"axis": 1}),
            ("scatter", (40, 1000), (600,), (40, 600), add | {"axis": 1}),
            ("scatter", (5000,), (3000,), (3000,), add | {"axis": 0}),
            ("scatter", (9, 5), (), (5,), add | {"axis": 0}),
            # Many positions at a time.
            ("scatter", (1100, 40), (17000,), (17000, 40), add | {"axis": 0}),
        )

    def test_elements(self):
        add = {"kind": "add"}
        many = ((64, 512, 3), (60, 500, 9))
        self.check_each(
            ("scatter_elements", (4, 2000), (3, 900), (3, 900), add | {"axis": 1}),
            ("scatter_elements", (300, 30), (500, 20), (500, 20), add | {"axis": 0}),
            ("scatter_elements", *many, many[1], add | {"axis": 2}),
        )

    def test_tuples(self):
        for x, count, width in (((30, 40, 8), 500, 2), ((20, 30), 900, 2)):
            updates = (count, *x[width:])
            for kind in ("assign", "add"):
                model = scatter_of("scatter_nd", x, (count, width), updates, kind=kind)
                with self.subTest(x=x, kind=kind):
                    self.check(model, min(x[:width]))

    def test_zeros(self):
        self.check(into_zeros(1000, 96, 600), 1000)

    def test_barriers(self):
        model = into_zeros(50, 40, 900)
        self.check_sites(model, self.inputs_of(model, 50))

    @cuda_test.needs_ptxas
    def test_registers(self):
        self.check_chips(into_zeros(30522, 768, 4096))
        self.check_chips(into_zeros(30522, 768, 65536))
        for dtype in ("f16", "i64"):
            options = {"dtype": dtype, "axis": 1, "kind": "max"}
            shapes = (64, 4000), (64, 500), (64, 500)
            self.check_chips(scatter_of("scatter_elements", *shapes, **options))


if __name__ == "__main__":
    cuda_test.main()
