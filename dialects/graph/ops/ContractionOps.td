//===- ContractionOps.td - Matmul, convolution, pooling ------*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_CONTRACTION_OPS
#define TINH_GRAPH_CONTRACTION_OPS

include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphInterfaces.td"

def Graph_MatmulOp : Graph_InferredOp<"matmul">, Graph_Facts<"Anchor", 1, "Lowered"> {
  let readsOnce = 1;
  let summary = "Matrix multiplication";
  let description = [{
    y[…,m,n] = Σ_k a[…,m,k] · b[…,k,n], as NumPy's matmul: leading dimensions
    broadcast, an operand of rank 1 is a row (a) or column (b) whose dimension
    is dropped from the result. `transpose_a` and `transpose_b` swap the last two
    dimensions of an operand of rank 2 or more. Both have the same element type,
    the result's. But one factor may be bf16 or f16 where the other one and the
    result are f32, and integers of 8 bits may differ in their sign: their sums are
    i32.

    Example: `%y = graph.matmul %a, %b transpose_b : tensor<64x1000xf32>, tensor<100x1000xf32> -> tensor<64x100xf32>`
  }];
  let arguments = (ins Graph_NumberTensor:$a, Graph_NumberTensor:$b,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$a `,` $b (`transpose_a` $transpose_a^)?
      (`transpose_b` $transpose_b^)? attr-dict
      `:` type($a) `,` type($b) `->` type($y)}];
}

// Attributes of sliding windows. Lists have one entry per spatial dimension;
// padding has the begin of every dimension, then the end of every dimension.
def Graph_ConvOp : Graph_InferredOp<"conv">, Graph_Facts<"Anchor", 1, "Lowered"> {
  let summary = "Convolution (cross-correlation), any number of spatial dimensions";
  let description = [{
    channels_first: x is [N, C, spatial…], y is [N, O, spatial…];
    channels_last: x is [N, spatial…, C], y is [N, spatial…, O].
    The weights are [O, C/groups, kernel…] in either layout. `padding` holds
    the zeros added before each spatial dimension, then those after each.
    Whether a weight meets these zeros is not defined: zero times an infinite or
    NaN weight may be added, or left out. One of x and the weights may be
    bf16 or f16 where the other one and the result are f32. Integers of 8 bits may differ in their sign, their sums are i32, and
    `padding_value`, such as a zero point, is what is added around x instead of
    zeros.

    Example:
    ```mlir
    %y = graph.conv %x, %w strides [2, 2] padding [3, 3, 3, 3] dilations [1, 1]
        groups 1 channels_first
        : tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32> -> tensor<1x64x112x112xf32>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$x, Graph_NumberTensor:$weights,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups,
                       Graph_Layout:$layout,
                       DefaultValuedAttr<I64Attr, "0">:$padding_value);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `,` $weights `strides` $strides `padding` $padding
      (`padding_value` $padding_value^)? `dilations` $dilations `groups` $groups $layout attr-dict
      `:` type($x) `,` type($weights) `->` type($y)}];
}

def Graph_ConvTransposeOp : Graph_InferredOp<"conv_transpose">,
    Graph_Facts<"Anchor", 1, "Lowered"> {
  let summary = "Transposed convolution: the gradient of conv with respect to its input";
  let description = [{
    Weights are [C, O/groups, kernel…]. Each input element adds its weighted
    kernel to the output at stride · index; `padding` cuts that many elements off
    the ends and `output_padding` adds to the far ones: the result's extent is
    (in-1)·stride + (kernel-1)·dilation + 1 - begin - end + output_padding.

    Example:
    ```mlir
    %y = graph.conv_transpose %x, %w strides [2, 2] padding [0, 0, 0, 0]
        output_padding [0, 0] dilations [1, 1] groups 1 channels_first
        : tensor<1x8x4x4xf32>, tensor<8x3x2x2xf32> -> tensor<1x3x8x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weights,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$output_padding,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups,
                       Graph_Layout:$layout);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `,` $weights `strides` $strides `padding` $padding
      `output_padding` $output_padding `dilations` $dilations `groups` $groups
      $layout attr-dict
      `:` type($x) `,` type($weights) `->` type($y)}];
}

def Graph_ConvWeightGradientOp : Graph_InferredOp<"conv_weight_gradient">,
    Graph_Facts<"Anchor", 1, "Lowered"> {
  let summary = "The gradient of conv with respect to its weights";
  let description = [{
    For y = conv(x, w) with the same attributes and `dy` the gradient of y:
    dw[o, c, k…] = Σ_{n, i…} dy[n, o, i…] · x[n, c, i·stride + k·dilation - begin…],
    of the shape of the weights, whose spatial extents `kernel` gives. Whether an
    infinite or NaN element of dy meets the zeros of the padding is not defined.

    Example:
    ```mlir
    %dw = graph.conv_weight_gradient %x, %dy kernel [3, 3] strides [1, 1]
        padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_first
        : tensor<16x64x56x56xf32>, tensor<16x32x56x56xf32> -> tensor<32x64x3x3xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy,
                       DenseI64ArrayAttr:$kernel,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups,
                       Graph_Layout:$layout);
  let results = (outs Graph_Tensor:$dw);
  let assemblyFormat = [{$x `,` $dy `kernel` $kernel `strides` $strides `padding`
      $padding `dilations` $dilations `groups` $groups $layout attr-dict
      `:` type($x) `,` type($dy) `->` type($dw)}];
}

class Graph_PoolOp<string mnemonic, string what, dag extra, string extraFormat>
    : Graph_InferredOp<mnemonic> {
  let summary = what # " over sliding windows";
  let arguments = !con((ins Graph_NumberTensor:$x, DenseI64ArrayAttr:$kernel,
                            DenseI64ArrayAttr:$strides,
                            DenseI64ArrayAttr:$padding,
                            DenseI64ArrayAttr:$dilations,
                            Graph_Layout:$layout), extra);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `kernel` $kernel `strides` $strides `padding`
      $padding `dilations` $dilations $layout }] # extraFormat #
      [{ attr-dict `:` type($x) `->` type($y)}];
}

def Graph_MaxPoolOp : Graph_PoolOp<"max_pool", "Maximum", (ins), "">,
    Graph_Facts<"Anchor", 1, "Follows"> {
  let description = [{
    The largest element of each window; padding never wins. The window moves
    by `strides`; the extents are floor((in + begin + end -
    (kernel-1)·dilation - 1) / stride) + 1. (A model's ceil mode is written as
    more padding at the end.)

    Example:
    ```mlir
    %y = graph.max_pool %x kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1]
        dilations [1, 1] channels_first
        : tensor<1x64x112x112xf32> -> tensor<1x64x56x56xf32>
    ```
  }];
}
def Graph_AvgPoolOp : Graph_PoolOp<"avg_pool", "Mean",
    (ins UnitAttr:$count_include_pad, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$ceil_padding),
    "(`count_include_pad` $count_include_pad^)?">, Graph_Facts<"Anchor", 1, "Rounded"> {
  let description = [{
    The mean of each window. With `count_include_pad` the divisor counts
    padding, else only elements of x. `ceil_padding`, if not empty, says how much of
    the end padding (one entry per spatial dimension) stems from a model's ceil
    mode and is never counted.

    Example:
    ```mlir
    %y = graph.avg_pool %x kernel [7, 7] strides [1, 1] padding [0, 0, 0, 0]
        dilations [1, 1] channels_first
        : tensor<1x64x7x7xf32> -> tensor<1x64x1x1xf32>
    ```
  }];
}

def Graph_MaxPoolGradientOp : Graph_InferredOp<"max_pool_gradient">,
    Graph_Facts<"Anchor", 1, "Follows"> {
  let summary = "The gradient of max_pool with respect to its input";
  let description = [{
    For y = max_pool(x) with the same attributes and `dy` the gradient of y: each
    element of dy is added to the place of the first largest element (a NaN counts
    as the largest) of its window, in row-major order. The result has x's shape.

    Example:
    ```mlir
    %dx = graph.max_pool_gradient %x, %dy kernel [3, 3] strides [2, 2]
        padding [1, 1, 1, 1] dilations [1, 1] channels_first
        : tensor<1x64x112x112xf32>, tensor<1x64x56x56xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy,
                       DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilations,
                       Graph_Layout:$layout);
  let results = (outs Graph_Tensor:$dx);
  let assemblyFormat = [{$x `,` $dy `kernel` $kernel `strides` $strides `padding`
      $padding `dilations` $dilations $layout attr-dict
      `:` type($x) `,` type($dy)}];
}

#endif // TINH_GRAPH_CONTRACTION_OPS
