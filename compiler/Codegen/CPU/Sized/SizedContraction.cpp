//===- SizedContraction.cpp - Products of any size --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Register tiles of rows of A by a panel of columns of B. A is read where it
// lies, an element at a time. The rows of B are found by a table of offsets,
// so that they may be packed panels, a matrix, or the shifted copies of an
// image that a convolution multiplies with. Whole vectors of B are read.
//
// Tiles are of several heights: the highest that fits the registers for as many
// rows as possible, then lower ones. Single rows are wide instead.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/Tile.h"
#include "compiler/Codegen/CPU/Sized/Sized.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

struct Strides {
  Value row, column;
};

class SizedContractionEmitter {
public:
  SizedContractionEmitter(SizedKernel &kernel, Type element, int64_t lanes,
                          OpBuilder &b)
      : kernel(kernel), b(b), loc(kernel.source.getLoc()), scalar(b, loc, 1),
        element(element), lanes(lanes), n(kernel.size(b, 0)),
        k(kernel.size(b, 1)), a(strides(2)), initial(strides(4)),
        result(strides(6)) {}

  LogicalResult emit(SizedContractionPlanAttr plan);

private:
  using Values = SmallVector<Value>;

  Strides strides(int64_t at) {
    return {kernel.size(b, at), kernel.size(b, at + 1)};
  }
  VectorType vectorType() { return VectorType::get({lanes}, element); }
  Value zeroVector() {
    return arith::ConstantOp::create(b, loc, vectorType(),
                                     b.getZeroAttr(vectorType()));
  }
  /// Elements from `column` on that are columns, of a vector.
  Value columnMask(Value column) {
    Value left =
        arith::MaxSIOp::create(b, loc, scalar.sub(n, column), scalar.index(0));
    return firstLanes(b, loc, left, lanes);
  }

  /// A register tile, whose first element is at (row, column).
  struct Tile {
    int64_t rows, vectors;
    Value row, column;
    SmallVector<Value> masks; // Of each vector.
  };

  LogicalResult emitTiles(Value from, Value to, int64_t rows, int64_t vectors);
  LogicalResult emitTile(const Tile &tile);
  FailureOr<Values> multiply(const Tile &tile, ValueRange sums);
  Values loadVectors(const Tile &tile);
  Values repeatRows(const Tile &tile);
  Values loadStrided(const Tile &tile);
  Values loadInitial(const Tile &tile);
  void storeResult(const Tile &tile, ArrayRef<Value> sums);
  /// Copies between the stack's tile and memory with any strides.
  void copy(const Tile &tile, Value memref, const Strides &strides,
            bool toStack);
  /// Index of element (row, column) of a matrix.
  Value at(const Strides &strides, Value row, Value column) {
    return scalar.add(scalar.mul(row, strides.row),
                      scalar.mul(column, strides.column));
  }
  /// That of vector `v` of the tile's row `r`, in rows of contiguous elements.
  Value vectorAt(const Strides &strides, const Tile &tile, int64_t r,
                 int64_t v) {
    Value row = scalar.add(tile.row, scalar.index(r));
    Value column = scalar.add(tile.column, scalar.index(v * lanes));
    return scalar.add(scalar.mul(row, strides.row), column);
  }

  SizedKernel &kernel;
  OpBuilder &b;
  Location loc;
  Pull scalar;
  Type element;
  int64_t lanes;
  Value n, k;
  Strides a, initial, result;
  Value stack; // Memory for a tile, its rows one after the other.
};

} // namespace

/// One step of k for the tile: rows are addressed in groups of three from one
/// register each, which the scales of x86 addresses allow.
FailureOr<SmallVector<Value>>
SizedContractionEmitter::multiply(const Tile &tile, ValueRange sums) {
  constexpr int64_t kGroup = 3;
  Value inputs = kernel.memory(0), weights = kernel.memory(1),
        offsets = kernel.memory(2);
  Value twice = scalar.mul(a.row, 2);
  Values state; // Where each group is, then the sums.
  for (int64_t r = 0; r < tile.rows; r += kGroup)
    state.push_back(scalar.mul(scalar.add(tile.row, scalar.index(r)), a.row));
  size_t groups = state.size();
  llvm::append_range(state, sums);
  auto step = [&](Value kk, ValueRange state) -> FailureOr<Values> {
    Value offset = memref::LoadOp::create(b, loc, offsets, kk);
    Value from = scalar.add(offset, tile.column);
    Values columns, rows, next, sums(state.drop_front(groups));
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value position = scalar.add(from, scalar.index(v * lanes));
      if (tile.rows > 1) {
        columns.push_back(
            vector::LoadOp::create(b, loc, vectorType(), weights, position));
        continue;
      }
      columns.push_back(
          vector::MaskedLoadOp::create(b, loc, vectorType(), weights, position,
                                       tile.masks[v], zeroVector()));
    }
    for (int64_t r = 0; r < tile.rows; ++r) {
      Value group = state[r / kGroup], within = r % kGroup == 1 ? a.row : twice;
      rows.push_back(r % kGroup ? scalar.add(group, within) : group);
    }
    multiplyTile(b, loc, inputs, rows, columns, sums);
    for (Value group : state.take_front(groups))
      next.push_back(scalar.add(group, a.column));
    llvm::append_range(next, sums);
    return next;
  };
  auto all = buildLoop(b, loc, scalar.index(0), k, 1, state, step);
  if (failed(all))
    return failure();
  return Values(ArrayRef(*all).drop_front(groups));
}

void SizedContractionEmitter::copy(const Tile &tile, Value memref,
                                   const Strides &strides, bool toStack) {
  int64_t width = tile.vectors * lanes;
  Value columns = scalar.minimum(scalar.sub(n, tile.column), width);
  (void)buildLoop(b, loc, scalar.index(0), columns, 1, [&](Value column) {
    return buildLoop(
        b, loc, scalar.index(0), scalar.index(tile.rows), 1, [&](Value row) {
          Value outside = at(strides, scalar.add(tile.row, row),
                             scalar.add(tile.column, column));
          Value inside = scalar.add(scalar.mul(row, width), column);
          Value from = toStack ? memref : stack, to = toStack ? stack : memref;
          Value value =
              memref::LoadOp::create(b, loc, from, toStack ? outside : inside);
          memref::StoreOp::create(b, loc, value, to,
                                  toStack ? inside : outside);
          return success();
        });
  });
}

/// A vector for each register of the tile, made by `element` of its row and
/// vector.
template <typename Element>
static SmallVector<Value> forEach(int64_t rows, int64_t vectors,
                                  Element element) {
  SmallVector<Value> values;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      values.push_back(element(r, v));
  return values;
}

SmallVector<Value> SizedContractionEmitter::loadVectors(const Tile &tile) {
  Value zero = zeroVector();
  return forEach(tile.rows, tile.vectors, [&](int64_t r, int64_t v) -> Value {
    return vector::MaskedLoadOp::create(b, loc, vectorType(), kernel.memory(3),
                                        vectorAt(initial, tile, r, v),
                                        tile.masks[v], zero);
  });
}

SmallVector<Value> SizedContractionEmitter::repeatRows(const Tile &tile) {
  return forEach(tile.rows, tile.vectors, [&](int64_t r, int64_t) -> Value {
    Value row = scalar.add(tile.row, scalar.index(r));
    Value value = memref::LoadOp::create(b, loc, kernel.memory(3),
                                         scalar.mul(row, initial.row));
    return vector::BroadcastOp::create(b, loc, vectorType(), value);
  });
}

SmallVector<Value> SizedContractionEmitter::loadStrided(const Tile &tile) {
  copy(tile, kernel.memory(3), initial, /*toStack=*/true);
  return forEach(tile.rows, tile.vectors, [&](int64_t r, int64_t v) -> Value {
    Value at = scalar.index((r * tile.vectors + v) * lanes);
    return vector::LoadOp::create(b, loc, vectorType(), stack, at);
  });
}

/// What the sums start from: vectors, one value for each row, or, in any other
/// order, by way of the stack.
SmallVector<Value> SizedContractionEmitter::loadInitial(const Tile &tile) {
  SmallVector<Type> types(tile.rows * tile.vectors, vectorType());
  auto choose = [&](Value condition, auto then, auto otherwise) -> Values {
    auto branch = scf::IfOp::create(b, loc, types, condition, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, then());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, otherwise());
    return Values(branch.getResults());
  };
  return choose(
      scalar.isEqual(initial.column, 0), [&] { return repeatRows(tile); },
      [&] {
        return choose(
            scalar.isEqual(initial.column, 1),
            [&] { return loadVectors(tile); },
            [&] { return loadStrided(tile); });
      });
}

void SizedContractionEmitter::storeResult(const Tile &tile,
                                          ArrayRef<Value> sums) {
  Value memref = kernel.memory(4);
  auto branch =
      scf::IfOp::create(b, loc, TypeRange(), scalar.isEqual(result.column, 1),
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v)
      vector::MaskedStoreOp::create(b, loc, memref,
                                    vectorAt(result, tile, r, v), tile.masks[v],
                                    sums[r * tile.vectors + v]);
  b.setInsertionPointToStart(branch.elseBlock());
  for (auto [i, sum] : llvm::enumerate(sums))
    vector::StoreOp::create(b, loc, sum, stack, scalar.index(i * lanes));
  copy(tile, memref, result, /*toStack=*/false);
}

LogicalResult SizedContractionEmitter::emitTile(const Tile &tile) {
  auto sums = multiply(tile, loadInitial(tile));
  if (failed(sums))
    return failure();
  storeResult(tile, *sums);
  return success();
}

/// Rows [from, to), which are a whole number of tiles.
LogicalResult SizedContractionEmitter::emitTiles(Value from, Value to,
                                                 int64_t rows,
                                                 int64_t vectors) {
  return buildLoop(b, loc, from, to, rows, [&](Value row) {
    return buildLoop(
        b, loc, scalar.index(0), n, vectors * lanes, [&](Value column) {
          Tile tile{rows, vectors, row, column, {}};
          for (int64_t v = 0; v < vectors; ++v)
            tile.masks.push_back(
                columnMask(scalar.add(column, scalar.index(v * lanes))));
          return emitTile(tile);
        });
  });
}

LogicalResult SizedContractionEmitter::emit(SizedContractionPlanAttr plan) {
  SmallVector<int64_t> heights(plan.getRows().asArrayRef());
  int64_t most = heights.empty() ? 0 : heights.front() * plan.getColumns();
  stack = kernel.stack(std::max(most, plan.getRow()), element);
  heights.push_back(1);
  Value row = kernel.begin;
  for (int64_t rows : heights) {
    Value left = scalar.sub(kernel.end, row);
    Value tiles = arith::DivUIOp::create(b, loc, left, scalar.index(rows));
    Value end = scalar.add(row, scalar.mul(tiles, rows));
    int64_t columns = rows > 1 ? plan.getColumns() : plan.getRow();
    if (failed(emitTiles(row, end, rows, columns / lanes)))
      return failure();
    row = end;
  }
  return success();
}

/// Whether `kernel` is one product of matrices, accumulated in its third
/// operand, whose operands have the type of the sums.
static bool isProduct(func::FuncOp kernel) {
  auto op = kernel.getBody()
                .front()
                .getTerminator()
                ->getOperand(0)
                .getDefiningOp<linalg::GenericOp>();
  if (!op || kernel.getNumArguments() != 3 || kernel.getNumResults() != 1 ||
      !linalg::isaContractionOpInterface(op))
    return false;
  MLIRContext *context = kernel.getContext();
  AffineExpr m = getAffineDimExpr(0, context), n = getAffineDimExpr(1, context),
             k = getAffineDimExpr(2, context);
  SmallVector<AffineMap> maps;
  for (auto [x, y] : {std::pair(m, k), {k, n}, {m, n}})
    maps.push_back(AffineMap::get(3, 0, {x, y}, context));
  Type element = getElementTypeOrSelf(kernel.getResultTypes()[0]);
  return op.getIndexingMapsArray() == maps &&
         llvm::equal(op->getOperands(), kernel.getArguments()) &&
         llvm::all_of(kernel.getArgumentTypes(), [&](Type type) {
           return getElementTypeOrSelf(type) == element;
         });
}

Match<Type> SizedContractionStrategy::match(func::FuncOp kernel) {
  if (!hasAnySize(kernel, /*rank=*/2) || !isProduct(kernel))
    return NoMatch{"is no product of two matrices of any size, accumulated in "
                   "the third operand"};
  return getElementTypeOrSelf(kernel.getResultTypes()[0]);
}

void SizedContractionStrategy::addOperands(SmallVectorImpl<Type> &types) {
  types.insert(types.begin() + 3, types.front()); // The offsets of rows.
}

LogicalResult SizedContractionStrategy::emit(SizedKernel &kernel, Type element,
                                             Plan plan, const Target &target) {
  int64_t lanes = target.vectorBytes / graph::elementSize(element);
  auto error = [&] {
    return kernel.source.emitError()
           << "cannot be computed as " << plan << ": ";
  };
  if (failed(
          checkColumns(error, "columns", plan.getColumns(), lanes, target)) ||
      failed(checkColumns(error, "row", plan.getRow(), lanes, target)))
    return failure();
  OpBuilder b = kernel.builder();
  return SizedContractionEmitter(kernel, element, lanes, b).emit(plan);
}

} // namespace tinh::cpu
