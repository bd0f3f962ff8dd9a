"""Calls of compiled models: arrays in, arrays out."""

import array
import gc
import sys
import tracemalloc
import unittest

import numpy as np
import tinh

from models import OnlyDlpack, expected_two_layer, graph, resident, two_layer

DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
NAMES = ["f64", "f32", "f16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"]


class CallsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model, cls.memory = two_layer()
        cls.f = tinh.compile(model, memory=cls.memory)
        cls.x = np.random.default_rng(1).standard_normal((4, 8)).astype("f4")
        cls.y = expected_two_layer(cls.x, cls.memory)
        nodes = [
            ("sub", ["a", "b"], "difference", {}),
            ("mul", ["a", "b"], "product", {}),
        ]
        inputs = {"a": ("f32", [2]), "b": ("f32", [2])}
        cls.two = tinh.compile(graph(inputs, nodes, ["difference", "product"]))

    def assert_right(self, found):
        np.testing.assert_allclose(found, self.y, rtol=1e-5, atol=1e-5)

    def refuses(self, error, text, *args, f=None, **kwargs):
        with self.assertRaisesRegex(error, text):
            (f or self.f)(*args, **kwargs)

    def test_by_position_and_by_name(self):
        a, b = np.array([5, 6], "f4"), np.array([1, 2], "f4")
        for results in (self.two(a, b), self.two(b=b, a=a), self.two(a, b=b)):
            self.assertIsInstance(results, tuple)
            self.assertEqual([r.tolist() for r in results], [[4, 4], [5, 12]])
        self.assertEqual(self.two.main(a, b)[0].tolist(), [4, 4])
        self.assertEqual(
            repr(self.two.main),
            "main(a: f32[2], b: f32[2]) -> (difference: f32[2], product: f32[2])",
        )

    def test_results_are_written_where_they_are_wanted(self):
        out = np.zeros((4, 3), "f4")
        self.assertIs(self.f(self.x, out=out), out)
        self.assert_right(out)
        part = np.zeros((2, 4, 3), "f4")
        self.f(self.x, out=part[1])
        self.assert_right(part[1])
        self.assertFalse(part[0].any())
        a, out = np.array([5, 6], "f4"), np.zeros(2, "f4")
        results = self.two(a, a, out=(None, out))
        self.assertIs(results[1], out)
        self.assertEqual(out.tolist(), [25, 36])
        self.assertEqual(results[0].tolist(), [0, 0])
        self.assert_right(self.f(self.x, out=None))
        self.assert_right(self.f(self.x, out=[None]))

    def test_results_are_what_the_run_has_used(self):
        inputs = {"x": ("f32", [5]), "n": ("i64", [])}
        nodes = [
            ("set_dimension_size", ["x", "n"], "part", {"dimension": 0}),
            ("neg", ["part"], "minus", {}),
        ]
        one = tinh.compile(graph(inputs, nodes, ["minus"]))
        two = tinh.compile(graph(inputs, nodes, ["minus", "part"]))
        x = np.arange(5, dtype="f4")
        for n in (0, 3, 5):
            self.assertEqual(one(x, np.array(n)).tolist(), (-x[:n]).tolist())
            found = [y.tolist() for y in two(x, np.array(n))]
            self.assertEqual(found, [(-x[:n]).tolist(), x[:n].tolist()])

    def test_wrong_outputs(self):
        x = self.x
        self.refuses(ValueError, 'argument "y" of "main": expected shape', x, out=x)
        wrong = np.zeros((4, 3), "f8")
        self.refuses(TypeError, "expected an array of float32", x, out=wrong)
        wrong = np.zeros((3, 4), "f4").T
        self.refuses(ValueError, "not dense and row-major", x, out=wrong)
        wrong = np.zeros((4, 3), "f4")
        wrong.flags.writeable = False
        self.refuses(ValueError, "read-only", x, out=wrong)
        a = np.zeros(2, "f4")
        two = {"f": self.two}
        self.refuses(ValueError, "expected 2 arrays", a, a, out=(a,), **two)
        text = "out: expected a tuple of 2 arrays or None, found ndarray"
        self.refuses(TypeError, text, a, a, out=a, **two)
        self.refuses(TypeError, 'argument "y" of "main": .* found int', x, out=3)

    def test_wrong_inputs(self):
        x = self.x
        self.refuses(TypeError, 'argument "x" of "main" is missing')
        self.refuses(TypeError, "too many arguments, 2", x, x)
        self.refuses(TypeError, 'no argument of "main" is called "z"', z=x)
        self.refuses(TypeError, "given twice", x, x=x)
        self.refuses(
            TypeError,
            'argument "x" of "main": expected an array of float32, found float64',
            x.astype("f8"),
        )
        self.refuses(TypeError, "found >f4", x.astype(">f4"))
        self.refuses(ValueError, r"expected shape \[4, 8\], found \[3, 8\]", x[:3])
        self.refuses(ValueError, r"found \[1, 4, 8\]", x[None])
        self.refuses(TypeError, "found list", x.tolist())
        self.refuses(TypeError, "found NoneType", None)
        with self.assertRaisesRegex(AttributeError, "its functions are main"):
            self.f.nothing

    def test_arrays_that_do_not_lie_as_wanted(self):
        x = self.x
        self.assert_right(self.f(np.asfortranarray(x)))
        self.assert_right(self.f(np.repeat(x, 2, axis=1)[:, ::2]))
        self.assert_right(self.f(x[::-1][::-1]))
        raw = np.zeros(x.nbytes + 1, "u1")
        raw[1:] = x.view("u1").reshape(-1)
        self.assert_right(self.f(raw[1:].view("f4").reshape(4, 8)))
        x = x.copy()
        x.flags.writeable = False
        self.assert_right(self.f(x))

    def test_arrays_of_others(self):
        a, b = array.array("f", [5, 6]), memoryview(array.array("f", [1, 2]))
        self.assertEqual(self.two(a, b)[0].tolist(), [4, 4])
        self.assert_right(self.f(OnlyDlpack(self.x)))
        self.assert_right(self.f(OnlyDlpack(np.asfortranarray(self.x))))
        self.refuses(TypeError, "float32", OnlyDlpack(self.x.astype("f8")))
        out = np.zeros((4, 3), "f4")
        self.f(self.x, out=OnlyDlpack(out))
        self.assert_right(out)

    def test_dense_arrays_are_not_copied(self):
        model = graph({"x": ("f32", [1 << 20])}, [("neg", ["x"], "y", {})], ["y"])
        f, x = tinh.compile(model), np.ones(1 << 20, "f4")
        out, spread = np.empty_like(x), np.ones(2 << 20, "f4")[::2]

        def allocated(*args, **kwargs):
            tracemalloc.start()
            f(*args, **kwargs)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return peak

        self.assertLess(allocated(x, out=out), 1 << 16)
        self.assertLess(allocated(OnlyDlpack(x), out=OnlyDlpack(out)), 1 << 16)
        self.assertGreaterEqual(allocated(x), x.nbytes)  # NumPy's are seen.
        self.assertGreaterEqual(allocated(spread, out=out), x.nbytes)

    def test_names_that_are_not_ascii(self):
        nodes = [("add", ["é", "é"], "ü", {})]
        f = tinh.compile(graph({"é": ("f32", [2])}, nodes, ["ü"]))
        self.assertEqual(f(**{"é": np.ones(2, "f4")}).tolist(), [2, 2])
        self.refuses(TypeError, 'is called "è"; it is main\\(é', f=f, è=1)

    def test_all_dtypes(self):
        for dtype, name in zip(DTYPES, NAMES + ["bool"]):
            nodes = [("transpose", ["x"], "y", {"permutation": [1, 0]})]
            f = tinh.compile(graph({"x": (name, [2, 3])}, nodes, ["y"]))
            x = np.arange(6).reshape(2, 3).astype(dtype)
            y = f(x)
            self.assertEqual(y.dtype, x.dtype)
            self.assertEqual(y.tolist(), x.T.tolist())

    def test_numbers_and_nothing(self):
        f = tinh.compile(graph({"x": ("f32", [])}, [("add", "xx", "y", {})], ["y"]))
        self.assertEqual(f(np.array(2, "f4")).shape, ())
        self.assertEqual(float(f(np.float32(2))), 4)
        f = tinh.compile(graph({"x": ("f32", [0, 2])}, [("add", "xx", "y", {})], ["y"]))
        self.assertEqual(f(np.zeros((0, 2), "f4")).shape, (0, 2))

    def test_nothing_is_kept(self):
        x, out, wrong = self.x, np.zeros((4, 3), "f4"), self.x[:3]
        objects = [x, out, wrong, None, ValueError, np.float32]

        def work(times):
            for _ in range(times):
                self.f(x)
                self.f(x=x, out=out)
                self.f(x[:, ::-1])
                self.f.submit(x).result()
                self.f.submit(x, out=out)
                try:
                    self.f(wrong)
                except ValueError:
                    pass
            self.f.wait()
            self.f.submit(x).result()  # What nobody waited for is let go.
            gc.collect()
            return [sys.getrefcount(o) for o in objects], resident()

        before, memory_before = work(1000)
        after, memory_after = work(10_000)
        for old, new in zip(before, after):
            self.assertLess(abs(new - old), 100)
        self.assertLess(memory_after - memory_before, 1 << 20)


if __name__ == "__main__":
    unittest.main()
