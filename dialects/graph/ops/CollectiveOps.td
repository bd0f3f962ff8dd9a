//===- CollectiveOps.td - What ranks compute together ----------*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_COLLECTIVE_OPS
#define TINH_GRAPH_COLLECTIVE_OPS

include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphInterfaces.td"
include "dialects/graph/ops/ReductionOps.td"

// Several processes, the ranks 0 to `ranks` - 1, run the same function, each on
// inputs of its own. MPI's terms (tinh/collectives.h).
// MemAlloc keeps CSE, code motion and rematerialisation from merging, hoisting and
// repeating them; dead ones are erased, on all ranks alike. Only the pass
// schedule-collectives merges and moves them.
class Graph_CollectiveOp<string mnemonic>
    : Graph_Op<mnemonic, [Graph_CollectiveTrait, InferTypeOpAdaptor]>;

def Graph_Reducible : AnyTypeOf<[F64, F32, F16, BF16, I64, I32]>;
def Graph_ReducibleTensor
    : Graph_TensorOf<[Graph_Reducible], "f64, f32, f16, bf16, i64 or i32">;

def Graph_AllReduceOp : Graph_CollectiveOp<"all_reduce">, Graph_Facts<"None", 1, "Full"> {
  let summary = "The reduction of the tensors of all ranks";
  let description = [{
    `kind` is sum, mean or max, the mean one of floats. Elements are added in the order
    of the ranks, f16 and bf16 in f32. With `communication_dtype`, f32 is sent as bf16 and added in
    f32; the result is rounded to bf16, too.

    Collectives stand in a function's own block, in no branch or loop: all ranks run
    the same ones, in the same order. The tensors of all ranks have one type.

    Example: `%g = graph.all_reduce mean %dw communication_dtype bf16 : tensor<1000x100xf32>`
  }];
  let arguments = (ins Graph_ReduceKind:$kind, Graph_ReducibleTensor:$x,
                       OptionalAttr<TypeAttr>:$communication_dtype);
  let results = (outs Res<Graph_ReducibleTensor, "", [MemAlloc]>:$y);
  let assemblyFormat = [{$kind $x (`communication_dtype` $communication_dtype^)? attr-dict `:` type($x)}];
}

def Graph_ReduceScatterOp : Graph_CollectiveOp<"reduce_scatter">,
    Graph_Facts<"None", 1, "Full"> {
  let summary = "Each rank's part of the reduction of the tensors of all ranks";
  let description = [{
    The first dimension is divided by the number of ranks, and rank r has the part r of
    what `all_reduce` gives.

    Example: `%g = graph.reduce_scatter mean %dw ranks 4 : tensor<1000xf32> -> tensor<250xf32>`
  }];
  let arguments = (ins Graph_ReduceKind:$kind, Graph_ReducibleTensor:$x,
                       I64Attr:$ranks, OptionalAttr<TypeAttr>:$communication_dtype);
  let results = (outs Res<Graph_ReducibleTensor, "", [MemAlloc]>:$y);
  let assemblyFormat = [{$kind $x `ranks` $ranks (`communication_dtype` $communication_dtype^)? attr-dict
      `:` type($x) `->` type($y)}];
}

def Graph_AllGatherOp : Graph_CollectiveOp<"all_gather">, Graph_Facts<"None", 1, "Full"> {
  let summary = "The tensors of all ranks, one behind the other";
  let description = [{
    Concatenated along the first dimension, in the order of the ranks.

    Example: `%w = graph.all_gather %part ranks 4 : tensor<250xf32> -> tensor<1000xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$ranks);
  let results = (outs Res<Graph_Tensor, "", [MemAlloc]>:$y);
  let assemblyFormat =
      [{$x `ranks` $ranks attr-dict `:` type($x) `->` type($y)}];
}

def Graph_CollectiveBroadcastOp : Graph_CollectiveOp<"collective_broadcast">,
    Graph_Facts<"None", 1, "Full"> {
  let summary = "The tensor of one rank, for all";
  let description = [{
    MPI's broadcast; `graph.broadcast` is NumPy's, of the extents of one tensor.

    Example: `%y = graph.collective_broadcast %x root 0 : tensor<8xf32>`
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$root);
  let results = (outs Res<Graph_Tensor, "", [MemAlloc]>:$y);
  let assemblyFormat = "$x `root` $root attr-dict `:` type($x)";
}

#endif // TINH_GRAPH_COLLECTIVE_OPS
