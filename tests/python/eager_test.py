"""Tensors: elements in and out, operators, errors, threads."""

import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import tinh

import random_programs

try:
    import torch
except ImportError:
    torch = None


def line() -> int:
    """Of the caller."""
    return sys._getframe(1).f_lineno


class CreationTest(unittest.TestCase):
    def test_lists_and_numbers_have_default_dtypes(self):
        for data, dtype, shape in [
            (1, "i64", ()),
            (2.5, "f32", ()),
            (True, "bool", ()),
            ([1.0, 2.0], "f32", (2,)),
            ([[1, 2, 3]], "i64", (1, 3)),
            ([], "f32", (0,)),
        ]:
            x = tinh.tensor(data)
            self.assertEqual((x.dtype, x.shape), (dtype, shape), data)
            self.assertEqual(x.tolist(), data)

    def test_arrays_keep_their_dtype(self):
        for name in "bool int8 uint8 int16 int32 int64 float16 float32 float64".split():
            array = np.arange(6).reshape(2, 3).astype(name)
            found = tinh.tensor(array).numpy()
            self.assertEqual(found.dtype, array.dtype)
            np.testing.assert_array_equal(found, array)

    def test_any_strides(self):
        array = np.arange(24.0).reshape(4, 6)
        for view in [array.T, array[::2, ::-1], array[:, 1:3], array[1], array[:0]]:
            np.testing.assert_array_equal(tinh.tensor(view).numpy(), view)

    def test_dtypes_by_any_name(self):
        for dtype in ["f16", "float16", np.float16, np.dtype("float16")]:
            self.assertEqual(tinh.zeros(2, dtype).dtype, "f16")
            self.assertEqual(tinh.tensor([1, 2], dtype=dtype).dtype, "f16")
        self.assertEqual(tinh.tensor([1.5]).to(int).dtype, "i64")
        with self.assertRaisesRegex(TypeError, 'a dtype such as "f32", found f33'):
            tinh.zeros(2, "f33")

    def test_elements_are_copied(self):
        array = np.zeros(3)
        x = tinh.tensor(array)
        array[:] = 1
        self.assertEqual(x.tolist(), [0, 0, 0])
        x.numpy()[:] = 2
        self.assertEqual(x.tolist(), [0, 0, 0])

    def test_dlpack_shares(self):
        array = np.zeros(3)
        x = tinh.from_dlpack(array)
        x += 1
        x.wait_to_read()
        self.assertEqual(array.tolist(), [1, 1, 1])
        view = np.from_dlpack(x)
        x[0] = 5
        x.wait_to_read()
        self.assertEqual(view.tolist(), [5, 1, 1])
        self.assertEqual(x.__dlpack_device__(), (1, 0))

    def test_dlpack_lives_as_long(self):
        views = [np.from_dlpack(tinh.full((1000,), i) + 1) for i in range(20)]
        tensors = [tinh.from_dlpack(np.full(1000, float(i))) + 1 for i in range(20)]
        for i in range(20):
            self.assertTrue((views[i] == i + 1).all())
            self.assertTrue((tensors[i].numpy() == i + 1).all())

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_torch(self):
        given = torch.arange(6.0).reshape(2, 3).T
        x = tinh.tensor(given)
        np.testing.assert_array_equal(x.numpy(), given.numpy())
        self.assertEqual(tinh.zeros(1, torch.bfloat16).dtype, "bf16")
        low = tinh.tensor(torch.ones(3, dtype=torch.bfloat16)) * 3
        self.assertEqual(torch.from_dlpack(low).tolist(), [3, 3, 3])

    def test_what_is_no_tensor(self):
        for data in ["text", {"a": 1}, object(), 1 + 2j, [1, "a"]]:
            with self.assertRaises(TypeError):
                tinh.tensor(data)
        with self.assertRaises(ValueError):
            tinh.tensor([[1, 2], [3]])
        with self.assertRaisesRegex(ValueError, "64 bits"):
            tinh.tensor([1]) + 2**70


class ElementsTest(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(tinh.tensor([2.5]).item(), 2.5)
        self.assertIs(tinh.tensor(True).item(), True)
        self.assertIsInstance(tinh.tensor(3).item(), int)
        self.assertEqual(float(tinh.tensor(3)), 3.0)
        self.assertEqual(int(tinh.tensor(3.7)), 3)
        self.assertEqual([10, 20, 30][tinh.tensor(1)], 20)
        self.assertTrue(tinh.tensor([1]))
        self.assertFalse(tinh.tensor(0.0))
        with self.assertRaisesRegex(ValueError, "any"):
            bool(tinh.ones(2))
        with self.assertRaisesRegex(tinh.Error, "item: shape .2. has 2 elements"):
            tinh.ones(2).item()
        with self.assertRaises(TypeError):
            [1][tinh.tensor(0.0)]

    def test_as_numpy(self):
        x = tinh.arange(6).reshape((2, 3))
        self.assertEqual((x.ndim, x.size, len(x), x.nbytes), (2, 6, 2, 48))
        self.assertEqual([row.tolist() for row in x], [[0, 1, 2], [3, 4, 5]])
        self.assertEqual(np.asarray(x, "f4").dtype, np.float32)
        np.testing.assert_array_equal(np.sin(x), np.sin(x.numpy()))
        np.testing.assert_array_equal(x.T, x.numpy().T)
        y = tinh.arange(24).reshape((2, 3, 4))
        np.testing.assert_array_equal(y.T, y.numpy().T)
        np.testing.assert_array_equal(y.mT, y.numpy().swapaxes(-1, -2))
        with self.assertRaises(ValueError):
            np.asarray(x, copy=False)
        with self.assertRaises(TypeError):
            len(tinh.tensor(1))

    def test_printing(self):
        x = tinh.tensor([[1.0, 2.5], [-3.0, 4.0]])
        text = repr(x)
        self.assertTrue(text.startswith("tensor([["), text)
        self.assertIn("2.5", text)
        self.assertIn("f64", repr(x.to("f64")))
        self.assertIn("...", repr(tinh.zeros(2000)))


class OperatorsTest(unittest.TestCase):
    def test_as_numpy(self):
        a = np.array([[1.5, -2.0, 3.0]], "f4")
        b = np.array([[2.0], [-4.0]], "f4")
        x, y = tinh.tensor(a), tinh.tensor(b)
        for f in [
            lambda a, b: a + b,
            lambda a, b: a - b * 2,
            lambda a, b: 1 - a / b,
            lambda a, b: a // b + a % b,
            lambda a, b: abs(a) ** 2 - 2.0**b,
            lambda a, b: -a @ a.T + b,
            lambda a, b: (a < b) | (a >= 3) & ~(b == 2),
            lambda a, b: (a != b) ^ (a > b),
        ]:
            np.testing.assert_allclose(f(x, y).numpy(), f(a, b), rtol=1e-5)
        i = np.arange(-4, 5)
        for f in [
            lambda i: (i << 2) - (i >> 1),
            lambda i: (i & 3) ^ (i | 8),
            lambda i: ~i // 3 + i % 4 + 7 // (i * i + 1),
        ]:
            np.testing.assert_array_equal(f(tinh.tensor(i)).numpy(), f(i))

    def test_arrays_beside_tensors(self):
        x, array = tinh.ones(3), np.arange(3, dtype="f4")
        for result in [
            x + array,
            array + x,
            array * x,
            np.float32(2) * x,
            np.float64(2) - x,
            x + [1.0, 2.0, 3.0],
        ]:
            self.assertIsInstance(result, tinh.Tensor)
            self.assertEqual(result.dtype, "f32")
        self.assertEqual((array - x).tolist(), [-1, 0, 1])
        self.assertEqual((array < x).tolist(), [True, False, False])

    def test_what_is_no_operand(self):
        x = tinh.ones(3)
        with self.assertRaisesRegex(TypeError, "unsupported operand"):
            x + "text"
        with self.assertRaisesRegex(TypeError, "unsupported operand"):
            None * x
        self.assertFalse(x == "text")
        self.assertTrue(x != None)  # noqa: E711
        with self.assertRaisesRegex(TypeError, r"(?s)tanh.*str"):
            tinh.tanh("text")
        self.assertIn(x, {x: 1})

    def test_in_place(self):
        x = tinh.zeros((2, 3))
        view, same = x[0], x
        view += 2
        x *= 3
        x -= 1
        x /= 2
        self.assertIs(same, x)
        self.assertEqual(x.tolist(), [[2.5, 2.5, 2.5], [-0.5, -0.5, -0.5]])
        with self.assertRaisesRegex(tinh.Error, "add_"):
            x += tinh.ones(5)

    def test_functions_are_methods(self):
        x = tinh.tensor([[1.0, 4.0], [9.0, 16.0]])
        self.assertEqual(x.sqrt().sum(0).tolist(), [4, 6])
        self.assertEqual(tinh.sum(x, axis=(0, 1), keepdims=True).shape, (1, 1))
        self.assertEqual(x.reshape((-1,)).shape, (4,))
        self.assertEqual([p.shape for p in x.split(1)], [(1, 2), (1, 2)])
        values, indices = x.topk(1)
        self.assertEqual(values.tolist(), [[4], [16]])
        self.assertEqual(indices.tolist(), [[1], [1]])


class IndexingTest(unittest.TestCase):
    def setUp(self):
        self.array = np.arange(60.0).reshape(3, 4, 5)
        self.x = tinh.tensor(self.array)

    def test_reading(self):
        mask = self.array % 3 == 0
        for key in [
            0,
            -1,
            np.int64(1),
            (1, 2, 3),
            slice(1, None),
            (slice(None, None, -1), 0),
            (..., slice(1, 4, 2)),
            (None, 1, ..., None),
            [2, 0],
            (slice(None), [0, 3]),
            ([0, 1], [1, 2]),
            np.array([[0, 1], [2, 2]]),
            mask,
            mask[:, 0, 0],
        ]:
            found = self.x[key].numpy()
            np.testing.assert_array_equal(found, self.array[key], str(key))
        index = tinh.tensor([1, 2])
        np.testing.assert_array_equal(self.x[index], self.array[[1, 2]])

    def test_writing(self):
        for key, value in [
            (0, 5.0),
            ((slice(None), 1), np.arange(5.0)),
            ((..., 0), 7),
            ([0, 2], 1),
            (self.array > 30, 0),
            ((slice(None, None, 2), [1, 3]), 4),
        ]:
            self.x[key] = value
            self.array[key] = value
            np.testing.assert_array_equal(self.x, self.array)
        self.x[0] += self.x[1]
        self.array[0] += self.array[1]
        np.testing.assert_array_equal(self.x, self.array)

    def test_slices_are_views(self):
        self.x[1, 2:].fill_(0)
        self.assertEqual(self.x[1].sum().item(), self.array[1, :2].sum())

    def test_wrong_keys(self):
        with self.assertRaisesRegex(tinh.Error, "index 7 is out of bounds"):
            self.x[7]
        with self.assertRaises(tinh.Error):
            self.x[0, 0, 0, 0]
        with self.assertRaises(TypeError):
            self.x["a"]
        with self.assertRaisesRegex(tinh.Error, "does not broadcast"):
            self.x[0] = np.ones(3)


class ErrorsTest(unittest.TestCase):
    def assert_raised_at(self, number, name, call):
        with self.assertRaisesRegex(tinh.Error, rf"^eager_test.py:{number}: {name}"):
            call()

    def test_wrong_operands(self):
        x, y = tinh.ones((2, 3)), tinh.ones((4, 5))
        self.assert_raised_at(line(), "matmul", lambda: x @ y)
        self.assert_raised_at(line(), "add", lambda: x + y)
        self.assert_raised_at(line(), "sum", lambda: x.sum(5))
        self.assert_raised_at(line(), "concat", lambda: tinh.concat([x, y]))
        try:
            x @ y
        except tinh.Error as error:
            self.assertEqual(error.status, "TINH_INVALID_ARGUMENT")

    def test_what_fails_later(self):
        x = tinh.arange(3)
        bad, number = x[tinh.tensor([5])], line()
        after, good = bad * 2, x * 2
        for result in (bad, after):
            self.assert_raised_at(number, "index", result.numpy)
            self.assert_raised_at(number, "index", result.wait_to_read)
            self.assert_raised_at(number, "index", lambda: repr(result))
        self.assertEqual(good.tolist(), [0, 2, 4])

    def test_what_fails_within_a_layer(self):
        layer = tinh.nn.Embedding(4, 2)
        layer.initialize(tinh.Generator(0))
        bad, number = layer(tinh.tensor([9])), line()
        self.assert_raised_at(number, "embedding", bad.numpy)

    def test_where_a_gradient_fails(self):
        x = tinh.tensor([1.0]).requires_grad_()
        y, number = x.exp(), line()
        y.backward()
        self.assert_raised_at(number, "exp: its gradient", lambda: y.backward())


class GradientsTest(unittest.TestCase):
    def test_backward(self):
        w = tinh.tensor([1.0, 2.0]).requires_grad_()
        self.assertIsNone(w.grad)
        (w * w * w).sum().backward()
        self.assertEqual(w.grad.tolist(), [3, 12])
        w.sum().backward()
        self.assertEqual(w.grad.tolist(), [4, 13])
        w.grad = None
        self.assertIsNone(w.grad)
        self.assertTrue(w.is_leaf and w.requires_grad)
        self.assertFalse((w * 2).is_leaf)
        self.assertFalse(w.detach().requires_grad)

    def test_grad(self):
        x = tinh.tensor([0.5, 2.0], dtype="f64").requires_grad_()
        y = (x**3).sum()
        (first,) = tinh.grad([y], [x], create_graph=True)
        (second,) = tinh.grad([first.sum()], [x])
        np.testing.assert_allclose(first.detach(), 3 * x.detach().numpy() ** 2)
        np.testing.assert_allclose(second, 6 * x.detach().numpy())
        with self.assertRaises(tinh.Error):
            tinh.grad([(x * 2).sum()], [tinh.ones(2).requires_grad_()])

    def test_no_grad(self):
        w = tinh.ones(2).requires_grad_()
        with tinh.no_grad():
            self.assertFalse((w * 2).requires_grad)
            with tinh.enable_grad():
                self.assertTrue((w * 2).requires_grad)
            w -= 0.5
        self.assertTrue((w * 2).requires_grad)
        self.assertEqual(w.tolist(), [0.5, 0.5])
        with self.assertRaises(ZeroDivisionError), tinh.no_grad():
            1 // 0
        self.assertTrue(tinh.is_grad_enabled())


def slow():
    """Something that takes a good while, queued."""
    x = tinh.full((700, 700), 0.001)
    for _ in range(30):
        x = x @ x + 0.001
    return x


class ThreadsTest(unittest.TestCase):
    def test_calls_return_at_once(self):
        slow().wait_to_read()
        begin = time.perf_counter()
        x = slow()
        queued = time.perf_counter() - begin
        x.wait_to_read()
        self.assertLess(queued, 0.5 * (time.perf_counter() - begin))

    def test_a_wait_lets_others_run(self):
        counted, done = 0, threading.Event()

        def count():
            nonlocal counted
            while not done.is_set():
                counted += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        x = slow()
        thread.start()
        x.numpy()
        done.set()
        thread.join()
        self.assertGreater(counted, 3)

    def test_many_threads(self):
        results = [None] * 8

        def work(i):
            x = tinh.full((64, 64), float(i))
            for _ in range(200):
                x = (x + 1) - 1
            results[i] = x.sum().item()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [64 * 64 * i for i in range(8)])


EXIT = """
import sys, threading, numpy as np, tinh
def slow():
    x = tinh.full((600, 600), 0.001)
    for _ in range(20):
        x = x @ x + 0.001
    return x
"""


class ExitTest(unittest.TestCase):
    def run_program(self, text):
        done = subprocess.run(
            [sys.executable, "-c", EXIT + text], capture_output=True, timeout=100
        )
        self.assertEqual((done.returncode, done.stderr), (0, b""), text)
        return done.stdout

    def test_with_work_queued(self):
        self.run_program("x = slow()")
        self.run_program("x = slow(); sys.exit()")
        self.run_program("bad = tinh.arange(3)[tinh.tensor([5])]")

    def test_with_borrowed_memory(self):
        self.run_program(
            "x = tinh.from_dlpack(np.ones((600, 600), 'f4'))\n"
            "for _ in range(20): x = x @ x * 0.001\n"
        )
        self.run_program("y = np.from_dlpack(slow() + 1)")

    def test_with_threads_at_work(self):
        for work in ["while True: slow()", "while True: slow().numpy()"]:
            text = f"def work():\n  {work}\n"
            text += "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
            self.run_program(text + "import time; time.sleep(0.2); print('end')")

    def test_in_a_traced_function(self):
        self.run_program(
            "w = tinh.ones((4, 4)).requires_grad_()\n"
            "f = tinh.function(lambda x: x @ w)\n"
            "y = f(tinh.ones((4, 4))); y.sum().backward()\n"
        )


class RandomProgramsTest(unittest.TestCase):
    def test_some(self):
        for seed in range(60):
            with self.subTest(seed=seed):
                random_programs.check(seed)


if __name__ == "__main__":
    unittest.main()
