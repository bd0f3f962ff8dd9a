"""Queued runs, threads, and the end of the interpreter."""

import asyncio
import concurrent.futures
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
import tinh

from models import expected_two_layer, graph, two_layer

# A program that compiles a model of many products, x, which takes a while.
SLOW = """
import os, sys, threading, numpy as np, tinh
f = tinh.load(sys.argv[1])
x = np.ones((256, 256), "f4")
"""


def slow_model():
    nodes, name = [], "x"
    for i in range(40):
        nodes.append(("matmul", [name, "x"], f"y{i}", {}))
        nodes.append(("mul", [f"y{i}", f"y{i}"], f"z{i}", {}))
        name = f"z{i}"
    return graph({"x": ("f32", [256, 256])}, nodes, [name])


class FuturesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model, cls.memory = two_layer()
        cls.f = tinh.compile(cls.model, memory=cls.memory)
        cls.xs = np.random.default_rng(1).standard_normal((32, 4, 8)).astype("f4")
        cls.ys = [expected_two_layer(x, cls.memory) for x in cls.xs]
        cls.slow = tinh.compile(slow_model(), threads=1)
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = cls.folder.name + "/slow.so"
        cls.slow.save(cls.path)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def assert_right(self, i, found):
        np.testing.assert_allclose(found, self.ys[i], rtol=1e-5, atol=1e-5)

    def test_results_come_in_any_order(self):
        futures = [self.f.submit(x) for x in self.xs]
        for i in reversed(range(len(futures))):
            self.assert_right(i, futures[i].result())
            self.assertTrue(futures[i].done())
            self.assertIsNone(futures[i].exception())

    def test_a_wait_has_an_end(self):
        future = self.slow.submit(np.ones((256, 256), "f4"))
        with self.assertRaises(TimeoutError):
            future.result(timeout=0)
        self.assertEqual(future.result(timeout=60).shape, (256, 256))

    def test_callbacks(self):
        called = threading.Event()
        future = self.f.submit(self.xs[0])
        future.add_done_callback(lambda f: f is future and called.set())
        self.assertTrue(called.wait(60))
        again = threading.Event()
        future.add_done_callback(lambda f: again.set())
        self.assertTrue(again.wait(60))

    def test_callbacks_that_fail(self):
        found, called = [], threading.Event()
        before = sys.unraisablehook
        sys.unraisablehook = lambda failed: found.append(failed.exc_type)
        self.addCleanup(setattr, sys, "unraisablehook", before)
        future = self.slow.submit(np.ones((256, 256), "f4"))
        future.add_done_callback(lambda f: 1 / 0)
        future.add_done_callback(lambda f: called.set())
        self.assertTrue(called.wait(60))
        self.assertEqual(found, [ZeroDivisionError])
        with self.assertRaisesRegex(TypeError, "cannot be called"):
            future.add_done_callback(3)

    def test_callbacks_may_call_another_model(self):
        called, found = threading.Event(), []

        def call(future):
            found.append(self.f(self.xs[0]))
            called.set()

        self.slow.submit(np.ones((256, 256), "f4")).add_done_callback(call)
        self.assertTrue(called.wait(60))
        self.assert_right(0, found[0])

    def test_callbacks_may_not_wait(self):
        x, found, called = np.ones((256, 256), "f4"), [], threading.Event()

        def call(_):
            try:
                second.result()
            except tinh.Error as error:
                found.append(str(error))
            called.set()

        first, second = self.slow.submit(x), self.slow.submit(x)
        first.add_done_callback(call)
        self.assertTrue(called.wait(60))
        self.assertIn("would block a callback", found[0])
        second.result()

    def test_runs_that_wait_can_be_cancelled(self):
        x = np.ones((256, 256), "f4")
        futures = [self.slow.submit(x) for _ in range(8)]
        self.assertTrue(futures[-1].cancel())
        self.assertFalse(futures[-1].cancel())
        self.assertTrue(futures[-1].done())
        with self.assertRaises(tinh.Error) as raised:
            futures[-1].result()
        self.assertEqual(raised.exception.status, "TINH_CANCELLED")
        self.assertEqual(futures[0].result().shape, (256, 256))
        self.assertFalse(futures[0].cancel())
        for future in futures[1:-1]:
            self.assertIsNone(future.exception())

    def test_asyncio(self):
        async def run():
            return await asyncio.gather(*(self.wait_for(x) for x in self.xs))

        for i, y in enumerate(asyncio.run(run())):
            self.assert_right(i, y)

    async def wait_for(self, x):
        return await self.f.submit(x)

    def test_asyncio_gives_up(self):
        x = np.ones((256, 256), "f4")

        async def run():
            futures = [self.slow.submit(x) for _ in range(4)]
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(futures[-1], 0.0001)
            self.assertFalse(futures[-1].done())  # The run goes on.
            return await futures[-1]

        self.assertEqual(asyncio.run(run()).shape, (256, 256))

        async def leave():
            self.slow.submit(x).__await__()

        asyncio.run(leave())  # The loop is closed when the run is done.
        self.slow.wait()
        with self.assertRaisesRegex(RuntimeError, "no running event loop"):
            self.f.submit(self.xs[0]).__await__()

    def test_a_run_that_fails(self):
        nodes = [("log", ["x"], "y", {})]
        model = graph({"x": ("f32", [2])}, nodes, ["y"])
        f = tinh.compile(model, check_numerics="nan")
        future = f.submit(np.array([1, -1], "f4"))
        self.assertIn("NaN", str(future.exception()))
        with self.assertRaisesRegex(tinh.Error, "NaN"):
            future.result()
        with self.assertRaisesRegex(tinh.Error, "NaN"):
            f(np.array([1, -1], "f4"))

        async def run():
            await f.submit(np.array([1, -1], "f4"))

        with self.assertRaisesRegex(tinh.Error, "NaN"):
            asyncio.run(run())

    def test_eight_threads(self):
        own = [tinh.compile(self.model, memory=self.memory) for _ in range(4)]

        def work(number):
            f = own[number] if number < 4 else self.f
            for _ in range(20):
                for i, x in enumerate(self.xs):
                    self.assert_right(i, f(x) if i % 2 else f.submit(x).result())
            return number

        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            self.assertEqual(list(threads.map(work, range(8))), list(range(8)))

    def exits(self, program, code=0, error=""):
        run = subprocess.run(
            [sys.executable, "-c", SLOW + program, self.path],
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual((run.returncode, run.stdout), (code, ""), run.stderr)
        if error:
            self.assertIn(error, run.stderr)
        else:
            self.assertEqual(run.stderr, "")

    def test_exit_with_work_in_flight(self):
        self.exits("futures = [f.submit(x) for _ in range(8)]")
        self.exits("for _ in range(8): f.submit(x)")
        self.exits("f.submit(x).add_done_callback(lambda future: future.result())")
        self.exits("f.submit(x); raise ValueError('wrong')", 1, "wrong")
        self.exits("f.submit(x); os._exit(3)", 3)

    def test_forked_children_end(self):
        quiet = "import warnings; warnings.simplefilter('ignore')\n"
        fork = "if pid := os.fork(): os.waitpid(pid, 0)\n"
        self.exits(quiet + "f.submit(x).add_done_callback(lambda g: None)\n" + fork)
        self.exits(
            quiet + "g = f.submit(x); g.result(); pids = []\n"
            "g.add_done_callback(lambda g: pids.append(os.fork()))\n"
            "if pids[0]: os.waitpid(pids[0], 0)\n"
        )

    def test_exit_beside_threads_that_call(self):
        self.exits(
            "def work():\n"
            "  while True: f(x)\n"
            "for _ in range(4): threading.Thread(target=work, daemon=True).start()\n"
            "f(x)\n"
        )
        self.exits(
            "import asyncio\n"
            "async def wait():\n"
            "  while True: await f.submit(x)\n"
            "def work(): asyncio.run(wait())\n"
            "for _ in range(4): threading.Thread(target=work, daemon=True).start()\n"
            "f(x)\n"
        )

    def test_control_c_ends_a_wait(self):
        self.exits(
            "import signal\n"
            "future = [f.submit(x) for _ in range(8)][-1]\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.05)\n"
            "def stop(*_): raise KeyboardInterrupt\n"
            "signal.signal(signal.SIGALRM, stop)\n"
            "try:\n"
            "  while True: f.submit(x).result()\n"
            "except KeyboardInterrupt: sys.exit(5)\n",
            5,
        )


if __name__ == "__main__":
    unittest.main()
