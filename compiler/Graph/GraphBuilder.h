//===- GraphBuilder.h - Checked construction of graph ops -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all that build graphs share. Models come from outside, so an op that
// does not fit its operands is an ordinary event: `create` says what is wrong
// where the ops' own builders would abort.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_GRAPH_GRAPHBUILDER_H
#define TINH_COMPILER_GRAPH_GRAPHBUILDER_H

#include "compiler/Support/Interruption.h"
#include "dialects/graph/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallBitVector.h"

#include <optional>
#include <string>

namespace tinh {

/// Constants of at most this many elements are folded during import, which is
/// what shape computations need.
inline constexpr int64_t kMaxFoldedElements = 1024;

/// Constants of at most this many bytes are held in the IR.
inline constexpr uint64_t kMaxInlineBytes = 1024;

/// The number of elements of a tensor with these extents; nothing if an extent
/// is negative or the tensor is beyond any memory.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// "[1, 3, 224]", for messages.
std::string formatShape(llvm::ArrayRef<int64_t> shape);

/// A dense attribute from little-endian elements, a boolean in a byte. `bytes`
/// must have the size that `type` asks for.
mlir::DenseElementsAttr denseFromBytes(mlir::RankedTensorType type,
                                       llvm::ArrayRef<char> bytes);

/// The elements of integers or booleans, sign- or zero-extended.
llvm::SmallVector<int64_t> denseToInts(mlir::DenseElementsAttr value);

/// The elements of numbers of any type, as doubles.
llvm::SmallVector<double> denseToDoubles(mlir::DenseElementsAttr value);

class GraphBuilder {
public:
  /// Builds at the end of `block`. `directory` is the model's, to which the
  /// names in external constants are relative.
  GraphBuilder(mlir::Block *block, llvm::StringRef directory);
  /// Builds where `builder` stands.
  GraphBuilder(const mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), loc(location) {}

  mlir::MLIRContext *context() { return builder.getContext(); }
  mlir::OpBuilder &raw() { return builder; }

  /// Ops made from now on belong to the node with this name.
  void setLocation(mlir::Location location) { loc = location; }
  /// What may end the building of nodes; may be null.
  void setInterruption(Interruption *next) { interruptedBy = next; }
  Interruption *interruption() const { return interruptedBy; }
  mlir::Location location() const { return loc; }

  /// The result of the new op `name` ("graph.add"). `result` is needed for ops
  /// that do not infer it. Null if an operand is null or the op is invalid;
  /// `error` then says why.
  mlir::Value create(llvm::StringRef name, mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                     mlir::Type result = {});

  template <typename OpTy>
  mlir::Value create(mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                     mlir::Type result = {}) {
    return create(OpTy::getOperationName(), operands, attributes, result);
  }

  /// A new op with regions that are filled. Null, with an error, if it is
  /// invalid.
  mlir::Operation *create(mlir::OperationState &state);

  mlir::Value constant(mlir::TypedAttr value);

  /// The elements of a small constant or of ops on small constants.
  std::optional<mlir::DenseElementsAttr> constantOf(mlir::Value value);

  /// Forgets what is known of values, of which some are erased.
  void forgetValues() {
    known.clear();
    bounded.clear();
    bounds.clear();
    neverNegative.clear();
  }

  //===--- Dimensions whose size the run decides --------------------------===//

  /// Whether a part of a dimension of `value` is used.
  bool isBounded(mlir::Value value, int64_t dimension);
  bool isBounded(mlir::Value value);
  /// Whether any value has such a dimension.
  bool hasBounded() const { return !bounded.empty(); }
  /// How much of it is used, a tensor<i64>: where that is known to be the size
  /// of another dimension, the same value.
  mlir::Value dimensionSize(mlir::Value value, int64_t dimension);
  /// `value`, of which `size` elements along a dimension are used: all of them
  /// if the size is a constant.
  mlir::Value setDimensionSize(mlir::Value value, int64_t dimension,
                               mlir::Value size);
  /// The largest elements that integers which depend on such sizes may have, as
  /// the shapes that models compute; those of a constant.
  std::optional<mlir::DenseElementsAttr> boundOf(mlir::Value value);
  /// Whether no element of what is computed from such sizes is negative. Of
  /// what may be, nothing is said.
  bool isNeverNegative(mlir::Value value, unsigned depth = 0);
  /// Notes how large a size, a tensor<i64>, may be.
  void setBound(mlir::Value value, int64_t bound);
  /// Notes bounded dimensions of what an op with regions makes or takes.
  void markBounded(mlir::Value value, const llvm::SmallBitVector &dimensions);
  llvm::SmallBitVector boundedDimensions(mlir::Value value);

  /// Takes the first message of a failed `create`; empty if none failed.
  std::string takeError() { return std::exchange(error, {}); }

  mlir::NamedAttribute attribute(llvm::StringRef name, mlir::Attribute value) {
    return builder.getNamedAttr(name, value);
  }
  mlir::NamedAttribute attribute(llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> values) {
    return attribute(name, builder.getDenseI64ArrayAttr(values));
  }
  mlir::NamedAttribute attribute(llvm::StringRef name, int64_t value) {
    return attribute(name, builder.getI64IntegerAttr(value));
  }
  mlir::NamedAttribute attribute(llvm::StringRef name, double value) {
    return attribute(name, builder.getF64FloatAttr(value));
  }

private:
  mlir::Operation *build(llvm::StringRef name, mlir::ValueRange operands,
                         llvm::ArrayRef<mlir::NamedAttribute> attributes,
                         mlir::Type result);
  mlir::Value fold(mlir::Operation *op);
  std::optional<mlir::DenseElementsAttr> evaluate(mlir::Value value,
                                                  unsigned depth);
  std::optional<mlir::DenseElementsAttr> read(graph::ExternalAttr external);
  void propagateBounded(mlir::Operation *op);
  bool findNeverNegative(mlir::Value value, unsigned depth);
  bool isMonotone(mlir::Operation *op);
  std::optional<mlir::DenseElementsAttr> boundOf(mlir::Value value,
                                                 unsigned depth);

  mlir::OpBuilder builder;
  mlir::Location loc;
  std::string directory;
  std::string error;
  Interruption *interruptedBy = nullptr;
  llvm::DenseMap<mlir::Value, mlir::DenseElementsAttr> known;
  llvm::DenseMap<mlir::Value, llvm::SmallBitVector> bounded;
  llvm::DenseMap<mlir::Value, mlir::DenseElementsAttr> bounds;
  llvm::DenseMap<mlir::Value, bool> neverNegative;
};

/// Erases ops that nothing needs, also in the regions of others.
void eraseDeadOps(mlir::Block &block);

} // namespace tinh

#endif // TINH_COMPILER_GRAPH_GRAPHBUILDER_H
