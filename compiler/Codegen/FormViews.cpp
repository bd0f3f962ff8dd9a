//===- FormViews.cpp - Parts of tensors are not copied ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.dispatch @conv_0(%x) : … -> tensor<1x8x8x64xf32>
//   %1 = graph.dispatch @conv_1(%x) : … -> tensor<1x8x8x32xf32>
//   %2 = graph.dispatch @concat_0(%0, %1) : … -> tensor<1x8x8x96xf32>
// becomes
//   %0 = graph.dispatch @conv_0(%x) : …
//   %1 = graph.dispatch @conv_1(%x) : …
//   %2 = graph.concat %0, %1 axis 3 : …
//   func.func private @conv_0(%x: …)
//       -> (tensor<…> {graph.strides = array<i64: 6144, 768, 96, 1>})
// and @conv_1 likewise: they write to their parts of the concatenation's
// memory. Who reads a part of a tensor, a piece of a concatenation or a slice,
// has the strides at its argument. What cannot be written in place, a piece of
// two concatenations or an input of the model, is copied to its place by a
// kernel of its own, if there is one such piece at most.
//
// A concatenation's memory is needed from its first piece on: where more is
// live at one time then than with copies, these stay.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Layouts.h"
#include "compiler/Codegen/Passes.h"
#include "compiler/Planning/Arena.h"
#include "tinh/artifact.h"

using namespace mlir;

namespace tinh::codegen {

#define GEN_PASS_DEF_FORMVIEWS
#include "compiler/Codegen/Passes.h.inc"

namespace {

class ViewFormer {
public:
  explicit ViewFormer(func::FuncOp function)
      : function(function), symbols(function->getParentOfType<ModuleOp>()) {}

  LogicalResult run();
  int64_t numConcats = 0, numSlices = 0;

private:
  LogicalResult findKernels();
  bool isConstant(Operation &op);
  bool fits(Value value);
  uint64_t liveMemory();
  bool formSlice(graph::DispatchOp dispatch, tensor::ExtractSliceOp slice);
  bool formConcat(graph::DispatchOp dispatch, tensor::ConcatOp pieces);
  void copy(graph::ConcatOp concat, unsigned index, func::FuncOp like);
  void setStrides(graph::DispatchOp dispatch);

  func::FuncOp function;
  SymbolTable symbols;
  DenseMap<Operation *, func::FuncOp> kernels; // By dispatch.
  Layouts layouts;
  /// What is computed from constants alone: it moves to @init.
  DenseSet<Value> constants;
};

/// The one op that a kernel consists of, if its operands are the kernel's
/// arguments.
template <typename OpType> OpType onlyOp(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  auto op = dyn_cast<OpType>(body.front());
  bool only = op && body.getOperations().size() == 2 &&
              body.getTerminator()->getOperands() == op->getResults() &&
              llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>);
  return only ? op : OpType();
}

/// The dispatch's operand that `argument` of its kernel is.
Value outer(graph::DispatchOp dispatch, Value argument) {
  return dispatch.getInputs()[cast<BlockArgument>(argument).getArgNumber()];
}

LogicalResult ViewFormer::findKernels() {
  DenseSet<Operation *> known;
  auto find = [&](graph::DispatchOp dispatch) -> WalkResult {
    auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
    if (!kernel || kernel.isExternal())
      return dispatch.emitOpError("names no kernel function");
    if (!known.insert(kernel).second)
      return dispatch.emitOpError()
             << "shares kernel '" << dispatch.getKernel()
             << "' with another one; form views before merging kernels";
    kernels[dispatch] = kernel;
    return WalkResult::advance();
  };
  return failure(
      function->getParentOfType<ModuleOp>().walk(find).wasInterrupted());
}

bool ViewFormer::isConstant(Operation &op) {
  return !graph::isCollective(&op) &&
         llvm::all_of(op.getOperands(),
                      [&](Value value) { return constants.contains(value); });
}

/// Whether kernels can find the elements of `value` where it lies now, and
/// those of all that lies in it or shows a part of it.
bool ViewFormer::fits(Value value) {
  if (!layouts.of(value))
    return false;
  auto fitsUser = [&](Operation *user) {
    if (user->getBlock() != &function.getBody().front())
      return false;
    if (isa<graph::ReshapeOp, graph::SliceOp>(user))
      return fits(user->getResult(0));
    return isa<graph::DispatchOp, graph::ConcatOp>(user);
  };
  if (!llvm::all_of(value.getUsers(), fitsUser))
    return false;
  auto concat = value.getDefiningOp<graph::ConcatOp>();
  return !concat || llvm::all_of(concat.getInputs(), [&](Value input) {
    return fits(withoutReshapes(input));
  });
}

/// The most bytes that are live at one time, where each value lies now. Parts
/// are live as long as their whole is.
uint64_t ViewFormer::liveMemory() {
  std::vector<planning::Lifetime> lives;
  DenseMap<Value, size_t> numbers;
  uint32_t position = 0;
  auto use = [&](Value value) {
    Value whole = layouts.of(value)->whole;
    if (isa<BlockArgument>(whole) || constants.contains(whole))
      return;
    auto [known, isNew] = numbers.try_emplace(whole, lives.size());
    if (isNew)
      lives.push_back(
          {static_cast<uint64_t>(graph::tensorSize(whole.getType())), position,
           position});
    lives[known->second].last = position;
  };
  Block &block = function.getBody().front();
  for (Operation &op : block) {
    // A dispatch without uses is the copy that a view replaces.
    if (isa<graph::DispatchOp>(op) && op.use_empty())
      continue;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == &block)
          use(operand);
    });
    llvm::for_each(op.getResults(), use);
    ++position;
  }
  return planning::liveLowerBound(lives, position + 1, TINH_BUFFER_ALIGNMENT);
}

bool ViewFormer::formSlice(graph::DispatchOp dispatch,
                           tensor::ExtractSliceOp slice) {
  Value source = outer(dispatch, slice.getSource());
  if (slice.getSourceType().getRank() != slice.getType().getRank() ||
      llvm::any_of(slice.getStaticStrides(),
                   [](int64_t step) { return step < 1; }))
    return false;
  OpBuilder builder(dispatch);
  auto view = graph::SliceOp::create(
      builder, dispatch.getLoc(), source, slice.getStaticOffsets(),
      slice.getStaticSizes(), slice.getStaticStrides());
  Value result = dispatch.getOutputs()[0];
  result.replaceAllUsesWith(view.getY());
  if (fits(view.getY()))
    return true;
  view.getY().replaceAllUsesWith(result);
  view.erase();
  return false;
}

bool ViewFormer::formConcat(graph::DispatchOp dispatch,
                            tensor::ConcatOp pieces) {
  SmallVector<Value> inputs = llvm::map_to_vector(
      pieces.getInputs(), [&](Value piece) { return outer(dispatch, piece); });
  uint64_t before = liveMemory();
  OpBuilder builder(dispatch);
  auto concat = graph::ConcatOp::create(builder, dispatch.getLoc(), inputs,
                                        pieces.getDim());
  Value result = dispatch.getOutputs()[0];
  result.replaceAllUsesWith(concat.getY());
  // Pieces without elements lie anywhere.
  SmallVector<unsigned> copied;
  SmallVector<Value> placed;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    Value part = withoutReshapes(input);
    bool written = !constants.contains(part) && layouts.place(concat, i);
    if (written && fits(part)) {
      placed.push_back(part);
      continue;
    }
    if (written)
      layouts.remove(part);
    copied.push_back(i);
  }
  if (!placed.empty() && copied.size() <= 1 && liveMemory() <= before) {
    for (unsigned i : copied)
      copy(concat, i, kernels.at(dispatch));
    return true;
  }
  for (Value part : placed)
    layouts.remove(part);
  concat.getY().replaceAllUsesWith(result);
  concat.erase();
  return false;
}

/// Makes a kernel, for the device of `like`, for a piece that its producer
/// cannot write in its place.
void ViewFormer::copy(graph::ConcatOp concat, unsigned index,
                      func::FuncOp like) {
  Value input = concat.getInputs()[index];
  auto type = cast<RankedTensorType>(input.getType());
  OpBuilder builder(concat);
  Type element = type.getElementType();
  if (element.isUnsignedInteger()) // As in all kernels.
    element = builder.getIntegerType(element.getIntOrFloatBitWidth());
  Type inner = type.clone(element);
  auto kernel = func::FuncOp::create(concat.getLoc(), "copy_0",
                                     builder.getFunctionType({inner}, {inner}));
  kernel.setPrivate();
  if (Attribute device = like->getAttr(graph::names::kDevice))
    kernel->setAttr(graph::names::kDevice, device);
  Block *body = kernel.addEntryBlock();
  symbols.insert(kernel);
  auto atEnd = OpBuilder::atBlockEnd(body);
  func::ReturnOp::create(atEnd, concat.getLoc(), body->getArguments());
  auto dispatch = graph::DispatchOp::create(
      builder, concat.getLoc(), TypeRange(type), kernel.getName(), input);
  kernels[dispatch] = kernel;
  concat.getInputsMutable()[index].set(dispatch.getOutputs()[0]);
  layouts.place(concat, index);
}

/// Tells the kernel, which this dispatch alone uses, where its operands lie.
void ViewFormer::setStrides(graph::DispatchOp dispatch) {
  func::FuncOp kernel = kernels.at(dispatch);
  auto stridesOf = [&](Value value) -> Attribute {
    SmallVector<int64_t> strides = layouts.of(value)->strides;
    auto type = cast<RankedTensorType>(value.getType());
    if (graph::isDense(type, strides))
      return {};
    return DenseI64ArrayAttr::get(value.getContext(), strides);
  };
  for (auto [i, input] : llvm::enumerate(dispatch.getInputs()))
    if (Attribute strides = stridesOf(input))
      kernel.setArgAttr(i, graph::names::kStrides, strides);
  for (auto [i, output] : llvm::enumerate(dispatch.getOutputs()))
    if (Attribute strides = stridesOf(output))
      kernel.setResultAttr(i, graph::names::kStrides, strides);
}

LogicalResult ViewFormer::run() {
  if (failed(findKernels()))
    return failure();
  Block &block = function.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (isConstant(op)) {
      constants.insert_range(op.getResults());
      continue;
    }
    auto dispatch = dyn_cast<graph::DispatchOp>(op);
    if (!dispatch)
      continue;
    // No place in a tensor without elements is inside of it.
    if (graph::tensorSize(dispatch.getOutputs()[0].getType()) == 0)
      continue;
    func::FuncOp kernel = kernels.at(dispatch);
    bool formed = false;
    if (auto slice = onlyOp<tensor::ExtractSliceOp>(kernel)) {
      formed = formSlice(dispatch, slice);
      numSlices += formed;
    } else if (auto pieces = onlyOp<tensor::ConcatOp>(kernel)) {
      formed = formConcat(dispatch, pieces);
      numConcats += formed;
    }
    if (!formed)
      continue;
    kernels.erase(dispatch);
    dispatch.erase();
    symbols.erase(kernel);
  }
  for (auto dispatch : block.getOps<graph::DispatchOp>())
    setStrides(dispatch);
  return success();
}

struct FormViews : impl::FormViewsBase<FormViews> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> entries;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (graph::isEntry(function))
        entries.push_back(function);
    for (func::FuncOp function : entries) {
      ViewFormer former(function);
      if (failed(former.run()))
        return signalPassFailure();
      numConcats += former.numConcats;
      numSlices += former.numSlices;
    }
  }
};

} // namespace
} // namespace tinh::codegen
