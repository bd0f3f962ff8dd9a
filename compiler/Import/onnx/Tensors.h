//===- Tensors.h - ONNX tensors as attributes -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_TENSORS_H
#define TINH_COMPILER_IMPORT_ONNX_TENSORS_H

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"

#include "compiler/Graph/GraphOps.h"
#include "compiler/Import/onnx/onnx.pb.h"

#include <string>

namespace tinh::onnx {

using ::onnx::TensorProto;

/// Where a model's tensors are.
struct ModelFile {
  std::string path;
  /// The model's name as its external constants have it, and its folder.
  std::string name, directory;
  uint64_t size = 0;
  /// The model is to be trained.
  bool isTrained = false;
};

/// The element type of a TensorProto.DataType; null if the compiler has none
/// like it.
mlir::Type convertElementType(int dataType, mlir::MLIRContext *context);

/// How many bits the numbers of a TensorProto.DataType have that files hold
/// several of in a byte: 4 or 2; 0 for all others.
int packedBits(int dataType);
/// The same for integers alone.
int integerBits(int dataType);
/// The element type of values of a TensorProto.DataType: the same, but for
/// integers of 4 and 2 bits, each of which has a byte outside of files.
mlir::Type valueElementType(int dataType, mlir::MLIRContext *context);

/// The lowest bits of numbers, as integers of a TensorProto.DataType of so few.
mlir::Value truncateToBits(GraphOps &ops, mlir::Value x, int dataType);

/// The TensorProto.DataType of an element type of the dialect.
int findElementType(mlir::Type element);

/// "FLOAT", or the number of an unknown one.
std::string elementTypeName(int dataType);

/// A tensor as a dense attribute or, if its bytes are many, a reference to a
/// file; of numbers of 4 or 2 bits a vector of their bytes. Null with a reason
/// in `error` if the tensor is malformed.
mlir::TypedAttr convertTensor(const TensorProto &tensor, const ModelFile &file,
                              mlir::MLIRContext *context, std::string &error);

/// The same as a value, built by `builder`: numbers of 4 or 2 bits stay in
/// bytes, which the graph unpacks.
mlir::Value buildTensor(GraphBuilder &builder, const TensorProto &tensor,
                        const ModelFile &file, std::string &error);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_TENSORS_H
