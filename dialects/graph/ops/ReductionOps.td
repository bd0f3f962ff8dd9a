//===- ReductionOps.td - Reductions and scans ----*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_REDUCTION_OPS
#define TINH_GRAPH_REDUCTION_OPS

include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphInterfaces.td"
include "dialects/graph/ops/AlongAxis.td"

def Graph_ReduceKind : I32EnumAttr<"ReduceKind", "reduction", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">,
    I32EnumAttrCase<"Prod", 2, "prod">, I32EnumAttrCase<"Max", 3, "max">,
    I32EnumAttrCase<"Min", 4, "min">
  ]> {
  let cppNamespace = "::tinh::graph";
}

def Graph_ReduceOp : Graph_InferredOp<"reduce">, Graph_Facts<"Anchor", 1, "Full"> {
  let readsOnce = 1;
  let summary = "Reduction over axes";
  let description = [{
    Combines the elements along `axes` (ascending, distinct, non-negative; none
    means that nothing is reduced). With `keepdims` a reduced dimension stays
    as 1, else it goes. Over no elements, sum is 0 and prod 1. Max and min
    propagate NaN. On i1, max is "any" and min "all".

    Example: `%y = graph.reduce mean %x axes [2, 3] keepdims : tensor<1x64x7x7xf32> -> tensor<1x64x1x1xf32>`
  }];
  let arguments = (ins Graph_ReduceKind:$kind, Graph_NumberTensor:$x,
                       DenseI64ArrayAttr:$axes, UnitAttr:$keepdims);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$kind $x `axes` $axes
      (`keepdims` $keepdims^)? attr-dict `:` type($x) `->` type($y)}];
}

def Graph_VarianceOp : Graph_InferredOp<"variance">, Graph_Facts<"Anchor", 1, "Full"> {
  let summary = "Variance over axes";
  let description = [{
    The mean of (x - mean(x))² over `axes`, not corrected by the number of
    elements less one; axes and `keepdims` as in reduce.

    Example: `%y = graph.variance %x axes [0, 2, 3] : tensor<16x64x56x56xf32> -> tensor<64xf32>`
  }];
  let arguments = (ins Graph_FloatTensor:$x, DenseI64ArrayAttr:$axes,
                       UnitAttr:$keepdims);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `axes` $axes (`keepdims` $keepdims^)? attr-dict
      `:` type($x) `->` type($y)}];
}

class Graph_ArgOp<string mnemonic, string what> : Graph_InferredOp<mnemonic> {
  let summary = "Index of the " # what # " element along an axis";
  let description = "The i64 index of the " # what # [{ element along `axis`: the first such,
    or the last with `select_last_index`. A NaN counts as the extreme.

    Example: `%y = graph.}] # mnemonic # [{ %x axis 1 keepdims : tensor<2x5xf32> -> tensor<2x1xi64>`}];
  let arguments = (ins Graph_NumberTensor:$x, I64Attr:$axis, UnitAttr:$keepdims,
                       UnitAttr:$select_last_index);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `axis` $axis (`keepdims` $keepdims^)?
      (`select_last_index` $select_last_index^)? attr-dict
      `:` type($x) `->` type($y)}];
}
def Graph_ArgmaxOp : Graph_ArgOp<"argmax", "largest">, Graph_Facts<"LoneAnchor", 1, "Full">;
def Graph_ArgminOp : Graph_ArgOp<"argmin", "smallest">, Graph_Facts<"LoneAnchor", 1, "Full">;

// A running sum and its like: y[i] = `formula` of x[j] for all j ≤ i. To combine
// with `neutral` changes nothing. ONNX has it as `onnx` from operator set `opset`
// on. Its importer and exporter, its function of tensors and Python's follow from
// that: write_ops.py makes ReductionOps.inc of it.
class Graph_CumulativeOp<string mnemonic, string what, string formula,
                         string neutral, string onnx, int opset>
    : Graph_AlongAxisOp<mnemonic, [Graph_CumulativeTrait]>,
      Graph_Facts<"LoneAnchor", 1, "Full"> {
  string onnxNode = onnx;
  int onnxOpset = opset;
  let summary = "Running " # what # " along an axis";
  let description = "y[i] = " # formula # [{ along `axis`; `exclusive`: j < i; `reverse`: from the end.

    Example: `%y = graph.}] # mnemonic # [{ %x axis 1 : tensor<2x5xf32>`}];
  let arguments = (ins Graph_NumberTensor:$x, I64Attr:$axis, UnitAttr:$exclusive,
                       UnitAttr:$reverse);
  let assemblyFormat = [{$x `axis` $axis (`exclusive` $exclusive^)?
      (`reverse` $reverse^)? attr-dict `:` type($x)}];
  let extraClassDeclaration = [{
    static ::tinh::graph::Neutral neutralElement() {
      return ::tinh::graph::Neutral::}] # neutral # [{;
    }
    std::optional<::tinh::graph::Neutral> getRowPadding() {
      if (getReverse())
        return neutralElement();
      return std::nullopt;
    }
  }];
}

def Graph_CumsumOp : Graph_CumulativeOp<"cumsum", "sum", "Σ_{j ≤ i} x[j]", "Zero",
                                        "CumSum", 11>;
def Graph_CumprodOp : Graph_CumulativeOp<"cumprod", "product", "Π_{j ≤ i} x[j]", "One",
                                         "CumProd", 26>;

#endif // TINH_GRAPH_REDUCTION_OPS
