//===- VerifyPlan.cpp - Whether a schedule is safe --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks a function step by step against what the runtime promises: all bytes
// exist, what is read has been written, and of two steps that may run at the
// same time neither writes what the other accesses.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"

using namespace mlir;
using namespace tinh;
using namespace tinh::plan;

namespace {

class Verifier {
public:
  explicit Verifier(FunctionOp function) : function(function) {}
  LogicalResult run();

private:
  std::optional<int64_t> spaceSize(BufferAttr buffer);
  LogicalResult verifyExists(Operation &step, BufferAttr buffer);
  LogicalResult verifyWritten(Operation &step, BufferAttr buffer);
  LogicalResult verifyRaces(Operation &step, int64_t finished);

  FunctionOp function;
  DenseMap<int64_t, int64_t> weightEnds; // By where the weight begins.
  DenseMap<Operation *, int64_t> numbers;
  SmallVector<Operation *> steps;
  SmallVector<StepAccess> accesses;
};

/// The memory that `buffer` lies in, in bytes; nothing if there is none.
std::optional<int64_t> Verifier::spaceSize(BufferAttr buffer) {
  auto argument = [&](ArrayAttr tensors) -> std::optional<int64_t> {
    if (buffer.getIndex() >= tensors.size())
      return std::nullopt;
    auto tensor = cast<TensorAttr>(tensors[buffer.getIndex()]);
    return graph::tensorSize(tensor.getType());
  };
  switch (buffer.getSpace()) {
  case Space::Arena:
    return function.getArena();
  case Space::Input:
    return argument(function.getInputs());
  case Space::Output:
    return argument(function.getOutputs());
  case Space::Weights:
    break;
  }
  auto weight = weightEnds.find(buffer.getOffset());
  if (weight == weightEnds.end())
    return std::nullopt;
  return weight->second;
}

LogicalResult Verifier::verifyExists(Operation &step, BufferAttr buffer) {
  std::optional<int64_t> size = spaceSize(buffer);
  if (size && buffer.getEnd() <= *size)
    return success();
  auto error = step.emitOpError() << "accesses " << toString(buffer);
  StringRef space = stringifySpace(buffer.getSpace());
  if (buffer.getSpace() == Space::Weights)
    return error << ", which is no weight";
  if (!size)
    return error << ", but @" << function.getSymName() << " has no " << space
                 << " " << buffer.getIndex();
  return error << ", but the " << space << " has " << *size << " bytes";
}

LogicalResult Verifier::verifyWritten(Operation &step, BufferAttr buffer) {
  if (buffer.getSpace() == Space::Input ||
      buffer.getSpace() == Space::Weights || buffer.getSize() == 0)
    return success();
  // Several steps may write the parts of a tensor.
  SmallVector<BufferAttr> written;
  for (const StepAccess &earlier : accesses)
    llvm::copy_if(earlier.writes, std::back_inserter(written),
                  [&](BufferAttr other) { return other.overlaps(buffer); });
  if (covers(written, buffer))
    return success();
  return step.emitOpError()
         << "reads " << toString(buffer) << ", which no earlier step writes";
}

/// Steps after `finished` may still run when `step` starts.
LogicalResult Verifier::verifyRaces(Operation &step, int64_t finished) {
  StepAccess access = accessOf(&step);
  auto report = [&](size_t other, BufferAttr mine, BufferAttr theirs) {
    InFlightDiagnostic error = step.emitOpError()
                               << "may access " << toString(mine)
                               << " while an earlier step accesses "
                               << toString(theirs) << ", one of them writing";
    error.attachNote(steps[other]->getLoc()) << "the earlier step is here";
    return error;
  };
  for (size_t other = finished + 1; other < accesses.size(); ++other) {
    for (BufferAttr theirs : accesses[other].writes)
      for (BufferAttr mine :
           llvm::concat<BufferAttr>(access.reads, access.writes))
        if (mine.overlaps(theirs))
          return report(other, mine, theirs);
    for (BufferAttr theirs : accesses[other].reads)
      for (BufferAttr mine : access.writes)
        if (mine.overlaps(theirs))
          return report(other, mine, theirs);
  }
  return success();
}

LogicalResult Verifier::run() {
  for (auto weight : function->getParentOfType<ModuleOp>().getOps<WeightOp>())
    weightEnds[weight.getOffset()] = weight.getBuffer().getEnd();
  int64_t finished = -1;
  for (Operation &step : function.getBody().front()) {
    if (!isa<DispatchOp, CopyOp>(step))
      return step.emitOpError() << "is no step of a plan";
    StepAccess access = accessOf(&step);
    for (BufferAttr buffer :
         llvm::concat<BufferAttr>(access.reads, access.writes))
      if (failed(verifyExists(step, buffer)))
        return failure();
    for (BufferAttr buffer : access.reads)
      if (failed(verifyWritten(step, buffer)))
        return failure();
    if (access.after)
      finished = std::max(finished, numbers.at(access.after));
    if (failed(verifyRaces(step, finished)))
      return failure();
    numbers[&step] = steps.size();
    steps.push_back(&step);
    accesses.push_back(std::move(access));
  }
  return success();
}

} // namespace

LogicalResult FunctionOp::verifyRegions() {
  if (getBody().front().getNumArguments())
    return emitOpError("expected a body without arguments");
  for (int64_t size : {getArena(), getUnplanned(), getLowerBound()})
    if (size < 0)
      return emitOpError("expected sizes that are not negative");
  return Verifier(*this).run();
}
