//===- GraphInterfaces.td - What clients ask of graph ops ------*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_INTERFACES
#define TINH_GRAPH_INTERFACES

include "mlir/IR/OpBase.td"

def Graph_LowerToLinalgInterface : OpInterface<"LowerToLinalgInterface"> {
  let description = [{
    How an op is expressed in linalg on tensors. The compiler attaches it to the
    ops from outside, a family a file (compiler/Codegen/Linalg).
  }];
  let cppNamespace = "::tinh::graph";
  let methods = [
    InterfaceMethod<[{
        Builds the op's computation on `operands`, which replace its own
        operands, have their shapes, and hold elements as they are stored (ui8
        and f8E5M2 as i8).
        Returns a value for each result.
      }],
      "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "lowerToLinalg",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>
  ];
}

def Graph_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let description = [{
    What an op does to gradients: its vector–Jacobian product, in the graph
    dialect. The compiler attaches it to the ops from outside, a family a file
    (compiler/Gradients/Rules). An op without it cannot be differentiated.
  }];
  let cppNamespace = "::tinh::graph";
  let methods = [
    InterfaceMethod<[{
        Builds the gradients of the values that the op reads
        (graph::readValues), of their types; null where there is none or it is
        not `wanted`. `resultGradients` are those of the results, null where a
        result does not matter. Fails after a diagnostic.
      }],
      "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildGradients",
      (ins "::mlir::OpBuilder &":$builder,
           "::llvm::ArrayRef<::mlir::Value>":$resultGradients,
           "::llvm::ArrayRef<bool>":$wanted)>
  ];
}

// An op that computes each element of its result from the elements of its
// operands at the same (broadcast) index.
def Graph_ElementwiseTrait : NativeOpTrait<"ElementwiseOpTrait"> {
  let cppNamespace = "::tinh::graph";
}

def Graph_AlongAxisInterface : OpInterface<"AlongAxisOpInterface"> {
  let description = [{
    An op that computes each row of its first operand along `axis` by itself: a
    softmax, a running sum. Its result has the type of that operand.
  }];
  let cppNamespace = "::tinh::graph";
  let methods = [
    InterfaceMethod<"", "uint64_t", "getAxis">,
    InterfaceMethod<"", "void", "setAxis", (ins "uint64_t":$axis)>,
    InterfaceMethod<[{
        What elements at the end of a row are to be for the others to have the
        same results as without them; nothing if they do not matter.
      }],
      "std::optional<::tinh::graph::Neutral>", "getRowPadding">
  ];
}

// An op that combines the elements of each row up to each: of numbers that are
// not negative, none of its results is, and larger ones lead to larger results.
def Graph_CumulativeTrait : NativeOpTrait<"CumulativeOpTrait"> {
  let cppNamespace = "::tinh::graph";
}

// An op that all ranks run together, on a tensor of each.
def Graph_CollectiveTrait : NativeOpTrait<"CollectiveOpTrait"> {
  let cppNamespace = "::tinh::graph";
}

def Graph_KernelPlanInterface : AttrInterface<"KernelPlanInterface"> {
  let description = [{
    How a kernel is computed: what a strategy decided, with all the numbers that
    its code depends on. A kernel function carries it as `graph.plan` from phase
    `kernels` on; the dialects of the devices define one for each strategy.
  }];
  let cppNamespace = "::tinh::graph";
  let methods = [
    InterfaceMethod<"The name of the strategy that the plan is one of.",
      "::llvm::StringRef", "getStrategy", (ins), [{}],
      [{ return ConcreteAttr::getMnemonic(); }]>
  ];
}

#endif // TINH_GRAPH_INTERFACES
