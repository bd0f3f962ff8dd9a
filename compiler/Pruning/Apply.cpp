//===- Apply.cpp - A model without what is cut ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pruning/Apply.h"

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Pruning/Coupling.h"
#include "compiler/Transforms/Constants/Constants.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace tinh::pruning {

using transforms::tensorType;

namespace {

/// Makes a copy of a model what is left of it.
class Cutter {
public:
  Cutter(const Cut &cut, const IRMapping &copy, MappedFiles &files)
      : cut(cut), copy(copy), files(files) {}

  LogicalResult run(func::FuncOp main);

private:
  std::vector<char> elementsLeft(graph::ConstantOp op,
                                 ArrayRef<char> bytes) const;
  TypedAttr cutDense(graph::ConstantOp op, DenseElementsAttr value) const;
  FailureOr<TypedAttr> cutExternal(graph::ConstantOp op,
                                   graph::ExternalAttr value);
  LogicalResult cutConstant(graph::ConstantOp op);
  void cutAttributes(Operation *op);
  void cutSlice(graph::SliceOp op);

  const Cut &cut;
  const IRMapping &copy;
  MappedFiles &files;
};

/// The elements, of `size` bytes, at the indices that are left of each
/// dimension.
std::vector<char> take(ArrayRef<char> bytes, ArrayRef<int64_t> shape,
                       ArrayRef<std::vector<int64_t>> left, int64_t size) {
  std::vector<char> kept(bytes.begin(), bytes.end());
  int64_t inner = size;
  for (size_t axis = shape.size(); axis-- > 0;) {
    std::vector<char> next;
    int64_t step = inner * shape[axis];
    for (int64_t at = 0; at < static_cast<int64_t>(kept.size()); at += step)
      for (int64_t index : left[axis])
        next.insert(next.end(), kept.begin() + at + index * inner,
                    kept.begin() + at + (index + 1) * inner);
    kept = std::move(next);
    inner *= static_cast<int64_t>(left[axis].size());
  }
  return kept;
}

std::vector<char> Cutter::elementsLeft(graph::ConstantOp op,
                                       ArrayRef<char> bytes) const {
  auto type = tensorType(op.getY());
  std::vector<std::vector<int64_t>> left;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    left.push_back(cut.left({op.getY(), axis}));
  return take(bytes, type.getShape(), left,
              graph::elementSize(type.getElementType()));
}

TypedAttr Cutter::cutDense(graph::ConstantOp op,
                           DenseElementsAttr value) const {
  auto type = value.getType().clone(cut.shape(op.getY()));
  return value.isSplat() ? value.resizeSplat(type)
                         : DenseElementsAttr::getFromRawBuffer(
                               type, elementsLeft(op, value.getRawData()));
}

/// Where nothing but equal elements is left, as of a norm that was not trained,
/// it stays a constant in the file: weights are those that files have.
FailureOr<TypedAttr> Cutter::cutExternal(graph::ConstantOp op,
                                         graph::ExternalAttr value) {
  auto bytes = files.read(value);
  if (!bytes)
    return op.emitError(llvm::toString(bytes.takeError()));
  auto type = tensorType(op.getY()).clone(cut.shape(op.getY()));
  std::vector<char> left = elementsLeft(op, *bytes);
  if (left.size() > kMaxInlineBytes &&
      bytes->take_front(left.size()) == ArrayRef(left))
    return TypedAttr(graph::ExternalAttr::get(type.getContext(), type,
                                              value.getFile(),
                                              value.getOffset(), left.size()));
  return TypedAttr(DenseElementsAttr::getFromRawBuffer(type, left));
}

LogicalResult Cutter::cutConstant(graph::ConstantOp op) {
  if (!cut.isCut(op.getY()))
    return success();
  TypedAttr value = graph::elementsOf(op.getValue());
  auto external = dyn_cast<graph::ExternalAttr>(value);
  FailureOr<TypedAttr> elements =
      external ? cutExternal(op, external)
               : FailureOr(cutDense(op, cast<DenseElementsAttr>(value)));
  if (failed(elements))
    return failure();
  cast<graph::ConstantOp>(copy.lookup(op.getOperation()))
      .setValueAttr(*elements);
  return success();
}

/// What is left of a box begins after what is left before it.
void Cutter::cutSlice(graph::SliceOp op) {
  SmallVector<int64_t> starts, sizes = cut.shape(op.getY());
  for (auto [axis, start] : llvm::enumerate(op.getStarts()))
    starts.push_back(
        op.getSteps()[axis] == 1
            ? cut.leftOf({op.getX(), static_cast<int64_t>(axis)}, start)
            : start);
  auto copied = cast<graph::SliceOp>(copy.lookup(op.getOperation()));
  copied.setStarts(starts);
  copied.setSizes(sizes);
}

void Cutter::cutAttributes(Operation *op) {
  if (auto slice = dyn_cast<graph::SliceOp>(op))
    return cutSlice(slice);
  auto conv = dyn_cast<graph::ConvOp>(op);
  if (conv && isDepthwise(conv))
    cast<graph::ConvOp>(copy.lookup(op))
        .setGroups(cut.extent(
            {conv.getX(), channelAxis(conv.getLayout(), conv.getX())}));
}

LogicalResult Cutter::run(func::FuncOp main) {
  for (Operation &op : main.front()) {
    if (auto constant = dyn_cast<graph::ConstantOp>(op);
        constant && failed(cutConstant(constant)))
      return failure();
    cutAttributes(&op);
    for (Value result : op.getResults())
      copy.lookup(result).setType(tensorType(result).clone(cut.shape(result)));
  }
  return success();
}

} // namespace

OwningOpRef<ModuleOp> withCut(ModuleOp module, const Cut &cut,
                              MappedFiles &files) {
  IRMapping copy;
  OwningOpRef<ModuleOp> result(cast<ModuleOp>(module->clone(copy)));
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  if (failed(Cutter(cut, copy, files).run(main)) || failed(verify(*result)))
    return {};
  return result;
}

} // namespace tinh::pruning
