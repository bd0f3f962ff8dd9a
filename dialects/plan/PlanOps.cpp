//===- PlanOps.cpp - Weights and steps --------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Strides.h"
#include "dialects/plan/Plan.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tinh;
using namespace tinh::plan;

//===----------------------------------------------------------------------===//
// weight, variable
//===----------------------------------------------------------------------===//

static LogicalResult verifyTensor(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.getElementType().isIntOrFloat())
    return success();
  return op->emitOpError() << "expected a tensor of numbers, found " << type;
}

LogicalResult WeightOp::verify() {
  if (failed(verifyTensor(*this, getType())))
    return failure();
  if (static_cast<int64_t>(getOffset()) < 0)
    return emitOpError() << "lies at the negative offset "
                         << static_cast<int64_t>(getOffset());
  return success();
}

BufferAttr WeightOp::getBuffer() {
  return BufferAttr::get(getContext(), Space::Weights, 0, getOffset(),
                         graph::tensorSize(getType()));
}

LogicalResult VariableOp::verify() {
  if (failed(verifyTensor(*this, getType())))
    return failure();
  std::optional<LayoutAttr> layout = getLayout();
  if (layout && failed(verifyTensor(*this, layout->getType())))
    return failure();
  if (layout &&
      (layout->getPackChunks() < 1 || layout->getUnpackChunks() < 1 ||
       layout->getType().getElementType() != getElementTypeOrSelf(getType())))
    return emitOpError("has a layout with other elements than its own, or "
                       "kernels of no chunks");
  if (layout && getOnDevice())
    return emitOpError("is on the device, where variables lie as their types "
                       "say, but has a layout");
  std::optional<BufferAttr> initial = getInitial();
  int64_t size = graph::tensorSize(getStoredType());
  if (!initial ||
      (initial->getSpace() == Space::Weights && initial->isContiguous() &&
       !initial->moves() && initial->getSize() == size))
    return success();
  return emitOpError() << "begins as " << toString(*initial)
                       << "; expected the " << size << " bytes of a weight";
}

/// What a user of `kernel` takes its numbers to be must be what it says.
/// `threads` is there if it is to run on the GPU.
static LogicalResult verifyNumbers(Operation *user, Operation *kernel,
                                   StringAttr kernelName, int64_t chunks,
                                   int64_t scratch,
                                   std::optional<int64_t> threads = {}) {
  if (graph::isOnCuda(kernel) != threads.has_value())
    return user->emitOpError()
           << "kernel '" << kernelName.getValue() << "' is for the "
           << (threads ? "CPU, which has no blocks of threads"
                       : "GPU, which needs the threads of a block");
  if (threads) {
    auto expected = kernel->getAttrOfType<IntegerAttr>(graph::names::kThreads);
    if (!expected || expected.getInt() != *threads)
      return user->emitOpError()
             << "kernel '" << kernelName.getValue() << "' has blocks of "
             << (expected ? expected.getInt() : 0) << " threads, not "
             << *threads;
  }
  for (auto [name, value] : {std::pair(graph::names::kChunks, chunks),
                             std::pair(graph::names::kScratch, scratch)}) {
    auto expected = kernel->getAttrOfType<IntegerAttr>(name);
    if (!expected)
      return user->emitOpError()
             << "kernel '" << kernelName.getValue() << "' has no " << name;
    if (expected.getInt() != value)
      return user->emitOpError()
             << "kernel '" << kernelName.getValue() << "' has " << name << " = "
             << expected.getInt() << ", not " << value;
  }
  return success();
}

LogicalResult VariableOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto check = [&](FlatSymbolRefAttr name, int64_t chunks, Type from,
                   Type to) -> LogicalResult {
    Operation *kernel = symbols.lookupNearestSymbolFrom(*this, name);
    auto function = dyn_cast_if_present<FunctionOpInterface>(kernel);
    bool fits = function ? function.getArgumentTypes() == ArrayRef(from) &&
                               function.getResultTypes() == ArrayRef(to)
                         : isa_and_present<ModuleOp>(kernel);
    if (!fits)
      return emitOpError() << "there is no kernel '" << name.getValue()
                           << "' from " << from << " to " << to;
    return verifyNumbers(*this, kernel, name.getAttr(), chunks, /*scratch=*/0);
  };
  std::optional<LayoutAttr> layout = getLayout();
  if (!layout)
    return success();
  if (failed(check(layout->getPack(), layout->getPackChunks(), getType(),
                   layout->getType())))
    return failure();
  return check(layout->getUnpack(), layout->getUnpackChunks(),
               layout->getType(), getType());
}

//===----------------------------------------------------------------------===//
// function
//===----------------------------------------------------------------------===//

void FunctionOp::build(OpBuilder &builder, OperationState &state,
                       StringRef name, ArrayAttr inputs, ArrayAttr outputs) {
  build(builder, state, builder.getStringAttr(name), inputs, outputs,
        builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(0),
        builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(0),
        builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(0));
  state.regions.front()->emplaceBlock();
}

//===----------------------------------------------------------------------===//
// dispatch
//===----------------------------------------------------------------------===//

/// The weights cannot be written, nor can what the caller gives: but variables,
/// which the function's verifier knows.
static LogicalResult verifyWrites(Operation *op, ArrayRef<BufferAttr> writes) {
  for (BufferAttr buffer : writes)
    if (buffer.isWeight() || buffer.getSpace() == Space::Loop)
      return op->emitOpError()
             << "writes " << toString(buffer)
             << ", but only arenas, outputs and variables may be written";
  return success();
}

LogicalResult DispatchOp::verify() {
  if (static_cast<int64_t>(getChunks()) < 1)
    return emitOpError("expected at least 1 chunk");
  if (static_cast<int64_t>(getScratch()) < 0)
    return emitOpError(
        "expected a size of scratch memory that is not negative");
  StepAccess access = accessOf(*this);
  if (getInplace().size() != access.writes.size())
    return emitOpError() << "has " << access.writes.size() << " results, but "
                         << getInplace().size() << " entries of inplace";
  for (auto [i, read] : llvm::enumerate(getInplace()))
    if (read < -1 || read >= static_cast<int64_t>(access.reads.size()))
      return emitOpError() << "result " << i << " is in place of input " << read
                           << ", but there are " << access.reads.size()
                           << " inputs";
  if (failed(verifyWrites(*this, access.writes)))
    return failure();
  // Chunks run in any order: a result may lie only where the kernel reads the
  // very element that it writes.
  for (auto [i, written] : llvm::enumerate(access.writes))
    for (auto [j, read] : llvm::enumerate(access.reads)) {
      bool inplace = getInplace()[i] == static_cast<int64_t>(j);
      bool bytes = read.isContiguous() && written.isContiguous();
      // Buffers that move apart are compared with the loops around.
      bool together = read.getStrides() == written.getStrides();
      bool same = together && read.getOffset() == written.getOffset() &&
                  (bytes ? read.contains(written) : read == written);
      if (inplace && !same)
        return emitOpError() << "result " << i << " is in place of input " << j
                             << ", but lies at " << toString(written)
                             << ", not " << toString(read);
      if (!inplace && together && read.overlaps(written))
        return emitOpError()
               << "writes " << toString(written) << " while it reads "
               << toString(read) << ", not in place";
    }
  for (auto [i, written] : llvm::enumerate(access.writes))
    for (BufferAttr other : ArrayRef(access.writes).take_front(i))
      if (written.getStrides() == other.getStrides() && written.overlaps(other))
        return emitOpError()
               << "writes " << toString(written) << " and " << toString(other);
  return success();
}

/// ", 8 of every 16", for messages about an operand that lies in rows.
static std::string describeRows(std::optional<graph::Rows> rows) {
  if (!rows || rows->count == 1)
    return "";
  return ", " + std::to_string(rows->run) + " of every " +
         std::to_string(rows->pitch);
}

/// The operands of the kernel function `function` against those of `op`.
static LogicalResult verifyOperands(DispatchOp op,
                                    FunctionOpInterface function) {
  using Strides = function_ref<SmallVector<int64_t>(unsigned)>;
  auto check = [&](StringRef what, ArrayRef<Type> types,
                   ArrayRef<BufferAttr> buffers,
                   Strides strides) -> LogicalResult {
    if (types.size() != buffers.size())
      return op.emitOpError()
             << "kernel '" << op.getKernel() << "' has " << types.size() << " "
             << what << ", not " << buffers.size();
    for (auto [i, type, buffer] : llvm::enumerate(types, buffers)) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape() ||
          !tensor.getElementType().isIntOrFloat())
        return op.emitOpError() << "kernel '" << op.getKernel() << "' takes "
                                << type << ", which is no tensor of numbers";
      int64_t bytes = graph::elementSize(tensor.getElementType());
      if (buffer.getOffset() % bytes)
        return op.emitOpError()
               << "kernel '" << op.getKernel() << "' has " << type
               << " among its " << what << ", but " << toString(buffer)
               << " does not begin at a multiple of " << bytes << " bytes";
      auto rows = graph::rowsOf(tensor, strides(i));
      if (!rows || rows->span() != buffer.getSize() ||
          rows->count != buffer.getRows() || rows->run != buffer.getRun())
        return op.emitOpError()
               << "kernel '" << op.getKernel() << "' has " << type
               << " among its " << what << ", " << graph::tensorSize(tensor)
               << " bytes" << describeRows(rows) << ", where "
               << toString(buffer) << " has "
               << buffer.getRows() * buffer.getRun();
    }
    return success();
  };
  auto argument = [&](unsigned i) {
    return graph::argumentStrides(function, i);
  };
  auto result = [&](unsigned i) { return graph::resultStrides(function, i); };
  StepAccess access = accessOf(op);
  return success(succeeded(check("inputs", function.getArgumentTypes(),
                                 access.reads, argument)) &&
                 succeeded(check("results", function.getResultTypes(),
                                 access.writes, result)));
}

/// Whether the kernel allows result `result` in the place of input `input`.
static bool allowsInplace(Operation *kernel, int64_t input, int64_t result) {
  auto pairs = kernel->getAttrOfType<ArrayAttr>(graph::names::kInplace);
  return pairs && llvm::any_of(pairs, [&](Attribute pair) {
           auto indices = dyn_cast<DenseI64ArrayAttr>(pair);
           return indices && indices.asArrayRef() == ArrayRef({input, result});
         });
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *kernel = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "there is no kernel '" << getKernel() << "'";
  if (auto function = dyn_cast<FunctionOpInterface>(kernel)) {
    if (failed(verifyOperands(*this, function)))
      return failure();
    for (auto [i, read] : llvm::enumerate(getInplace()))
      if (read >= 0 && !allowsInplace(kernel, read, i))
        return emitOpError()
               << "kernel '" << getKernel() << "' cannot write result " << i
               << " in place of input " << read;
  } else if (!isa<ModuleOp>(kernel)) {
    return emitOpError() << "'" << getKernel() << "' is no kernel, but '"
                         << kernel->getName() << "'";
  }
  return verifyNumbers(*this, kernel, getKernelAttr().getAttr(), getChunks(),
                       getScratch(), getThreads());
}

//===----------------------------------------------------------------------===//
// copy
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::verify() {
  if (getSource().getSize() != getTarget().getSize())
    return emitOpError() << "copies " << getSource().getSize() << " bytes to "
                         << getTarget().getSize();
  for (BufferAttr buffer : {getSource(), getTarget()})
    if (!buffer.isContiguous())
      return emitOpError() << "copies " << toString(buffer)
                           << ", but only contiguous bytes can be copied";
  if (getSource().getStrides() == getTarget().getStrides() &&
      getSource().overlaps(getTarget()))
    return emitOpError("copies between bytes that overlap");
  return verifyWrites(*this, getTarget());
}

//===----------------------------------------------------------------------===//
// start, await
//===----------------------------------------------------------------------===//

LogicalResult
CollectiveAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       CollectiveKind kind, Reduction reduction, Type element,
                       Type communicationDtype, int64_t root, int64_t ranks) {
  bool reduces = kind == CollectiveKind::AllReduce ||
                 kind == CollectiveKind::ReduceScatter;
  bool isForANumber = kind == CollectiveKind::AllGather ||
                      kind == CollectiveKind::ReduceScatter;
  if (!element.isIntOrFloat())
    return emitError() << "expected elements that are numbers, found "
                       << element;
  bool isReducible =
      isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(element) ||
      element.isSignlessInteger(32) || element.isSignlessInteger(64);
  if (reduces && !isReducible)
    return emitError() << "expected elements that can be reduced over ranks, "
                          "f64, f32, f16, bf16, i64 or i32, found "
                       << element;
  if (reduces && reduction == Reduction::Mean && !isa<FloatType>(element))
    return emitError() << "expected floats to have a mean, found " << element;
  if (communicationDtype &&
      !(reduces && element.isF32() && communicationDtype.isBF16()))
    return emitError() << "sends " << element << " as " << communicationDtype
                       << "; only reductions of f32 are sent as bf16";
  if (root < 0 || ranks < 0 || (isForANumber && ranks == 0))
    return emitError() << "expected a root that is a rank, and a number of "
                          "ranks, found "
                       << root << " and " << ranks;
  return success();
}

LogicalResult StartOp::verify() {
  BufferAttr source = getSource(), target = getTarget();
  for (BufferAttr buffer : {source, target})
    if (!buffer.isContiguous() || buffer.moves())
      return emitOpError() << "is about " << toString(buffer)
                           << ", but only contiguous bytes are sent";
  CollectiveAttr collective = getCollective();
  int64_t ranks = collective.getRanks();
  int64_t given = source.getSize(), expected = target.getSize();
  if (collective.getKind() == CollectiveKind::AllGather)
    given *= ranks;
  if (collective.getKind() == CollectiveKind::ReduceScatter)
    expected *= ranks;
  if (given != expected ||
      source.getSize() % graph::elementSize(collective.getElement()))
    return emitOpError() << "has " << source.getSize() << " bytes of "
                         << collective.getElement() << ", and gives "
                         << target.getSize();
  if (source != target && source.overlaps(target))
    return emitOpError() << "reads " << toString(source) << " and writes "
                         << toString(target) << ", which overlap";
  return verifyWrites(*this, target);
}

StartOp AwaitOp::getStarted() { return getStart().getDefiningOp<StartOp>(); }

LogicalResult AwaitOp::verify() {
  if (!getStarted())
    return emitOpError("waits for a step that starts no collective");
  return success();
}

//===----------------------------------------------------------------------===//
// zero, if, loop, leave
//===----------------------------------------------------------------------===//

LogicalResult ZeroOp::verify() {
  if (!getTarget().isContiguous())
    return emitOpError() << "writes " << toString(getTarget())
                         << ", but only contiguous bytes can be set to 0";
  return verifyWrites(*this, getTarget());
}

static LogicalResult verifyReads(Operation *op, BufferAttr buffer,
                                 int64_t size) {
  if (buffer.getSize() == size)
    return success();
  return op->emitOpError() << "reads " << toString(buffer) << ", which has "
                           << buffer.getSize() << " bytes, not " << size;
}

LogicalResult IfOp::verify() { return verifyReads(*this, getCondition(), 1); }

LogicalResult LeaveOp::verify() {
  return verifyReads(*this, getCondition(), 1);
}

LogicalResult LoopOp::verify() {
  if (getMaxIterations() < 0)
    return emitOpError("expected a length that is not negative");
  return getCount() ? verifyReads(*this, *getCount(), 8) : success();
}

//===----------------------------------------------------------------------===//
// All steps
//===----------------------------------------------------------------------===//

StepAccess tinh::plan::accessOf(Operation *step) {
  StepAccess access;
  Value after;
  llvm::TypeSwitch<Operation *>(step)
      .Case([&](DispatchOp op) {
        after = op.getAfter();
        llvm::append_range(access.reads,
                           op.getReads().getAsRange<BufferAttr>());
        llvm::append_range(access.writes,
                           op.getWrites().getAsRange<BufferAttr>());
      })
      .Case([&](CopyOp op) {
        after = op.getAfter();
        access.reads.push_back(op.getSource());
        access.writes.push_back(op.getTarget());
      })
      .Case([&](ZeroOp op) {
        after = op.getAfter();
        access.writes.push_back(op.getTarget());
      })
      .Case([&](StartOp op) {
        after = op.getAfter();
        access.reads.push_back(op.getSource());
        access.writes.push_back(op.getTarget());
      })
      .Case([&](AwaitOp op) {
        after = op.getAfter();
        if (StartOp start = op.getStarted()) {
          access.reads.push_back(start.getSource());
          access.writes.push_back(start.getTarget());
        }
      })
      .Case<IfOp, LeaveOp>([&](auto op) {
        after = op.getAfter();
        access.reads.push_back(op.getCondition());
      })
      .Case([&](LoopOp op) {
        after = op.getAfter();
        if (op.getCount())
          access.reads.push_back(*op.getCount());
      });
  access.after = after ? after.getDefiningOp() : nullptr;
  return access;
}
