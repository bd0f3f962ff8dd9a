//===- ModelOps.cpp - Graph ops as operations on tensors --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Model/ModelOps.h"

#include "compiler/Eager/CheckNumerics.h"
#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Kernels/KernelLibrary.h"

#include "compiler/Eager/ElementwiseNames.h"
#include "compiler/Export/WeightFile.h"
#include "tinh/runtime.hpp"

#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;

namespace tinh::eager {

Dims dimsOf(ArrayRef<int64_t> values) {
  return Dims(std::span(values.data(), values.size()));
}

size_t ModelOps::number(Value value) {
  auto [known, isNew] = numbers.try_emplace(value, frame.size());
  if (isNew)
    frame.emplace_back();
  return known->second;
}

[[noreturn]] static void refuse(mlir::Operation *op, const Twine &why) {
  throw Error(TINH_INVALID_ARGUMENT,
              ("node '" + graph::nodeName(op->getLoc()) + "' (" +
               op->getName().getStringRef() + "): " + why)
                  .str());
}

std::string whyNoTensor(RankedTensorType type) {
  if (type.getRank() > TINH_MAX_RANK)
    return "eager execution is for tensors of at most " +
           std::to_string(TINH_MAX_RANK) + " dimensions, not " +
           std::to_string(type.getRank());
  if (graph::isStorageFloat(type.getElementType()))
    return "eager execution has no floats of 8 or 4 bits, found " +
           graph::shapeToString(type) + "; compile the model";
  return "";
}

static void checkType(mlir::Operation *op, Type type) {
  std::string why = whyNoTensor(cast<RankedTensorType>(type));
  if (!why.empty())
    refuse(op, why);
}

ModelOps::Op ModelOps::describe(mlir::Operation *op) {
  Op described{op, {}, {}, {}, {nullptr, {}}};
  names.push_back(graph::nodeName(op->getLoc()).str());
  described.call.name = names.back().c_str();
  for (Value operand : op->getOperands()) {
    checkType(op, operand.getType());
    described.in.push_back(number(operand));
  }
  for (Value result : op->getResults()) {
    checkType(op, result.getType());
    auto type = cast<RankedTensorType>(result.getType());
    described.out.push_back(number(result));
    described.types.emplace_back(dtypeOf(type.getElementType()),
                                 dimsOf(type.getShape()));
  }
  return described;
}

/// A constant in a file is read where the file is mapped.
void ModelOps::addConstant(mlir::Operation *op) {
  auto constant = cast<graph::ConstantOp>(op);
  checkType(op, constant.getType());
  auto type = cast<RankedTensorType>(constant.getType());
  TypedAttr elements = graph::elementsOf(constant.getValue());
  ArrayRef<char> bytes;
  std::vector<char> inlined;
  if (auto external = dyn_cast<graph::ExternalAttr>(elements)) {
    auto read = files.read(external);
    if (!read)
      throw Error(TINH_IO_ERROR, llvm::toString(read.takeError()));
    bytes = *read;
  } else {
    inlined.resize(static_cast<size_t>(graph::tensorSize(type)));
    writeElements(cast<DenseElementsAttr>(elements), inlined);
    bytes = inlined;
  }
  size_t at = number(constant);
  frame[at] = from_bytes(
      bytes.data(), IntArray(std::span(type.getShape().data(), type.getRank())),
      DType(dtypeOf(type.getElementType())));
}

/// Computes an op now if it depends on constants alone, as the folding of a
/// batch norm into weights does.
bool ModelOps::addIfConstant(mlir::Operation *op) {
  if (isa<graph::ConstantOp>(op))
    addConstant(op);
  else if (op->getNumRegions() == 0 &&
           llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isConstant(operand); }))
    action(describe(op))(frame);
  else
    return false;
  known.insert(op->result_begin(), op->result_end());
  return true;
}

void ModelOps::dropUnusedConstants() {
  for (Value value : known)
    if (llvm::all_of(value.getUsers(), [&](mlir::Operation *user) {
          return user->getNumResults() > 0 && isConstant(user->getResult(0));
        }))
      frame[number(value)] = Tensor();
}

/// The values from outside of the op, and its operands, that nothing after it
/// in its block uses, and that its block computes.
std::vector<size_t> ModelOps::lastUses(mlir::Operation *op) {
  std::vector<size_t> dead;
  auto isLast = [&](Value value) {
    mlir::Operation *definition = value.getDefiningOp();
    bool isLocal = definition ? definition->getBlock() == op->getBlock()
                              : value.getParentBlock() == op->getBlock();
    if (!isLocal || isConstant(value))
      return false;
    return llvm::all_of(value.getUsers(), [&](mlir::Operation *user) {
      mlir::Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
      return here == op || here->isBeforeInBlock(op);
    });
  };
  auto add = [&](Value value) {
    if (isLast(value) && !llvm::is_contained(dead, number(value)))
      dead.push_back(number(value));
  };
  op->walk([&](mlir::Operation *inner) {
    for (Value operand : inner->getOperands())
      add(operand);
  });
  for (Value result : op->getResults())
    if (result.use_empty())
      dead.push_back(number(result));
  return dead;
}

/// The element-wise op with all those whose values it alone needs.
Action ModelOps::fused(const Op &op, const ElementwiseFusion::Kernel &kernel) {
  std::vector<size_t> in;
  for (Value input : kernel.inputs)
    in.push_back(number(input));
  auto [dtype, sizes] = op.types[0];
  Kernel &code = KernelLibrary::get().function(kernel.symbol, kernel.text);
  return [=, out = op.out[0], call = op.call, &code](Frame &frame) {
    Tensor y = makeTensor(dtype, sizes);
    if (sizes.product() > 0) {
      SmallVector<Input, kMaxElementwiseInputs> inputs;
      for (size_t input : in)
        inputs.push_back({&use(frame[input], call), {}});
      std::span<const Input> read(inputs.data(), inputs.size());
      queueElementwise(code, read, use(y, call), call);
      checkNumerics(read, use(y, call), call);
    }
    frame[out] = y;
  };
}

Sequence ModelOps::sequence(Block &block) {
  Sequence sequence;
  for (BlockArgument argument : block.getArguments())
    sequence.arguments.push_back(number(argument));
  SmallVector<mlir::Operation *> ops;
  for (mlir::Operation &op : block.without_terminator())
    if (!addIfConstant(&op))
      ops.push_back(&op);
  ElementwiseFusion fusion =
      fuses ? ElementwiseFusion(ops) : ElementwiseFusion();
  llvm::DenseSet<size_t> readLater; // Than by the ops that are named.
  for (mlir::Operation *op : ops)
    if (fusion.isInner(op))
      for (Value operand : op->getOperands())
        readLater.insert(number(operand));
  for (mlir::Operation *op : ops) {
    if (fusion.isInner(op))
      continue;
    const ElementwiseFusion::Kernel *kernel = fusion.kernelOf(op);
    std::vector<size_t> dead = lastUses(op);
    llvm::erase_if(dead,
                   [&](size_t value) { return readLater.contains(value); });
    sequence.actions.push_back(
        [act = kernel ? fused(describe(op), *kernel) : action(describe(op)),
         dead](Frame &frame) {
          act(frame);
          for (size_t value : dead)
            frame[value] = Tensor();
        });
  }
  for (Value value : block.getTerminator()->getOperands())
    sequence.results.push_back(number(value));
  return sequence;
}

static bool hasChannelsLast(mlir::Operation *op) {
  auto layout = op->getAttrOfType<graph::LayoutAttr>("layout");
  return layout && layout.getValue() == graph::Layout::ChannelsLast;
}

/// Dimension `from` as dimension `to`.
static Tensor moveDimension(const Tensor &x, int64_t from, int64_t to) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (d != from)
      order.push_back(d);
  order.insert(order.begin() + to, from);
  return x.permute(IntArray(order));
}

/// Operations on tensors want the channels first: a view has them there.
Action ModelOps::channelsLast(Op op) {
  size_t y = op.out[0];
  // Gradients have two images; that of weights is none.
  bool isGradient =
      isa<graph::ConvWeightGradientOp, graph::MaxPoolGradientOp>(op.op);
  bool givesImage = !isa<graph::ConvWeightGradientOp>(op.op);
  std::vector<std::pair<size_t, size_t>> views;
  for (size_t i = 0; i < (isGradient ? 2 : 1); ++i) {
    views.emplace_back(op.in[i], frame.size());
    op.in[i] = frame.size();
    frame.emplace_back();
  }
  if (givesImage) {
    Dims &sizes = op.types[0].second;
    int64_t channels = sizes.back();
    sizes.erase(sizes.size() - 1);
    sizes.insert(1, channels);
  }
  return [=, act = channelsFirst(op)](Frame &frame) {
    for (auto [x, view] : views)
      frame[view] = moveDimension(frame[x], frame[x].dim() - 1, 1);
    act(frame);
    for (auto [x, view] : views)
      frame[view] = Tensor();
    if (givesImage)
      frame[y] = moveDimension(frame[y], 1, frame[y].dim() - 1);
  };
}

Action ModelOps::channelsFirst(const Op &op) {
  for (auto family :
       {&ModelOps::elementwise, &ModelOps::reduction, &ModelOps::contraction,
        &ModelOps::window, &ModelOps::normalization, &ModelOps::movement,
        &ModelOps::controlFlow})
    if (Action made = (this->*family)(op))
      return made;
  refuse(op.op, "eager execution does not know this op");
}

Action ModelOps::action(const Op &op) {
  return hasChannelsLast(op.op) ? channelsLast(op) : channelsFirst(op);
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

static std::optional<ElementwiseOp> elementwiseOp(mlir::Operation *op) {
  static const llvm::StringMap<ElementwiseOp> named = [] {
    llvm::StringMap<ElementwiseOp> map;
    for (int i = 0; i <= static_cast<int>(ElementwiseOp::MulAdd); ++i) {
      auto op = static_cast<ElementwiseOp>(i);
      map[nameOf(op)] = op;
    }
    return map;
  }();
  StringRef name = op->getName().stripDialect();
  if (auto compare = dyn_cast<graph::CompareOp>(op))
    name = graph::stringifyComparePredicate(compare.getPredicate());
  if (auto gelu = dyn_cast<graph::GeluOp>(op);
      gelu && gelu.getTanhApproximation())
    return ElementwiseOp::GeluTanh;
  auto known = named.find(name);
  if (known == named.end())
    return std::nullopt;
  return known->second;
}

Action ModelOps::elementwise(const Op &op) {
  auto [dtype, sizes] =
      op.types.empty() ? std::pair<tinh_dtype_t, Dims>() : op.types[0];
  if (isa<graph::CastOp>(op.op))
    return [=, in = op.in[0], out = op.out[0], call = op.call](Frame &frame) {
      frame[out] = copied(use(frame[in], call), dtype, call);
    };
  auto kind = elementwiseOp(op.op);
  if (!kind || !op.op->hasTrait<graph::ElementwiseOpTrait>())
    return {};
  return [=, in = op.in, out = op.out[0], call = op.call](Frame &frame) {
    Tensor y = makeTensor(dtype, sizes);
    if (sizes.product() > 0) {
      Input inputs[3];
      for (size_t i = 0; i < in.size(); ++i)
        inputs[i] = {&use(frame[in[i]], call), {}};
      perform(primitives::Elementwise{*kind}, std::span(inputs, in.size()),
              use(y, call), call);
    }
    frame[out] = y;
  };
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The mean of integers, which the tensors' own operations do not give: rounded
/// towards zero.
static Tensor integerMean(const Tensor &x, const IntArray &axes, DType dtype) {
  Call call{"mean", {}};
  Tensor total = sum(x, axes, true);
  const TensorImpl &sums = use(total, call);
  Tensor y = makeTensor(total.dtype(), sums.sizes);
  if (sums.numElements() > 0) {
    int64_t count = 1;
    for (int64_t axis : axes)
      count *= x.size(axis);
    Input inputs[] = {{&sums, {}}, {nullptr, toScalar(count, sums.dtype)}};
    perform(primitives::Elementwise{ElementwiseOp::Div}, inputs, use(y, call),
            call);
  }
  return y.to(dtype);
}

/// The largest of no elements is the smallest number, and the other way round.
static Tensor extremeOfNone(bool isMax, const Shape &shape, DType dtype) {
  if (dtype.is_floating_point())
    return full(shape, isMax ? -INFINITY : INFINITY, dtype);
  if (dtype == boolean)
    return full(shape, !isMax, dtype);
  size_t bits = 8 * dtype.size();
  uint64_t lowest = dtype.is_unsigned() ? 0 : ~uint64_t(0) << (bits - 1);
  uint64_t highest = ~lowest & (~uint64_t(0) >> (64 - bits));
  uint64_t value = isMax ? lowest : highest;
  if (dtype.is_unsigned())
    return full(shape, value, dtype);
  return full(shape, static_cast<int64_t>(value), dtype);
}

static Tensor reduce(graph::ReduceKind kind, const Tensor &x,
                     const IntArray &axes, const Shape &shape, DType dtype) {
  bool isMax = kind == graph::ReduceKind::Max;
  if (axes.empty())
    return x;
  if (x.numel() == 0 && (isMax || kind == graph::ReduceKind::Min))
    return extremeOfNone(isMax, shape, dtype);
  switch (kind) {
  case graph::ReduceKind::Sum:
    return sum(x, axes, true).to(dtype);
  case graph::ReduceKind::Mean:
    return dtype.is_floating_point() ? mean(x, axes, true)
                                     : integerMean(x, axes, dtype);
  case graph::ReduceKind::Prod:
    return prod(x, axes, true).to(dtype);
  case graph::ReduceKind::Max:
    return max(x, axes, true);
  case graph::ReduceKind::Min:
    return min(x, axes, true);
  }
  llvm_unreachable("no such reduction");
}

static Tensor argReduce(bool isMax, bool isLast, const Tensor &x,
                        int64_t axis) {
  Tensor from = isLast ? flip(x, axis) : x;
  Tensor index = isMax ? argmax(from, axis, true) : argmin(from, axis, true);
  return isLast ? (x.size(axis) - 1) - index : index;
}

/// A running sum or its like by the function of tensors, which has none that
/// are exclusive or in reverse.
template <typename OpTy>
static auto cumulative(OpTy op, Tensor (*function)(Operand, int64_t)) {
  int first = OpTy::neutralElement() == graph::Neutral::One ? 1 : 0;
  return [function, first, axis = int64_t(op.getAxis()),
          isExclusive = op.getExclusive(),
          isReverse = op.getReverse()](const Tensor &operand) {
    Tensor x = isReverse ? flip(operand, axis) : operand;
    if (isExclusive && x.size(axis) > 0) // Each element one place later.
      x = concat({full_like(x.narrow(axis, 0, 1), first),
                  x.narrow(axis, 0, x.size(axis) - 1)},
                 axis);
    Tensor y = function(x, axis).to(x.dtype());
    return isReverse ? flip(y, axis) : y;
  };
}

Action ModelOps::reduction(const Op &op) {
  Shape shape = op.types.empty() ? Shape() : toArray(op.types[0].second);
  auto store = [in = op.in, out = op.out, shape](auto compute) -> Action {
    return [=](Frame &frame) {
      frame[out[0]] = compute(frame[in[0]]).reshape(shape);
    };
  };
  if (auto reducing = dyn_cast<graph::ReduceOp>(op.op))
    return store([kind = reducing.getKind(), axes = toArray(reducing.getAxes()),
                  shape, dtype = DType(op.types[0].first)](const Tensor &x) {
      return reduce(kind, x, axes, shape, dtype);
    });
  if (auto spread = dyn_cast<graph::VarianceOp>(op.op))
    return store([axes = toArray(spread.getAxes())](const Tensor &x) {
      // Without axes, each element is a row of its own.
      return axes.empty() ? x - x
                          : var(x, axes, /*keepdims=*/true, /*correction=*/0);
    });
  auto arg = [&](bool isMax, bool isLast, int64_t axis) {
    return store(
        [=](const Tensor &x) { return argReduce(isMax, isLast, x, axis); });
  };
  if (auto argmax = dyn_cast<graph::ArgmaxOp>(op.op))
    return arg(true, argmax.getSelectLastIndex(), argmax.getAxis());
  if (auto argmin = dyn_cast<graph::ArgminOp>(op.op))
    return arg(false, argmin.getSelectLastIndex(), argmin.getAxis());
#define CUMULATIVE_OP(NAME, MNEMONIC)                                          \
  if (auto scan = dyn_cast<graph::NAME##Op>(op.op))                            \
    return store(cumulative(scan, &tinh::MNEMONIC));
#include "dialects/graph/ReductionOps.inc"
  return {};
}

} // namespace tinh::eager
