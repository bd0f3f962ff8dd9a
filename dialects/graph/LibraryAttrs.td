//===- LibraryAttrs.td - What a library can compute --------*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel for GPUs that is a matmul or a convolution, with what libraries of
// such fuse with it, says so in its attribute `graph.library`. Where there is a
// library when it is run, that computes it, else the kernel's own code.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_LIBRARY_ATTRS
#define TINH_GRAPH_LIBRARY_ATTRS

include "dialects/graph/GraphBase.td"

def Graph_LibraryKind : I32EnumAttr<"LibraryKind", "what a library computes", [
    I32EnumAttrCase<"MatMul", 0, "matmul">,
    I32EnumAttrCase<"Convolution", 1, "convolution">
  ]> {
  let cppNamespace = "::tinh::graph";
}

def Graph_Activation : I32EnumAttr<"Activation", "a function of each element", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Relu", 1, "relu">,
    I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">
  ]> {
  let cppNamespace = "::tinh::graph";
}

def Graph_ViewAttr : AttrDef<Graph_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "An operand of a kernel, as a library sees it";
  let description = [{
    Its elements as a tensor of another shape: strides are in elements, from the
    operand's first one on.

    Example: `#graph.view<1, array<i64: 1, 64, 256>, array<i64: 0, 256, 1>>`
  }];
  let parameters = (ins "unsigned":$operand, "::mlir::DenseI64ArrayAttr":$shape,
                        "::mlir::DenseI64ArrayAttr":$strides);
  let assemblyFormat = "`<` $operand `,` $shape `,` $strides `>`";
  let genVerifyDecl = 1;
}

def Graph_WindowAttr : AttrDef<Graph_Dialect, "Window"> {
  let mnemonic = "window";
  let summary = "How the filter of a convolution moves";
  let description = [{
    For each spatial dimension: zeros before the first and behind the last
    element, the filter's steps, and those between its own elements.

    Example: `#graph.window<low = [1, 1], high = [1, 1], strides = [2, 2], dilations = [1, 1]>`
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$low, "::mlir::DenseI64ArrayAttr":$high,
                        "::mlir::DenseI64ArrayAttr":$strides,
                        "::mlir::DenseI64ArrayAttr":$dilations);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_LibraryAttr : AttrDef<Graph_Dialect, "Library"> {
  let mnemonic = "library";
  let summary = "What a kernel is to a library";
  let description = [{
    `result = activation(left · right + bias + residual)`, with sums in f32.

    Of a product, which is a matrix multiplication (GEMM), the views are batch ×
    rows × columns; those of the bias have strides along columns alone. Of a
    convolution they are N × channels × spatial dimensions, two or three, and
    `right` is the filter, output channels × channels of a group × spatial
    dimensions.

    Example: `#graph.library<matmul, left = <0, array<i64: 1, 48, 64>, array<i64: 0, 64, 1>>, right = <1, array<i64: 1, 64, 96>, array<i64: 0, 96, 1>>, result = <2, array<i64: 1, 48, 96>, array<i64: 0, 96, 1>>>`
  }];
  let parameters = (ins "::tinh::graph::LibraryKind":$kind,
                        "::tinh::graph::ViewAttr":$left,
                        "::tinh::graph::ViewAttr":$right,
                        "::tinh::graph::ViewAttr":$result,
                        OptionalParameter<"::tinh::graph::ViewAttr">:$bias,
                        OptionalParameter<"::tinh::graph::ViewAttr">:$residual,
                        OptionalParameter<"::tinh::graph::WindowAttr">:$window,
                        DefaultValuedParameter<"::tinh::graph::Activation", "Activation::None">:$activation,
                        DefaultValuedParameter<"bool", "false">:$tf32);
  let assemblyFormat = [{
    `<` $kind `,` struct($left, $right, $result, $bias, $residual, $window, $activation, $tf32) `>`
  }];
  let genVerifyDecl = 1;
}

#endif // TINH_GRAPH_LIBRARY_ATTRS
