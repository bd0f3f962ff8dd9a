//===- Inputs.h - The types of a model's inputs -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_INPUTS_H
#define TINH_COMPILER_IMPORT_ONNX_INPUTS_H

#include "compiler/Import/Import.h"
#include "compiler/Import/onnx/Problems.h"
#include "compiler/Import/onnx/onnx.pb.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace tinh::onnx {

struct Input {
  std::string name;
  mlir::RankedTensorType type;
  /// Not null: a constant takes its place.
  mlir::DenseElementsAttr value;
};

/// An input of the model: a tensor, a sequence of so many, each of which is an
/// input of its own, or an optional that is not there.
struct ModelInput {
  std::string name;
  bool isSequence = false;
  /// Whether its tensors are the bytes of strings.
  bool isString = false;
  /// What is wrong with it has been noted.
  bool isUnknown = false;
  std::vector<Input> tensors;
};

/// What a tensor of a sequence at an interface is called: "x.0".
std::string elementName(llvm::StringRef sequence, size_t i);

/// The inputs that are no initializers, with static shapes: the model's own, or
/// those that the options give. A dimension's symbol that one given shape
/// settles is known for all inputs. Options say how long sequences are, and
/// which optionals are there. What is wrong, with initializers of inputs, too,
/// is noted.
std::vector<ModelInput> readInputs(const GraphProto &graph,
                                   const ImportOptions &options,
                                   mlir::MLIRContext *context,
                                   Problems &problems);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_INPUTS_H
