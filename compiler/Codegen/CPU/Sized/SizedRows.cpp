//===- SizedRows.cpp - A function of a row, for any rows --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each reduction is a pass over the row, and so are the results; all other
// values are pulled where they are needed. What is dear and needed by several
// passes is kept in scratch memory by the first of them.
//
// There are two versions of the code. One works a vector at a time: strides in
// the direction of lanes are 1, or 0 of operands that are then read from a
// vector on the stack which holds the element in all lanes. The other one works
// on single elements, with any strides.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Codegen/CPU/Sized/Sized.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

/// An operand or a kept value: element `position` of the row lies at
/// base + position · step.
struct Located {
  Value memref, base, step;
};

class SizedRowsEmitter {
public:
  SizedRowsEmitter(SizedKernel &kernel, const RowFunction &row,
                   SizedRowsPlanAttr plan, OpBuilder &b)
      : kernel(kernel), row(row), plan(plan),
        across(plan.getLanes() == RowLanes::AcrossRows), b(b),
        loc(kernel.source.getLoc()), scalar(b, loc, 1) {
    columns = kernel.size(b, 0);
    for (unsigned i = 0; i < numInputs() + row.results.size(); ++i) {
      rowStrides.push_back(kernel.size(b, 1 + 2 * i));
      columnStrides.push_back(kernel.size(b, 2 + 2 * i));
    }
  }

  /// Whether vectors can be loaded and stored.
  Value hasVectors();
  LogicalResult emit(int64_t vectorLanes);

private:
  using Values = SmallVector<Value>;
  using Step = function_ref<FailureOr<Values>(Pull &, const Indices &dims,
                                              ValueRange state)>;

  unsigned numInputs() const { return kernel.source.getNumArguments(); }
  Value tensorOf(unsigned i) {
    return i < numInputs() ? Value(kernel.source.getArgument(i))
                           : row.results[i - numInputs()];
  }
  /// The index of the element, or vector of them, at `position`.
  Indices indexOf(const Located &where, Value position, const Pull &pull) {
    Value offset = scalar.mul(position, where.step);
    return {{scalar.add(where.base, offset), pull.laneCount() > 1, 1}};
  }

  LogicalResult emitRow(Value at);
  void locateOperands(Value at);
  void locateKept();
  Value splat(unsigned operand, Value repeats, Value at);
  LaneValue load(Pull &pull, Value tensor, const Located &where,
                 Value position);
  void bind(Pull &pull, Value position);
  int64_t lanesOf(Operation *pass) const;
  FailureOr<Values> pass(int64_t wide, ArrayRef<Values> initial, Step step,
                         Values *tail);
  FailureOr<LaneValue> reduce(linalg::GenericOp op);
  LogicalResult keep(Pull &pull, linalg::GenericOp op, const Indices &dims);
  LogicalResult store();

  SizedKernel &kernel;
  const RowFunction &row;
  SizedRowsPlanAttr plan;
  bool across;
  OpBuilder &b;
  Location loc;
  Pull scalar;
  Value columns;
  SmallVector<Value> rowStrides, columnStrides;
  // Of the version and of the row that are being emitted.
  int64_t lanes = 1;
  Value rowMask; // Across: the lanes that are rows; none: all.
  llvm::DenseMap<unsigned, Value> splats;
  llvm::MapVector<Value, Located> located; // Inputs and what has been kept.
  SmallVector<Located> outputs;
  llvm::DenseMap<Value, LaneValue> known; // Single values of the row.
};

} // namespace

Value SizedRowsEmitter::hasVectors() {
  Value all;
  for (unsigned i = 0; i < rowStrides.size(); ++i) {
    bool isInput = i < numInputs(), elements = isRow(tensorOf(i));
    if (!across && !elements)
      continue;
    // What is the same for all lanes is put on the stack once a row.
    bool mayRepeat = isInput && elements != across;
    Value stride = across ? rowStrides[i] : columnStrides[i];
    Value fits = scalar.compare(mayRepeat ? arith::CmpIPredicate::ule
                                          : arith::CmpIPredicate::eq,
                                stride, scalar.index(1));
    all = scalar.both(all, fits);
  }
  return all;
}

LogicalResult SizedRowsEmitter::emit(int64_t vectorLanes) {
  rowMask = {};
  lanes = vectorLanes;
  if (!across || lanes == 1)
    return buildLoop(b, loc, kernel.begin, kernel.end, 1,
                     [&](Value at) { return emitRow(at); });
  // Whole groups of registers, then what is left in single ones.
  bool doesLittle = row.doesLittle(row.terminator);
  for (linalg::GenericOp op : row.reductions)
    doesLittle &= row.doesLittle(op);
  lanes *= doesLittle ? plan.getRegisters() : 1;
  Value count = scalar.sub(kernel.end, kernel.begin);
  Value whole = scalar.add(kernel.begin, scalar.roundDown(count, lanes));
  if (failed(buildLoop(b, loc, kernel.begin, whole, lanes,
                       [&](Value at) { return emitRow(at); })))
    return failure();
  lanes = vectorLanes;
  return buildLoop(b, loc, whole, kernel.end, lanes, [&](Value at) {
    rowMask = firstLanes(b, loc, scalar.sub(kernel.end, at), lanes);
    return emitRow(at);
  });
}

/// Lanes of the vectors that a pass works on, if there are enough elements.
int64_t SizedRowsEmitter::lanesOf(Operation *pass) const {
  bool isOne = across || lanes == 1 || !row.doesLittle(pass);
  return isOne ? lanes : lanes * plan.getRegisters();
}

/// The stack's vector for input `operand`. If it `repeats` one element for all
/// lanes, that at `at`, the vector is filled with it.
Value SizedRowsEmitter::splat(unsigned operand, Value repeats, Value at) {
  Value memref = kernel.memory(operand);
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  int64_t wide = across ? lanes : lanes * plan.getRegisters();
  Value &buffer = splats[operand];
  if (!buffer)
    buffer = kernel.stack(wide, element);
  auto branch = scf::IfOp::create(b, loc, TypeRange(), repeats, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value value = memref::LoadOp::create(b, loc, memref, at);
  Value vector = vector::BroadcastOp::create(
      b, loc, VectorType::get({wide}, element), value);
  vector::StoreOp::create(b, loc, vector, buffer, scalar.index(0));
  return buffer;
}

/// Where the row's operands lie; `at` is its number, or the first one's of a
/// vector of rows.
void SizedRowsEmitter::locateOperands(Value at) {
  for (unsigned i = 0; i < numInputs(); ++i) {
    Value tensor = tensorOf(i), memref = kernel.memory(i);
    Value base = scalar.mul(at, rowStrides[i]);
    if (lanes > 1 && isRow(tensor) != across) {
      Value stride = across ? rowStrides[i] : columnStrides[i];
      Value repeats = scalar.isEqual(stride, 0);
      memref = scalar.select(repeats, splat(i, repeats, base), memref);
      base = scalar.select(repeats, scalar.index(0), base);
    }
    located[tensor] = {memref, base, columnStrides[i]};
  }
  outputs.clear();
  for (unsigned i = numInputs(); i < rowStrides.size(); ++i)
    outputs.push_back(
        {kernel.memory(i), scalar.mul(at, rowStrides[i]), columnStrides[i]});
}

/// Where the row's kept values lie.
void SizedRowsEmitter::locateKept() {
  int64_t bytes = keptBytes(across, plan.getVector());
  for (auto [i, value] : llvm::enumerate(llvm::make_first_range(row.kept))) {
    Type element = getElementTypeOrSelf(value);
    Value offset = scalar.mul(columns, bytes * i);
    Value view = memref::ViewOp::create(b, loc, anySize(element),
                                        kernel.scratch, offset, ValueRange());
    located[value] = {view, scalar.index(0), scalar.index(across ? lanes : 1)};
  }
}

LaneValue SizedRowsEmitter::load(Pull &pull, Value tensor, const Located &where,
                                 Value position) {
  return pull.load({where.memref, {1}, {}}, getElementTypeOrSelf(tensor),
                   indexOf(where, position, pull));
}

/// Tells `pull` all elements at `position` that are in memory.
void SizedRowsEmitter::bind(Pull &pull, Value position) {
  for (auto [tensor, value] : known)
    pull.registers[tensor] = value;
  for (auto &[tensor, where] : located)
    if (isRow(tensor))
      pull.registers[tensor] = load(pull, tensor, where, position);
}

/// Runs `step` for all elements of the row. Along the row, groups of `wide`
/// lanes start from and give initial[0], single registers of what is
/// left initial[1], given as `tail`.
FailureOr<SmallVector<Value>> SizedRowsEmitter::pass(int64_t wide,
                                                     ArrayRef<Values> initial,
                                                     Step step, Values *tail) {
  auto run = [&](int64_t count, Value position, Value mask,
                 ValueRange state) -> FailureOr<Values> {
    Pull pull(b, loc, count);
    pull.mask = mask;
    bind(pull, position);
    LaneIndex index{position, !across && count > 1, 1};
    auto next = step(pull, {index}, state);
    if (succeeded(next) && mask && !across)
      for (auto [value, before] : llvm::zip_equal(*next, state))
        value = scalar.select(mask, value, before);
    return next;
  };
  Value zero = scalar.index(0);
  int64_t count = across ? 1 : wide;
  Value whole = scalar.roundDown(columns, count);
  auto main =
      buildLoop(b, loc, zero, whole, count, initial[0],
                [&](Value position, ValueRange state) {
                  return run(wide, position, across ? rowMask : Value(), state);
                });
  if (across || lanes == 1 || failed(main))
    return main;
  auto rest = buildLoop(b, loc, whole, columns, lanes, initial[1],
                        [&](Value position, ValueRange state) {
                          Value left = scalar.sub(columns, position);
                          return run(lanes, position,
                                     firstLanes(b, loc, left, lanes), state);
                        });
  if (failed(rest))
    return failure();
  *tail = *rest;
  return main;
}

/// Stores the kept values that `op` is the first to read.
LogicalResult SizedRowsEmitter::keep(Pull &pull, linalg::GenericOp op,
                                     const Indices &dims) {
  for (auto [value, by] : row.kept) {
    if (by != op)
      continue;
    pull.registers.erase(value); // What lies there is of another row.
    auto element = pull.at(value, dims);
    if (failed(element))
      return failure();
    Located where = located[value];
    if (failed(pull.store(*element, {where.memref, {1}, {}},
                          indexOf(where, dims[0].base, pull))))
      return failure();
    pull.registers[value] = *element;
  }
  return success();
}

FailureOr<LaneValue> SizedRowsEmitter::reduce(linalg::GenericOp op) {
  auto step = [&](Pull &pull, const Indices &dims,
                  ValueRange state) -> FailureOr<Values> {
    if (failed(keep(pull, op, dims)))
      return failure();
    return pull.reduceStep(op, dims, state);
  };
  Pull pull(b, loc, across ? lanes : 1);
  auto initial = pull.at(op.getDpsInits()[0], {});
  if (failed(initial) || op.getNumResults() != 1)
    return failure();
  if (across || lanes == 1) {
    auto total = pass(lanes, {{pull.asVector(*initial)}}, step, nullptr);
    if (failed(total))
      return failure();
    return pull.inRegisters(total->front());
  }
  auto match = matchCombiner(op);
  if (!match)
    return failure();
  Value neutral = arith::ConstantOp::create(b, loc, match->neutral);
  auto vectorOf = [&](int64_t count) -> Value {
    auto type = VectorType::get({count}, neutral.getType());
    return vector::BroadcastOp::create(b, loc, type, neutral);
  };
  Values tail;
  int64_t wide = lanesOf(op);
  auto main = pass(wide, {{vectorOf(wide)}, {vectorOf(lanes)}}, step, &tail);
  if (failed(main))
    return failure();
  Value total = initial->value;
  for (Value part : {main->front(), tail.front()})
    total = vector::ReductionOp::create(b, loc, match->kind, part, total,
                                        arith::FastMathFlags::reassoc);
  return LaneValue{total, true, {}};
}

/// Stores the results: first those with one value a row, then the others.
LogicalResult SizedRowsEmitter::store() {
  auto storeAll = [&](Pull &pull, const Indices &dims) -> LogicalResult {
    for (auto [i, result] : llvm::enumerate(row.results)) {
      if (isRow(result) != !dims.empty())
        continue;
      auto value = pull.at(result, dims);
      if (failed(value))
        return failure();
      const Located &where = outputs[i];
      Value position = dims.empty() ? scalar.index(0) : dims[0].base;
      if (failed(pull.store(*value, {where.memref, {1}, {}},
                            indexOf(where, position, pull))))
        return failure();
    }
    return success();
  };
  Pull single(b, loc, across ? lanes : 1);
  single.mask = rowMask;
  single.registers = known;
  if (failed(storeAll(single, {})))
    return failure();
  if (llvm::none_of(row.results, isRow))
    return success();
  Values tail;
  return pass(
      lanesOf(row.terminator), {{}, {}},
      [&](Pull &pull, const Indices &dims, ValueRange) -> FailureOr<Values> {
        if (failed(storeAll(pull, dims)))
          return failure();
        return Values();
      },
      &tail);
}

/// One row, or a vector of rows.
LogicalResult SizedRowsEmitter::emitRow(Value at) {
  located.clear();
  known.clear();
  locateOperands(at);
  locateKept();
  for (BlockArgument input : kernel.source.getArguments()) {
    if (isRow(input))
      continue;
    Pull pull(b, loc, across ? lanes : 1);
    pull.mask = rowMask;
    known[input] = load(pull, input, located[input], scalar.index(0));
  }
  for (linalg::GenericOp op : row.reductions) {
    auto total = reduce(op);
    if (failed(total))
      return failure();
    known[op.getResult(0)] = *total;
  }
  return store();
}

Match<RowFunction> SizedRowsStrategy::match(func::FuncOp kernel) {
  if (!hasAnySize(kernel, /*rank=*/1))
    return NoMatch{"is no function of rows of any size"};
  return RowFunction(kernel);
}

int64_t SizedRowsStrategy::scratch(const RowFunction &row, Plan plan) {
  bool across = plan.getLanes() == RowLanes::AcrossRows;
  return keptBytes(across, plan.getVector()) *
         static_cast<int64_t>(row.kept.size());
}

LogicalResult SizedRowsStrategy::emit(SizedKernel &kernel,
                                      const RowFunction &row, Plan plan,
                                      const Target &) {
  OpBuilder b = kernel.builder();
  Location loc = kernel.source.getLoc();
  SizedRowsEmitter emitter(kernel, row, plan, b);
  auto branch = scf::IfOp::create(b, loc, TypeRange(), emitter.hasVectors(),
                                  /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  if (failed(emitter.emit(plan.getVector() / row.widestBytes)))
    return failure();
  b.setInsertionPointToStart(branch.elseBlock());
  return emitter.emit(1);
}

} // namespace tinh::cpu
