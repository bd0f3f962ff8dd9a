//===- MovementOps.td - Ops that move elements without changing them ----*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_MOVEMENT_OPS
#define TINH_GRAPH_MOVEMENT_OPS

include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphInterfaces.td"

def Graph_ReshapeOp : Graph_Op<"reshape", [Pure, SameOperandsAndResultElementType]>,
    Graph_Facts<"None", 0, "Follows"> {
  let summary = "The same elements, in row-major order, in another shape";
  let description = [{
    Example: `%y = graph.reshape %x : tensor<1x2048x1x1xf32> to tensor<1x2048xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_BroadcastOp : Graph_Op<"broadcast", [Pure, SameOperandsAndResultElementType]>,
    Graph_Facts<"Movement", 0, "Follows"> {
  let summary = "Repetition to a larger shape by NumPy's broadcasting rules";
  let description = [{
    Example: `%y = graph.broadcast %x : tensor<3x1xf32> to tensor<2x3x4xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_TransposeOp : Graph_InferredOp<"transpose">, Graph_Facts<"StridedMovement", 0, "Follows"> {
  let summary = "Permutation of dimensions";
  let description = [{
    Dimension i of y is dimension permutation[i] of x.

    Example: `%y = graph.transpose %x [0, 2, 3, 1] : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x $permutation attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_ConcatOp : Graph_InferredOp<"concat">, Graph_Facts<"Movement", 0, "Follows"> {
  let summary = "Concatenation along an axis";
  let description = [{
    Outside of kernels in phase `kernels` it is a view: the dispatches whose
    results the operands are write to their parts of the result's memory.

    Example: `%y = graph.concat %a, %b axis 1 : (tensor<1x64x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x96x8x8xf32>`
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat =
      "$inputs `axis` $axis attr-dict `:` functional-type($inputs, $y)";
  let hasFolder = 1;
}

def Graph_SliceOp : Graph_InferredOp<"slice">, Graph_Facts<"StridedMovement", 0, "Follows"> {
  let summary = "A strided box of elements";
  let description = [{
    y[i] = x[starts[d] + i·steps[d]], sizes[d] elements in dimension d, all of
    which exist. A step may be negative, not zero. Outside of kernels in phase
    `kernels` it is a view, with positive steps.

    Example: `%y = graph.slice %x starts [0, 1] sizes [2, 2] steps [1, 2] : tensor<2x5xf32> -> tensor<2x2xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$starts,
                       DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$steps);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `starts` $starts `sizes` $sizes `steps` $steps
      attr-dict `:` type($x) `->` type($y)}];
  let hasFolder = 1;
}

def Graph_PadMode : I32EnumAttr<"PadMode", "what padding holds", [
    I32EnumAttrCase<"Constant", 0, "constant">,
    I32EnumAttrCase<"Edge", 1, "edge">,
    I32EnumAttrCase<"Reflect", 2, "reflect">,
    I32EnumAttrCase<"Wrap", 3, "wrap">
  ]> {
  let cppNamespace = "::tinh::graph";
}

def Graph_PadOp : Graph_InferredOp<"pad">, Graph_Facts<"Movement", 0, "Follows"> {
  let summary = "Padding";
  let description = [{
    Adds low[d] elements before and high[d] after dimension d: `value` (rank 0;
    constant), the edge element, the reflection without the edge, or the other
    end. Negative amounts cut.

    Example: `%y = graph.pad %x, %v low [0, 1] high [0, 2] constant : tensor<2x5xf32>, tensor<f32> -> tensor<2x8xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x, Graph_Tensor:$value,
                       DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       Graph_PadMode:$mode);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `,` $value `low` $low `high` $high
      $mode attr-dict
      `:` type($x) `,` type($value) `->` type($y)}];
}

def Graph_GatherOp : Graph_InferredOp<"gather">, Graph_Facts<"Lookup", 0, "Rounded"> {
  let summary = "Slices picked by index along an axis (NumPy's take)";
  let description = [{
    y[a…, i…, b…] = x[a…, indices[i…], b…], a… the dimensions before `axis`, b…
    those after. A negative index counts from the end; one out of bounds is
    clamped into them.

    Example: `%y = graph.gather %x, %i axis 0 : tensor<30522x768xf32>, tensor<1x128xi64> -> tensor<1x128x768xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x, Graph_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `,` $indices `axis` $axis attr-dict
      `:` type($x) `,` type($indices) `->` type($y)}];
}

def Graph_GatherElementsOp : Graph_InferredOp<"gather_elements">,
    Graph_Facts<"Lookup", 0, "Rounded"> {
  let summary = "Elements picked by index along an axis";
  let description = [{
    y[i] = x[i with its `axis` entry replaced by indices[i]]; indices as in gather.

    Example: `%y = graph.gather_elements %x, %i axis 1 : tensor<2x5xf32>, tensor<2x3xi64> -> tensor<2x3xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x, Graph_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `,` $indices `axis` $axis attr-dict
      `:` type($x) `,` type($indices) `->` type($y)}];
}

def Graph_GatherNdOp : Graph_InferredOp<"gather_nd">, Graph_Facts<"Lookup", 0, "Rounded"> {
  let summary = "Slices picked by index tuples";
  let description = [{
    The last dimension of `indices` holds tuples that index the dimensions of
    x after the first `batch_dims`; y's shape is indices' without the last
    dimension, then the dimensions of x that the tuples leave.

    Example: `%y = graph.gather_nd %x, %i batch_dims 0 : tensor<2x5xf32>, tensor<4x2xi64> -> tensor<4xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x, Graph_IndexTensor:$indices,
                       I64Attr:$batch_dims);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `,` $indices `batch_dims` $batch_dims attr-dict
      `:` type($x) `,` type($indices) `->` type($y)}];
}

def Graph_ScatterKind : I32EnumAttr<"ScatterKind", "what becomes of the element", [
    I32EnumAttrCase<"Assign", 0, "assign">, I32EnumAttrCase<"Add", 1, "add">,
    I32EnumAttrCase<"Mul", 2, "mul">, I32EnumAttrCase<"Max", 3, "max">,
    I32EnumAttrCase<"Min", 4, "min">
  ]> {
  let cppNamespace = "::tinh::graph";
}

// x with some elements replaced by, or combined with, updates. Indices are taken
// in row-major order, so of several assignments to an element the last one stays.
class Graph_ScatterLikeOp<string mnemonic, string what, dag extra, string axis>
    : Graph_InferredOp<mnemonic> {
  let summary = what;
  let arguments = !con((ins Graph_ScatterKind:$kind, Graph_Tensor:$x,
                            Graph_IndexTensor:$indices, Graph_Tensor:$updates),
                       extra);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$kind $x `,` $indices `,` $updates " # axis # [{
      attr-dict `:` type($x) `,` type($indices) `,` type($updates)}];
}
def Graph_ScatterOp : Graph_ScatterLikeOp<"scatter",
    "Slices put, or added, at indices along an axis", (ins I64Attr:$axis),
    "`axis` $axis">, Graph_Facts<"LoneAnchor", 1, "Full"> {
  let description = [{
    y is x, and for all indices in row-major order
    y[a…, indices[i…], b…] = (or += …) updates[a…, i…, b…]: the opposite of gather,
    whose indices it has. (The gradient of gather is the scatter that adds.)

    Example: `%y = graph.scatter add %x, %i, %u axis 0 : tensor<30522x768xf32>, tensor<128xi64>, tensor<128x768xf32>`
  }];
}
def Graph_ScatterElementsOp : Graph_ScatterLikeOp<"scatter_elements",
    "Elements put, or added, at indices along an axis", (ins I64Attr:$axis),
    "`axis` $axis">, Graph_Facts<"LoneAnchor", 1, "Full"> {
  let description = [{
    y is x, and y[i with its `axis` entry replaced by indices[i]] = (or += …)
    updates[i]; indices as in gather.

    Example: `%y = graph.scatter_elements add %x, %i, %u axis 1 : tensor<2x5xf32>, tensor<2x3xi64>, tensor<2x3xf32>`
  }];
}
def Graph_ScatterNdOp : Graph_ScatterLikeOp<"scatter_nd",
    "Slices put, or added, at index tuples", (ins), "">, Graph_Facts<"LoneAnchor", 1, "Full"> {
  let description = [{
    The last dimension of `indices` holds tuples that index the first dimensions
    of x: y is x, and y[indices[i…, :], b…] = (or += …) updates[i…, b…]; indices as
    in gather.

    Example: `%y = graph.scatter_nd assign %x, %i, %u : tensor<2x5xf32>, tensor<4x2xi64>, tensor<4xf32>`
  }];
}

def Graph_IotaOp : Graph_Op<"iota", [Pure]>, Graph_Facts<"Movement", 0, "Full"> {
  let summary = "start + index · step along the one dimension";
  let description = [{
    Example: `%y = graph.iota start 0 step 1 : tensor<128xi64>`
  }];
  let arguments = (ins I64Attr:$start, I64Attr:$step);
  let results = (outs Graph_NumberTensor:$y);
  let assemblyFormat = "`start` $start `step` $step attr-dict `:` type($y)";
}

#endif // TINH_GRAPH_MOVEMENT_OPS
