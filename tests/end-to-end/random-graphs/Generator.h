//===- Generator.h - Random graphs that are valid ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds modules of small graphs, each a few ops long, from a seed. Graphs must
// have results that rounding hardly changes: the generator keeps numbers small,
// away from poles, and lets only exact numbers be compared or truncated.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_RANDOM_GRAPHS_GENERATOR_H
#define TINH_TESTS_RANDOM_GRAPHS_GENERATOR_H

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <random>

namespace tinh::test {

using Shape = llvm::SmallVector<int64_t>;

/// A value and what is known of its elements.
struct Known {
  mlir::Value value;
  double bound = 1;  // They are at most this large.
  bool exact = true; // Every way of computing them gives the same bits.

  mlir::RankedTensorType type() const {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  int64_t rank() const { return type().getRank(); }
  mlir::Type element() const { return type().getElementType(); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(element()); }
  bool isBool() const { return element().isInteger(1); }
  bool isEmpty() const { return type().getNumElements() == 0; }
};

/// Whether inputs are to hold NaN and infinities, too. Graphs then have no ops
/// that leave open what they make of them.
inline bool hasSpecialNumbers(uint64_t seed) { return seed % 4 == 3; }

class Generator {
public:
  Generator(uint64_t seed, mlir::MLIRContext &context);

  /// A module whose function has the results of so many graphs that have
  /// nothing to do with one another. Once only.
  mlir::OwningOpRef<mlir::ModuleOp> make(unsigned graphs);

  //===--- Choices ---===//

  /// From `low` to `high`, both included.
  int64_t number(int64_t low, int64_t high);
  bool chance(double probability);
  double real(double low, double high);
  template <typename List> auto choose(const List &list) {
    return *(std::begin(list) + number(0, std::size(list) - 1));
  }
  template <typename T> T choose(std::initializer_list<T> list) {
    return *(list.begin() + number(0, list.size() - 1));
  }

  //===--- Values ---===//

  /// A value of the graph, most often the last one.
  Known any();
  Known last() { return values.back(); }
  /// One of small-enough elements, for ops that make large ones of them.
  Known anyBounded(double limit);
  /// An input of the function or a constant, both of elements in [-1, 1], or
  /// integers in [-8, 8].
  Known leaf(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// A constant of elements from `low` to `high`.
  Known constant(llvm::ArrayRef<int64_t> shape, mlir::Type element, double low,
                 double high);
  Known splat(mlir::Type element, double value);
  /// A value or a leaf that broadcasts with `x`.
  Known partner(const Known &x);
  Shape randomShape(int64_t minRank, int64_t maxRank);
  mlir::Type randomElement();

  /// Makes an op; its operands are values. Its one result is not yet `add`ed.
  template <typename Op, typename... Args> mlir::Value create(Args &&...args) {
    return Op::create(builder, builder.getUnknownLoc(),
                      std::forward<Args>(args)...);
  }
  /// Offers a value to the ops to come; a large one is erased: false.
  bool add(mlir::Value value, double bound, bool exact);

  /// A value of the graph, or a leaf, of this type.
  Known like(mlir::RankedTensorType type);
  /// Makes ops from the values there are, so many if they fit.
  void makeOps(int64_t count);

  /// A new block in `region` that ops are made in, as long as this lives. They
  /// may read what there was before; what they are is forgotten.
  class Body {
  public:
    struct Argument {
      mlir::RankedTensorType type;
      double bound;
      bool exact;
    };
    Body(Generator &generator, mlir::Region &region,
         llvm::ArrayRef<Argument> arguments = {});
    ~Body();

  private:
    Generator &generator;
    mlir::OpBuilder::InsertionGuard guard;
    size_t before;
  };
  /// How many bodies ops are made in now.
  unsigned depth = 0;

  /// `x`, or its hyperbolic tangent if it may be larger than `limit`.
  Known settle(Known x, double limit);
  /// 1 + |x|
  Known positive(Known x);

  mlir::OpBuilder builder;
  const bool special;

private:
  mlir::Value addInput(mlir::RankedTensorType type);
  void makeGraph();
  void returnUnused(mlir::func::FuncOp function);

  std::mt19937_64 engine;
  mlir::Block *body = nullptr;
  std::vector<Known> values; // Of the current graph.
};

/// What makes some op of a family from the values there are, or finds that none
/// fits and says false.
struct Family {
  unsigned weight;
  bool (*make)(Generator &);
};
llvm::ArrayRef<Family> elementwiseFamilies();
llvm::ArrayRef<Family> contractionFamilies();
llvm::ArrayRef<Family> movementFamilies();
llvm::ArrayRef<Family> reductionFamilies();
llvm::ArrayRef<Family> compositeFamilies();
llvm::ArrayRef<Family> controlFlowFamilies();

/// No tensor has more elements than this.
inline constexpr int64_t kMaxElements = 16384;

inline bool isSmall(llvm::ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  return size <= kMaxElements;
}

} // namespace tinh::test

#endif // TINH_TESTS_RANDOM_GRAPHS_GENERATOR_H
