//===- CudaPlans.td - How kernels run on GPUs --------------*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel function on a GPU says in `graph.plan`, from phase `kernels` on, how
// it is computed. A plan holds what a strategy has decided and nothing that
// follows from it: its blocks, threads and shared memory do. Whoever edits one
// in a module's text gets other code for the same result, or an error that says
// what the kernel or the chips do not allow.
//
// Threads load and store vectors. How many elements these have is a decision:
// what a kernel computes may have no form in vectors. A plan never has more than
// one access has room for, 16 bytes.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CUDA_PLANS
#define TINH_CUDA_PLANS

include "dialects/graph/GraphInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Cuda_Dialect : Dialect {
  let name = "cuda";
  let cppNamespace = "::tinh::cuda";
  let summary = "How kernels run on GPUs.";
  let useDefaultAttributePrinterParser = 1;
}

class Cuda_Attr<string name, string itsMnemonic, list<Trait> traits = []>
    : AttrDef<Cuda_Dialect, name, traits> {
  let mnemonic = itsMnemonic;
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

class Cuda_Plan<string name, string itsMnemonic>
    : Cuda_Attr<name # "Plan", itsMnemonic, [Graph_KernelPlanInterface]>;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def Cuda_TensorCores : Cuda_Attr<"TensorCores", "tensor_cores"> {
  let summary = "What a product does on tensor cores, from sm_80 on";
  let description = [{
    A warp has `warp` rows by columns of the block's tile. Shared memory has
    `stages` steps of the depth, 64 bytes of it each, at a time. `loads` and
    `stores` are those of the plan (`#cuda.contraction`) for this code.
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$warp, "int64_t":$stages,
                        "::mlir::DenseI64ArrayAttr":$loads, "int64_t":$stores);
}

def Cuda_Warpgroups : Cuda_Attr<"Warpgroups", "warpgroups"> {
  let summary = "What a matmul does on warpgroups, on sm_90a";
  let description = [{
    The same by `wgmma`: four warps have 64 rows, or more such, and all columns
    of the tile. Its factors come as those for tensor cores do.
  }];
  let parameters = (ins "int64_t":$stages, "int64_t":$stores);
}

def Cuda_ContractionPlan : Cuda_Plan<"Contraction", "contraction"> {
  let summary = "A matmul in tiles of blocks";
  let description = [{
    Matmuls and dense convolutions. A block computes `tile` rows by
    columns. With FFMA, or dp4a of int8, each of its threads has `thread` rows
    by columns of these, and a step in shared memory has `depth` of the sum.
    Threads load `loads` elements of the rows' and the columns' factor at a time,
    and store `stores` results side by side.

    With `tensor_cores` the kernel has code for these, too, and with `warpgroups`
    a third one; the chip decides which one runs.

    Example: `#cuda.contraction<tile = [64, 64], thread = [4, 4], depth = 16, loads = [4, 4], stores = 4>`
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$tile,
                        "::mlir::DenseI64ArrayAttr":$thread, "int64_t":$depth,
                        "::mlir::DenseI64ArrayAttr":$loads, "int64_t":$stores,
                        OptionalParameter<"::tinh::cuda::TensorCoresAttr">:$tensor_cores,
                        OptionalParameter<"::tinh::cuda::WarpgroupsAttr">:$warpgroups);
  let extraClassDeclaration = [{
    int64_t getTileRows() const { return getTile()[0]; }
    int64_t getTileColumns() const { return getTile()[1]; }
  }];
}

def Cuda_QueriesIn : I32EnumAttr<"QueriesIn", "where a warp has its queries", [
    I32EnumAttrCase<"Registers", 0, "registers">,
    I32EnumAttrCase<"Shared", 1, "shared">
  ]> {
  let cppNamespace = "::tinh::cuda";
}

def Cuda_AttentionTensorCores
    : Cuda_Attr<"AttentionTensorCores", "attention_tensor_cores"> {
  let summary = "What attention does on tensor cores, from sm_80 on";
  let description = [{
    A warp has 16 queries and goes through `keys` keys at a time. What it takes of
    its queries stays in registers, or is read from shared memory again for each
    tile of keys, as `queries` says. The rest is as in `#cuda.attention`.
  }];
  let parameters = (ins "int64_t":$keys, "::tinh::cuda::QueriesIn":$queries,
                        "::mlir::DenseI64ArrayAttr":$loads, "int64_t":$masks,
                        "int64_t":$stores);
}

def Cuda_AttentionPlan : Cuda_Plan<"Attention", "attention"> {
  let summary = "Attention whose scores are never stored";
  let description = [{
    A block has `queries` queries and goes through the keys, `keys` at a time.
    With FFMA 16 threads share a query's row, and each has `rows` rows; steps in
    shared memory have `depth` elements of queries and keys, and then `step` keys
    of values. `loads` are the elements of queries, keys and values that threads
    load at a time, `masks` the scores that are masked and `stores` the results
    that are stored together.

    Example: `#cuda.attention<queries = 32, keys = 64, rows = 8, depth = 16, step = 16, loads = [4, 4, 4], masks = 4, stores = 4>`
  }];
  let parameters = (ins "int64_t":$queries, "int64_t":$keys, "int64_t":$rows,
                        "int64_t":$depth, "int64_t":$step,
                        "::mlir::DenseI64ArrayAttr":$loads, "int64_t":$masks,
                        "int64_t":$stores,
                        OptionalParameter<"::tinh::cuda::AttentionTensorCoresAttr">:$tensor_cores);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

def Cuda_RowsPlan : Cuda_Plan<"Rows", "rows"> {
  let summary = "Rows by teams of threads";
  let description = [{
    Kernels with reductions. A row is an index of the `outer` first dimensions;
    `team` threads compute one, a block has `threads`. With `columns`, which is 0
    otherwise, rows are cut along the last dimension, and a block has so many
    vectors of that. Vectors have `lanes` elements, and `unrolled` iterations of
    a loop are done at a time.

    Example: `#cuda.rows<outer = 1, columns = 0, lanes = 4, team = 256, threads = 256, unrolled = 4>`
  }];
  let parameters = (ins "int64_t":$outer, "int64_t":$columns, "int64_t":$lanes,
                        "int64_t":$team, "int64_t":$threads,
                        "int64_t":$unrolled);
}

def Cuda_WindowsPlan : Cuda_Plan<"Windows", "windows"> {
  let summary = "Sums over windows that slide";
  let description = [{
    Pooling and depthwise convolutions. A thread has a vector of `lanes` channels
    of `outputs` neighbours, whose windows overlap.

    Example: `#cuda.windows<lanes = 4, outputs = 4, threads = 256>`
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$outputs,
                        "int64_t":$threads);
}

def Cuda_SumsAlong : I32EnumAttr<"SumsAlong", "who has a running sum", [
    I32EnumAttrCase<"Block", 0, "block">,
    I32EnumAttrCase<"Thread", 1, "thread">
  ]> {
  let cppNamespace = "::tinh::cuda";
}

def Cuda_ScanPlan : Cuda_Plan<"Scan", "scan"> {
  let summary = "Running sums";
  let description = [{
    A row of elements that are added up is one `row` for a block of `threads`
    threads, or for one of them.

    Example: `#cuda.scan<row = block, threads = 256>`
  }];
  let parameters = (ins "::tinh::cuda::SumsAlong":$row, "int64_t":$threads);
}

//===----------------------------------------------------------------------===//
// Movement, and the rest
//===----------------------------------------------------------------------===//

def Cuda_ScatterPlan : Cuda_Plan<"Scatter", "scatter"> {
  let summary = "Updates whose positions are computed";
  let description = [{
    A block owns `rows` positions and looks for their updates, as many at a time
    as it has threads: `columns` of these have a vector of `lanes` elements each
    of a position, and `slots` positions have such threads. It combines `group`
    updates that it has loaded together. Where `rows` is 0 a thread of `columns`
    in a block has all positions of a line.

    Example: `#cuda.scatter<lanes = 4, columns = 192, slots = 1, rows = 60, group = 4>`
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$columns, "int64_t":$slots,
                        "int64_t":$rows, "int64_t":$group);
}

def Cuda_TransposePlan : Cuda_Plan<"Transpose", "transpose"> {
  let summary = "Tiles that are transposed in shared memory";
  let description = [{
    A thread moves `lanes` elements at a time, so that a warp has a line of a
    tile; a block has `warps` lines at a time.

    Example: `#cuda.transpose<lanes = 1, warps = 8>`
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$warps);
}

def Cuda_ThreadsPlan : Cuda_Plan<"Threads", "threads"> {
  let summary = "Any kernel, element by element";
  let description = [{
    A thread computes a vector of results. Results of one shape have the same
    number of `lanes`; there is one for each shape, in their order.

    Example: `#cuda.threads<lanes = [4], threads = 256>`
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$lanes,
                        "int64_t":$threads);
}

#endif // TINH_CUDA_PLANS
