//===- PullGeneric.cpp - Bodies and reductions of generics ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Pull.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::codegen {

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

FailureOr<LaneValue> Pull::generic(linalg::GenericOp op, unsigned result,
                                   const Indices &indices) {
  if (op.getNumReductionLoops() > 0) {
    auto values = reduce(op, indices);
    if (failed(values))
      return failure();
    return (*values)[result];
  }
  auto dims = loopIndices(op, indices);
  if (failed(dims))
    return failure();
  auto arguments = operands(op, op->getNumOperands(), *dims);
  if (failed(arguments))
    return failure();
  auto yielded = body(op, *dims, *arguments);
  if (failed(yielded))
    return failure();
  return (*yielded)[result];
}

Block *Pull::insertionBlock() const {
  return b ? b->getInsertionBlock() : nullptr;
}

const LaneValue *Pull::findComputed(Value tensor, const Indices &indices) {
  // It can be seen from its own block and those within.
  auto isVisible = [&](Block *from) {
    Block *block = insertionBlock();
    while (block && block != from) {
      Operation *parent = block->getParentOp();
      block = parent ? parent->getBlock() : nullptr;
    }
    return block == from;
  };
  // What is known of a base follows from it, if it is there.
  auto sameIndex = [](const LaneIndex &x, const LaneIndex &y) {
    return x.base == y.base && x.stride == y.stride &&
           (x.base || x.alignment == y.alignment);
  };
  for (const Computed &known : computed[tensor])
    if (known.mask == mask && isVisible(known.block) &&
        llvm::equal(known.indices, indices, sameIndex))
      return &known.value;
  return nullptr;
}

FailureOr<LaneValue> Pull::genericOnce(OpResult result,
                                       const Indices &indices) {
  auto op = cast<linalg::GenericOp>(result.getOwner());
  if (result.hasOneUse())
    return generic(op, result.getResultNumber(), indices);
  if (const LaneValue *known = findComputed(result, indices))
    return *known;
  auto value = generic(op, result.getResultNumber(), indices);
  if (succeeded(value))
    computed[result].push_back({indices, mask, insertionBlock(), *value});
  return value;
}

FailureOr<LaneValue> pullOperand(Pull &pull, OpOperand &operand,
                                 const Indices &dims) {
  auto op = cast<linalg::GenericOp>(operand.getOwner());
  auto source = pull.apply(op.getMatchingIndexingMap(&operand), dims);
  if (failed(source))
    return failure();
  return pull.at(operand.get(), *source);
}

FailureOr<SmallVector<LaneValue>>
Pull::operands(linalg::GenericOp op, unsigned count, const Indices &dims) {
  SmallVector<LaneValue> values;
  for (OpOperand &operand : op->getOpOperands().take_front(count)) {
    if (op.getMatchingBlockArgument(&operand).use_empty()) {
      values.push_back({});
      continue;
    }
    auto value = pullOperand(*this, operand, dims);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  return values;
}

FailureOr<SmallVector<LaneValue>> Pull::body(linalg::GenericOp op,
                                             const Indices &dims,
                                             ArrayRef<LaneValue> arguments) {
  DenseMap<Value, LaneValue> values;
  for (auto [argument, value] :
       llvm::zip(op.getRegion().getArguments(), arguments))
    values[argument] = value;
  for (Operation &inner : op.getBody()->without_terminator()) {
    auto value = bodyOp(&inner, dims, values);
    if (failed(value))
      return failure();
    values[inner.getResult(0)] = *value;
  }
  SmallVector<LaneValue> results;
  for (Value yielded : op.getBody()->getTerminator()->getOperands()) {
    auto known = values.find(yielded);
    auto value = known != values.end() ? FailureOr<LaneValue>(known->second)
                                       : scalar(yielded);
    if (failed(value))
      return failure();
    results.push_back(*value);
  }
  return results;
}

FailureOr<LaneValue> Pull::bodyOp(Operation *op, const Indices &dims,
                                  DenseMap<Value, LaneValue> &values) {
  if (auto iv = dyn_cast<linalg::IndexOp>(op))
    return affineValue(dims[iv.getDim()]);
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return failure();
  for (Value operand : op->getOperands())
    if (!values.contains(operand) &&
        !isa<RankedTensorType>(operand.getType())) {
      auto outside = scalar(operand);
      if (failed(outside))
        return failure();
      values[operand] = *outside;
    }
  auto lookup = [&](Value value) { return values.lookup(value); };
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    Indices source;
    for (Value position : extract.getIndices()) {
      LaneValue value = lookup(position);
      if (value.affine)
        source.push_back(*value.affine);
      else if (value.uniform)
        source.push_back({value.value, 0, 1});
      else
        return failure();
    }
    return at(extract.getTensor(), source);
  }
  return clone(op, llvm::map_to_vector(op->getOperands(), lookup));
}

LaneValue Pull::clone(Operation *op, ArrayRef<LaneValue> operands) {
  bool uniform = llvm::all_of(operands, [](auto &v) { return v.uniform; });
  if (!b)
    return {{}, uniform || lanes == 1, {}};
  IRMapping mapping;
  for (auto [operand, value] : llvm::zip(op->getOperands(), operands))
    mapping.map(operand, uniform ? value.value : asVector(value));
  Operation *copy = b->clone(*op, mapping);
  LaneValue result{copy->getResult(0), uniform || lanes == 1, {}};
  if (!result.uniform)
    result.value.setType(VectorType::get({lanes}, op->getResult(0).getType()));
  return result;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>>
Pull::reduceStep(linalg::GenericOp op, const Indices &dims, ValueRange state) {
  auto arguments = operands(op, op.getNumDpsInputs(), dims);
  if (failed(arguments))
    return failure();
  for (Value value : state)
    arguments->push_back(inRegisters(value));
  auto yielded = body(op, dims, *arguments);
  if (failed(yielded))
    return failure();
  return llvm::map_to_vector(*yielded,
                             [&](LaneValue v) { return asVector(v); });
}

FailureOr<SmallVector<Value>> Pull::loop(
    int64_t extent, int64_t step, ValueRange initial,
    function_ref<FailureOr<SmallVector<Value>>(Value, ValueRange)> body) {
  return b ? buildLoop(*b, loc, extent, step, initial, body)
           : body({}, initial);
}

FailureOr<SmallVector<LaneValue>> Pull::reduce(linalg::GenericOp op,
                                               const Indices &output) {
  auto dims = loopIndices(op, output);
  if (failed(dims))
    return failure();
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  SmallVector<Value> initial;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    auto value = at(init.get(), output);
    if (failed(value))
      return failure();
    initial.push_back(asVector(*value));
  }
  std::function<FailureOr<SmallVector<Value>>(size_t, ValueRange)> nest =
      [&](size_t level, ValueRange state) -> FailureOr<SmallVector<Value>> {
    if (level < reduced.size())
      return loop(extents[reduced[level]], 1, state,
                  [&](Value iv, ValueRange values) {
                    (*dims)[reduced[level]] = {iv, 0, 1};
                    return nest(level + 1, values);
                  });
    return reduceStep(op, *dims, state);
  };
  auto values = nest(0, initial);
  if (failed(values))
    return failure();
  return llvm::map_to_vector(*values, [&](Value v) { return inRegisters(v); });
}

//===----------------------------------------------------------------------===//
// Reductions along lanes
//===----------------------------------------------------------------------===//

std::optional<Combiner> matchCombiner(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1)
    return std::nullopt;
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  Operation *combiner = yielded.getDefiningOp();
  Value accumulator = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  if (!combiner || combiner->getNumOperands() != 2 ||
      !accumulator.hasOneUse() || *accumulator.user_begin() != combiner)
    return std::nullopt;
  using Kind = vector::CombiningKind;
  auto kind =
      llvm::TypeSwitch<Operation *, std::optional<Kind>>(combiner)
          .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Kind::ADD; })
          .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Kind::MUL; })
          .Case([](arith::AndIOp) { return Kind::AND; })
          .Case([](arith::OrIOp) { return Kind::OR; })
          .Case([](arith::MaximumFOp) { return Kind::MAXIMUMF; })
          .Case([](arith::MinimumFOp) { return Kind::MINIMUMF; })
          .Case([](arith::MaxSIOp) { return Kind::MAXSI; })
          .Case([](arith::MinSIOp) { return Kind::MINSI; })
          .Case([](arith::MaxUIOp) { return Kind::MAXUI; })
          .Case([](arith::MinUIOp) { return Kind::MINUI; })
          .Default([](Operation *) { return std::nullopt; });
  auto neutral = arith::getNeutralElement(combiner);
  if (!kind || !neutral)
    return std::nullopt;
  return Combiner{*kind, *neutral};
}

/// Each lane reduces the elements of the innermost reduced dimension that are
/// its own; then the lanes are reduced.
class LaneReduction {
public:
  LaneReduction(Pull &pull, linalg::GenericOp op, Combiner combiner,
                Indices dims)
      : pull(pull), op(op), combiner(combiner), dims(std::move(dims)),
        extents(op.getStaticLoopRanges()) {
    op.getReductionDims(reduced);
    last = reduced.back();
    whole = extents[last] / pull.lanes * pull.lanes;
    neutral = pull.asVector(pull.splat(combiner.neutral));
  }

  FailureOr<LaneValue> reduce(const Indices &output) {
    auto partial = reduceFrom(0, neutral);
    auto initial = pull.at(op.getDpsInits()[0], output);
    if (failed(partial) || failed(initial))
      return failure();
    if (!pull.b)
      return LaneValue{{}, true, {}};
    Value total = vector::ReductionOp::create(*pull.b, pull.loc, combiner.kind,
                                              (*partial)[0], initial->value,
                                              arith::FastMathFlags::reassoc);
    return LaneValue{total, true, {}};
  }

private:
  using Values = FailureOr<SmallVector<Value>>;

  /// Over the reduced dimensions from this one on.
  Values reduceFrom(size_t level, ValueRange state) {
    if (level + 1 == reduced.size())
      return reduceLast(state);
    return pull.loop(extents[reduced[level]], 1, state,
                     [&](Value iv, ValueRange values) {
                       dims[reduced[level]] = {iv, 0, 1};
                       return reduceFrom(level + 1, values);
                     });
  }

  Values reduceLast(ValueRange state) {
    auto main = reduceWhole(state);
    if (failed(main) || whole == extents[last])
      return main;
    dims[last] = {pull.index(whole), 1, pull.lanes};
    Value saved = pull.mask;
    if (pull.b)
      pull.mask =
          firstLanes(*pull.b, pull.loc, extents[last] - whole, pull.lanes);
    auto tail = pull.reduceStep(op, dims, *main);
    if (succeeded(tail))
      tail->front() = pull.select(pull.mask, tail->front(), main->front());
    pull.mask = saved;
    return tail;
  }

  /// The vectors that have an element for each lane.
  Values reduceWhole(ValueRange state) {
    int64_t sums = sumsAtATime(), wide = sums * pull.lanes,
            end = whole / wide * wide;
    SmallVector<Value> states(sums, neutral);
    states.front() = state.front();
    auto main = pull.loop(end, wide, states, [&](Value at, ValueRange values) {
      return stepEach(at, values);
    });
    if (failed(main))
      return main;
    for (Value other : ArrayRef(*main).drop_front())
      main->front() = vector::makeArithReduction(
          *pull.b, pull.loc, combiner.kind, main->front(), other);
    main->truncate(1);
    for (int64_t at = end; at < whole && succeeded(main); at += pull.lanes)
      main = step(pull.index(at), *main);
    return main;
  }

  /// How many sums there are at a time: one alone would wait for itself. Where
  /// there is more to compute than an element or two that lie in memory, this
  /// goes on meanwhile.
  int64_t sumsAtATime() {
    constexpr int64_t kSums = 4, kFewOps = 4;
    bool isLight = llvm::all_of(op.getDpsInputs(), [&](Value input) {
      return pull.buffers.contains(input);
    });
    isLight &= llvm::range_size(op.getBody()->without_terminator()) <= kFewOps;
    return pull.b && isLight && whole >= 2 * kSums * pull.lanes ? kSums : 1;
  }

  Values step(Value at, ValueRange state) {
    dims[last] = {at, 1, pull.lanes};
    return pull.reduceStep(op, dims, state);
  }

  /// Each of these with a vector of its own.
  Values stepEach(Value at, ValueRange states) {
    SmallVector<Value> next;
    for (auto [i, state] : llvm::enumerate(states)) {
      Value own = pull.add(at, pull.index(i * pull.lanes));
      auto combined = step(own, state);
      if (failed(combined))
        return failure();
      next.push_back(combined->front());
    }
    return next;
  }

  Pull &pull;
  linalg::GenericOp op;
  Combiner combiner;
  Indices dims; ///< Of the loops, at the element that is next.
  SmallVector<int64_t> extents;
  SmallVector<unsigned> reduced;
  unsigned last; ///< The innermost reduced dimension,
  int64_t whole; ///< and its elements in whole vectors.
  Value neutral;
};

FailureOr<LaneValue> Pull::reduceAlongLanes(linalg::GenericOp op,
                                            const Indices &output) {
  auto combiner = matchCombiner(op);
  auto dims = loopIndices(op, output);
  if (!combiner || failed(dims) || lanes == 1)
    return failure();
  return LaneReduction(*this, op, *combiner, *dims).reduce(output);
}

} // namespace tinh::codegen
