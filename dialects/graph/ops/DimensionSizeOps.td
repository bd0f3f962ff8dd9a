//===- DimensionSizeOps.td - How much of a dimension is used ----*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_DIMENSION_SIZE_OPS
#define TINH_GRAPH_DIMENSION_SIZE_OPS

include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphInterfaces.td"

def Graph_SetDimensionSizeOp : Graph_InferredOp<"set_dimension_size">,
    Graph_Facts<"None", 1, "NotInModels"> {
  let summary = "The same tensor, of which a part of one dimension is used";
  let description = [{
    The first `size` elements along `dimension` are the tensor, what is behind them
    is padding without a meaning: the type holds the *bound* of a dimension whose
    size the run decides. `size` is from 0 to the bound. What reads the result means
    the tensor without its padding. Pass `resolve-dimension-sizes`, first in phase
    `normalised`, makes ops on the whole tensors of that.

    Example: `%y = graph.set_dimension_size %x, %n dimension 0 : tensor<100x4xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x, Graph_Count:$size, I64Attr:$dimension);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat =
      "$x `,` $size `dimension` $dimension attr-dict `:` type($x)";
}

def Graph_DimensionSizeOp : Graph_InferredOp<"dimension_size">,
    Graph_Facts<"None", 1, "NotInModels"> {
  let summary = "How much of a dimension is used";
  let description = [{
    What `set_dimension_size` has said of `x` or of what x was made of, as a scalar;
    the extent of a dimension that is used as a whole.

    Example: `%n = graph.dimension_size %x dimension 0 : tensor<100x4xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$dimension);
  let results = (outs Graph_Tensor:$size);
  let assemblyFormat = "$x `dimension` $dimension attr-dict `:` type($x)";
}

#endif // TINH_GRAPH_DIMENSION_SIZE_OPS
