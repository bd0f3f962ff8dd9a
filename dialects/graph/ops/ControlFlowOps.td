//===- ControlFlowOps.td - Branches and loops ------------------*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_CONTROL_FLOW_OPS
#define TINH_GRAPH_CONTROL_FLOW_OPS

include "dialects/graph/GraphBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/LoopLikeInterface.td"

// What lies in the regions may read any value from above. Like all ops of the
// dialect, control flow has no side effects: a result that nobody reads need
// not be computed.

def Graph_IfOp : Graph_Op<"if", [
    DeclareOpInterfaceMethods<RegionBranchOpInterface>,
    SingleBlockImplicitTerminator<"YieldOp">, NoRegionArguments,
    RecursiveMemoryEffects, RecursivelySpeculatable]>, Graph_Facts<"None", 1, "Full"> {
  let summary = "One of two computations, chosen when the model runs";
  let description = [{
    Runs the first region if `condition` is true, else the second; the
    results are what it yields.

    Example:
    ```mlir
    %y = graph.if %c : (tensor<4xf32>) {
      %0 = graph.relu %x : tensor<4xf32>
      graph.yield %0 : tensor<4xf32>
    } else {
      graph.yield %x : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Graph_Condition:$condition);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$then_branch, SizedRegion<1>:$else_branch);
  let assemblyFormat = [{$condition (`:` `(` type($outputs)^ `)`)?
      attr-dict-with-keyword $then_branch `else` $else_branch}];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    YieldOp getThenYield();
    YieldOp getElseYield();
  }];
}

def Graph_WhileOp : Graph_Op<"while", [
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>,
    DeclareOpInterfaceMethods<LoopLikeOpInterface>,
    SingleBlock, RecursiveMemoryEffects]>, Graph_Facts<"None", 1, "Full"> {
  let summary = "A loop that runs as long as a condition holds";
  let description = [{
    The first region computes from the carried values whether to go on, the
    second one their next values. The results are the carried values for which
    the condition does not hold, which may be the first ones.

    Example, the first power of %x above %limit:
    ```mlir
    %y = graph.while (%p = %x) : (tensor<f32>) {
      %c = graph.compare less_equal %p, %limit : tensor<f32>, tensor<f32> -> tensor<i1>
      graph.condition %c
    } do (%p) {
      %next = graph.mul %p, %x : tensor<f32>, tensor<f32> -> tensor<f32>
      graph.yield %next : tensor<f32>
    }
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$initial);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ConditionOp getConditionOp();
    YieldOp getYield();
  }];
}

def Graph_ConditionOp : Graph_Op<"condition", [Pure, Terminator,
    HasParent<"WhileOp">,
    DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface>]>,
    Graph_Facts<"None", 1, "Full"> {
  let summary = "Whether a loop goes on";
  let description = "Example: `graph.condition %c`";
  let arguments = (ins Graph_Condition:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def Graph_ScanOp : Graph_Op<"scan", [
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>,
    DeclareOpInterfaceMethods<LoopLikeOpInterface>,
    AttrSizedOperandSegments, SingleBlockImplicitTerminator<"YieldOp">,
    RecursiveMemoryEffects, RecursivelySpeculatable]>, Graph_Facts<"None", 1, "Full"> {
  let summary = "A loop over the rows of tensors that makes rows of tensors";
  let description = [{
    The region's arguments are the index of the iteration, from 0 (tensor<i64>), the
    carried values, whose first ones are `initial`, and row `index` of each of
    `xs`: `xs[index, …]`. It yields the next carried values and rows of the
    stacked results. The op's results are the last carried values, then the
    stacked rows, `length` of each.

    There are `length` iterations, or as many as `trip_count` if it is there and
    less (none if it is negative). With `condition` the loop also stops before an
    iteration for which the condition is false: that of the first is
    `condition`, that of each other one is what the region yields before the
    carried values. Rows that no iteration has made are zeros.

    Example, running sums until one is above %limit:
    ```mlir
    %sum, %sums = graph.scan %i length 10 while %true carry (%a = %zero) over (%x = %xs)
        : (tensor<4xf32>, tensor<10x4xf32>) -> (tensor<4xf32>, tensor<10x4xf32>) {
      %0 = graph.add %a, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
      %1 = graph.reduce max %0 axes [0] : tensor<4xf32> -> tensor<f32>
      %go = graph.compare less_equal %1, %limit : tensor<f32>, tensor<f32> -> tensor<i1>
      graph.yield %go, %0, %0 : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$length, Optional<Graph_Count>:$trip_count,
                       Optional<Graph_Condition>:$condition,
                       Variadic<Graph_Tensor>:$initial, Variadic<Graph_Tensor>:$xs);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Whether the region runs exactly `length` times.
    bool runsToEnd() { return !getTripCount() && !getCondition(); }

    // The region's arguments.
    ::mlir::BlockArgument getIndex() { return getBody().getArgument(0); }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getCarried() {
      return getBody().getArguments().slice(1, getInitial().size());
    }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getRows() {
      return getBody().getArguments().drop_front(1 + getInitial().size());
    }

    // What the region yields.
    YieldOp getYield();
    /// Whether the next iteration runs; null without a `condition`.
    ::mlir::Value getNextCondition();
    ::mlir::OperandRange getNext();
    ::mlir::OperandRange getNextRows();

    // The results.
    ::mlir::ResultRange getFinals() {
      return getOutputs().take_front(getInitial().size());
    }
    ::mlir::ResultRange getStacked() {
      return getOutputs().drop_front(getInitial().size());
    }
  }];
}

#endif // TINH_GRAPH_CONTROL_FLOW_OPS
