//===- QuantizationOps.td - To and from integers with a scale --*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_QUANTIZATION_OPS
#define TINH_GRAPH_QUANTIZATION_OPS

include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphInterfaces.td"

// A quantised tensor has integers q that stand for (q - zero_point) · scale.
// One scale for the tensor is a scalar; one for each index of a dimension has
// that dimension's extent and 1 elsewhere; one for each block of indices is
// that of a tensor whose dimension has been reshaped to [blocks, indices].
// Floats of 8 and 4 bits stand for q · scale in the same way, but for the powers
// of two, f8E8M0FNU, which are scales that a cast makes numbers of.
def Graph_QuantizedFloat
    : AnyTypeOf<[F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F4E2M1FN]>;
def Graph_Quantized : AnyTypeOf<[I8, UI8, I16, UI16, Graph_QuantizedFloat]>;
def Graph_Dequantized : AnyTypeOf<[I8, UI8, I16, UI16, I32, Graph_QuantizedFloat]>;
def Graph_QuantizedTensor : Graph_TensorOf<[Graph_Quantized],
    "integers of 8 or 16 bits, f8 but f8E8M0FNU, or f4">;
def Graph_DequantizedTensor : Graph_TensorOf<[Graph_Dequantized],
    "integers of 8 to 32 bits, f8 but f8E8M0FNU, or f4">;

def Graph_QuantizeOp
    : Graph_Op<"quantize", [Pure, Graph_ElementwiseTrait]>, Graph_ElementwiseFacts<1, "Full"> {
  let summary = "The integers, or floats of 8 or 4 bits, that stand for floats, by a scale";
  let description = [{
    y = saturate(round(x / scale) + zero_point), halves to even. The scale and
    the zero point, which has the result's element type, broadcast to x as in
    NumPy. Compiled code multiplies by 1 / scale where that is a constant: an
    element whose quotient is next to a half may become the other neighbour. What
    NaN becomes is unspecified.

    A float of 8 or 4 bits is the nearest to x / scale + zero_point, halves to even,
    within the range of its type; NaN stays NaN, but for f4E2M1FN, where it becomes 0.

    Example:
    ```mlir
    %y = graph.quantize %x scale %s zero_point %z
        : tensor<8x4xf32>, tensor<f32>, tensor<ui8> -> tensor<8x4xui8>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
                       Optional<Graph_QuantizedTensor>:$zero_point);
  let results = (outs Graph_QuantizedTensor:$y);
  let assemblyFormat = [{$x `scale` $scale (`zero_point` $zero_point^)?
      attr-dict `:` type($x) `,` type($scale) (`,` type($zero_point)^)?
      `->` type($y)}];
  let hasVerifier = 1;
}

def Graph_DequantizeOp
    : Graph_Op<"dequantize", [Pure, Graph_ElementwiseTrait]>,
    Graph_ElementwiseFacts<1, "Full"> {
  let summary = "The floats that integers, or floats of 8 or 4 bits, stand for, by a scale";
  let description = [{
    y = (x - zero_point) · scale, in the scale's element type. The scale and the
    zero point, which has x's element type, broadcast to x as in NumPy.

    Example:
    ```mlir
    %y = graph.dequantize %x scale %s
        : tensor<8x4xi8>, tensor<8x1xf32> -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Graph_DequantizedTensor:$x, Graph_FloatTensor:$scale,
                       Optional<Graph_DequantizedTensor>:$zero_point);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = [{$x `scale` $scale (`zero_point` $zero_point^)?
      attr-dict `:` type($x) `,` type($scale) (`,` type($zero_point)^)?
      `->` type($y)}];
  let hasVerifier = 1;
}

def Graph_UnpackInt4Op : Graph_Op<"unpack_int4", [Pure]>, Graph_Facts<"Movement", 1, "Full"> {
  let summary = "The two numbers of 4 bits that each byte holds";
  let description = [{
    Along `axis`, the numbers 2i and 2i + 1 are the low and the high four bits of
    byte i: from 0 to 15, or, of the signed type i8, from -8 to 7, or floats.

    Example: `%y = graph.unpack_int4 %x axis 0 : tensor<16x64xui8> -> tensor<32x64xi8>`
  }];
  let arguments = (ins Graph_TensorOf<[UI8], "ui8">:$x, I64Attr:$axis);
  let results = (outs Graph_TensorOf<[I8, UI8, F4E2M1FN], "i8, ui8 or f4">:$y);
  let assemblyFormat =
      "$x `axis` $axis attr-dict `:` type($x) `->` type($y)";
  let hasVerifier = 1;
}

#endif // TINH_GRAPH_QUANTIZATION_OPS
