# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small ONNX models for tests of the tools, and ONNX Runtime's view of them."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def write(path, nodes, weights, inputs, outputs):
    """An ONNX model of nodes (op, inputs, output, attributes)."""
    info = lambda tensors: [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in tensors.items()
    ]
    made = [
        helper.make_node(op, reads, [output], name=output, **attributes)
        for op, reads, output, attributes in nodes
    ]
    constants = [numpy_helper.from_array(a, name) for name, a in weights.items()]
    graph = helper.make_graph(made, "main", info(inputs), info(outputs), constants)
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path


def run(path, x):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name
    batch = session.get_inputs()[0].shape[0]
    parts = np.split(x, len(x) // batch)
    return np.concatenate([session.run(None, {name: part})[0] for part in parts])
