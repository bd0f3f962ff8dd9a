//===- AlongAxis.td - What ops along an axis share ----*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TINH_GRAPH_ALONG_AXIS
#define TINH_GRAPH_ALONG_AXIS

include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphInterfaces.td"

// An op whose arguments begin with `$x` and have an I64Attr `$axis`, as its
// interface says; types, layouts, dimensions whose sizes the run decides and
// pruning follow from that. It defines getRowPadding().
class Graph_AlongAxisOp<string mnemonic, list<Trait> traits = []>
    : Graph_InferredOp<mnemonic, traits # [Graph_AlongAxisInterface]> {
  let results = (outs Graph_Tensor:$y);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location> location,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      auto x = ::llvm::cast<::mlir::RankedTensorType>(adaptor.getX().getType());
      types.push_back(x);
      return ::tinh::graph::checkAxis(location, getOperationName(), x,
                                      adaptor.getAxis());
    }
  }];
}

#endif // TINH_GRAPH_ALONG_AXIS
