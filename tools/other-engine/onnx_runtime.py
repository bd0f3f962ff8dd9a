# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a model by ONNX Runtime, when it is told to.

graph-compare starts this, which is part of it. Each line on the standard input
is a request in JSON, of one member, and gets a line of JSON on the standard
output:

  {"begin": {}}                       {"version": TEXT}
  {"load": {"model": FILE, "threads": N, "inputs": {NAME: PATH}}}
                                      {"milliseconds": NUMBER}
  {"run": {}}                         {"milliseconds": NUMBER}
  {"save": {"files": [PATH]}}         {}

A PATH, of an .npy file, is an array of its bytes, which need not be text.
{"error": TEXT} in place of an answer is the last one.
"""

import json
import os
import signal
import sys
import time


class Refused(Exception):
    """Has a message for the user."""


def import_modules():
    try:
        import numpy
        import onnxruntime
    except ImportError as error:
        raise Refused(
            f"{sys.executable} has no onnxruntime ({error}): install it with"
            f" '{sys.executable} -m pip install onnxruntime', or name another"
            " Python by --python"
        ) from None
    return numpy, onnxruntime


def path_of(numbers):
    return os.fsdecode(bytes(numbers))


class Runner:
    def begin(self):
        self.numpy, self.onnxruntime = import_modules()
        return {"version": self.onnxruntime.__version__}

    def load(self, model, threads, inputs):
        options = self.onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3  # Errors, which are raised as well.
        start = time.perf_counter()
        self.session = self.onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        milliseconds = 1000 * (time.perf_counter() - start)
        # Bound once: what is timed is the model, not copies of arrays.
        self.binding = self.session.io_binding()
        for name, file in inputs.items():
            self.binding.bind_cpu_input(name, self.numpy.load(path_of(file)))
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)
        return {"milliseconds": milliseconds}

    def run(self):
        start = time.perf_counter()
        self.session.run_with_iobinding(self.binding)
        return {"milliseconds": 1000 * (time.perf_counter() - start)}

    def save(self, files):
        arrays = self.binding.copy_outputs_to_cpu()
        if len(arrays) != len(files):
            raise Refused(f"it has {len(arrays)} outputs, not {len(files)}")
        for path, array in zip(files, arrays):
            with open(path_of(path), "wb") as file:
                self.numpy.save(file, self.numpy.ascontiguousarray(array))
        return {}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What libraries print is no answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # graph-compare ends this.
    runner = Runner()
    for line in sys.stdin:
        ((request, arguments),) = json.loads(line).items()
        try:
            answer = getattr(runner, request)(**arguments)
        except Exception as error:  # Whatever a model makes ONNX Runtime raise.
            # A path in it need not be text.
            answer = {"error": str(error).encode(errors="replace").decode()}
        print(json.dumps(answer), file=answers, flush=True)


main()
