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
        operands, have their shapes, and hold signless elements (ui8 as i8).
        Returns a value for each result.
      }],
      "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "lowerToLinalg",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>
  ];
}

// An op that computes each element of its result from the elements of its
// operands at the same (broadcast) index.
def Graph_ElementwiseTrait : NativeOpTrait<"ElementwiseOpTrait"> {
  let cppNamespace = "::tinh::graph";
}

#endif // TINH_GRAPH_INTERFACES
