//===- VerifyPlan.cpp - Whether a schedule is safe --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks a function step by step against what the runtime promises: all bytes
// exist, what is read has been written, on whatever way the step is reached, as
// have all outputs in the end, and of two steps that may run at the same time
// neither writes what the other accesses.
//
// Steps are looked at once, in their order. That is enough for loops: all steps
// of an iteration are finished when the next one starts, and what the first
// iteration reads has been written before or in it. A loop that one worker does
// alone begins before all earlier steps are finished, as any step does.
//
// From its start to its await a collective reads and writes, too.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"
#include "dialects/plan/InFlight.h"
#include "dialects/plan/Plan.h"
#include "dialects/plan/Spaces.h"
#include "dialects/plan/Written.h"

#include <map>

using namespace mlir;
using namespace tinh;
using namespace tinh::plan;

namespace {

/// A branch or a loop that has begun and not ended.
struct Open {
  Operation *op;
  size_t step;    ///< Its number.
  size_t written; ///< What had been written before it: so many buffers.
  /// Of a branch: what its first steps have written.
  SmallVector<BufferAttr> inThen;
  bool hasElse = false;
  /// Of a loop: how many buffers had been written at the first `plan.leave`.
  std::optional<size_t> writtenAtLeave;
};

/// A step that has been looked at.
struct Step {
  Operation *op;
  StepAccess access;
  /// The branches around it, by their numbers, and whether it is in the else.
  SmallVector<std::pair<size_t, bool>> arms;
};

class Verifier {
public:
  explicit Verifier(FunctionOp function)
      : function(function), spaces(function) {}
  LogicalResult run();

private:
  LogicalResult verifyDevices(const Step &step);
  LogicalResult verifyBuffer(Operation &step, BufferAttr buffer);
  LogicalResult verifyExists(Operation &step, BufferAttr buffer);
  LogicalResult verifyWritten(Operation &step, BufferAttr buffer);
  LogicalResult verifyOutputs();
  LogicalResult verifyOrder(const Step &step);
  LogicalResult verifyWritable(Operation &step, BufferAttr buffer);
  bool mayMeet(BufferAttr a, BufferAttr b);
  LogicalResult verifyOperands(const Step &step);
  std::optional<size_t> aloneSince();
  LogicalResult verifyAlone(const Step &step);
  std::optional<std::pair<BufferAttr, BufferAttr>>
  findConflict(const Step &step, const Step &other);
  LogicalResult verifyRaces(const Step &step);
  LogicalResult verifyAccesses(const Step &step);
  LogicalResult verifyNesting(Operation &op);

  void add(Step step);
  void begin(Operation &op);
  void takeElse();
  void endIf();
  void endLoop();

  FunctionOp function;
  Spaces spaces;
  DenseMap<Operation *, int64_t> numbers;
  std::vector<Step> steps;
  /// The numbers of the steps that access each memory: a space and its index.
  using Accesses = std::map<std::pair<Space, int64_t>, std::vector<size_t>>;
  Accesses readers, writers;
  std::vector<Open> open;
  SmallVector<int64_t> lengths; ///< Of the loops that are open.
  InFlight inFlight;
  Written written;
  int64_t finished = -1; ///< The last step that is, before the current one.
};

} // namespace

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

LogicalResult Verifier::verifyWritable(Operation &step, BufferAttr buffer) {
  if (buffer.getSpace() != Space::Input || spaces.isChanged(buffer.getIndex()))
    return success();
  return step.emitOpError() << "writes " << toString(buffer)
                            << ", which is no variable among the outputs";
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// A device finds nothing in the memory of another one; copies and zeros are
/// made in that of any, and a collective is the device's in whose memory it
/// is.
LogicalResult Verifier::verifyDevices(const Step &step) {
  if (isa<CopyOp, ZeroOp>(step.op))
    return success();
  auto dispatch = dyn_cast<DispatchOp>(step.op);
  bool onGpu = dispatch ? dispatch.getThreads().has_value()
                        : isa<StartOp, AwaitOp>(step.op) &&
                              spaces.isOnDevice(step.access.reads[0]);
  for (BufferAttr buffer :
       llvm::concat<const BufferAttr>(step.access.reads, step.access.writes))
    if (spaces.isOnDevice(buffer) != onGpu)
      return step.op->emitOpError()
             << "accesses " << toString(buffer) << ", which lies in the memory "
             << "of the " << (onGpu ? "CPU, on the GPU" : "GPU, on the CPU");
  return success();
}

//===----------------------------------------------------------------------===//
// Bytes exist
//===----------------------------------------------------------------------===//

LogicalResult Verifier::verifyExists(Operation &step, BufferAttr buffer) {
  std::optional<int64_t> size = spaces.sizeOf(buffer, lengths.size());
  bool whole = buffer.getSpace() != Space::Loop || buffer.getSize() == 8;
  if (size && buffer.getEnd() <= *size && whole)
    return success();
  auto error = step.emitOpError() << "accesses " << toString(buffer);
  StringRef space = stringifySpace(buffer.getSpace());
  if (buffer.isWeight())
    return error << ", which is no weight";
  std::optional<int64_t> input = spaces.inputOf(buffer.getIndex());
  if (buffer.getSpace() == Space::Output && input)
    return error << ", a variable, which lies at input " << *input;
  if (!size)
    return error << ", but @" << function.getSymName() << " has no " << space
                 << " " << buffer.getIndex();
  return error << ", but the " << space << " has " << *size << " bytes";
}

LogicalResult Verifier::verifyBuffer(Operation &step, BufferAttr buffer) {
  if (buffer.getSpace() == Space::Loop && buffer.moves())
    return step.emitOpError() << "accesses " << toString(buffer)
                              << ", but such a number does not move";
  if (buffer.getStrides().size() > lengths.size())
    return step.emitOpError()
           << "accesses " << toString(buffer) << ", but there are "
           << lengths.size() << " loops around it";
  std::optional<BufferAttr> all = allIterations(buffer, lengths, 0);
  if (!all)
    return step.emitOpError() << "accesses " << toString(buffer)
                              << ", which does not exist in all iterations";
  return verifyExists(step, *all);
}

//===----------------------------------------------------------------------===//
// What is read has been written
//===----------------------------------------------------------------------===//

LogicalResult Verifier::verifyWritten(Operation &step, BufferAttr buffer) {
  bool isForSteps = buffer.getSpace() == Space::Arena ||
                    buffer.getSpace() == Space::Device ||
                    buffer.getSpace() == Space::Output;
  if (!isForSteps || written.covers(buffer, lengths))
    return success();
  return step.emitOpError()
         << "reads " << toString(buffer) << ", which no earlier step writes";
}

/// Variables have their old value, unless a step writes the next one.
LogicalResult Verifier::verifyOutputs() {
  for (auto [i, attribute] : llvm::enumerate(function.getOutputs())) {
    if (spaces.inputOf(i))
      continue;
    auto output = cast<TensorAttr>(attribute);
    auto bytes = BufferAttr::get(function.getContext(), Space::Output, i, 0,
                                 graph::tensorSize(output.getType()));
    if (!written.covers(bytes, lengths))
      return function.emitOpError()
             << "has output " << output.getName() << ", " << toString(bytes)
             << ", which its steps do not write as a whole";
  }
  return success();
}

void Verifier::takeElse() {
  Open &branch = open.back();
  branch.hasElse = true;
  branch.inThen = written.takeFrom(branch.written);
}

void Verifier::endIf() {
  Open &branch = open.back();
  SmallVector<BufferAttr> inElse = written.takeFrom(branch.written);
  written.addCommon(branch.inThen, inElse);
  open.pop_back();
}

/// Of what a loop has written that lasts which its first iteration has, if
/// there surely is one, up to where it may be left. If there are all
/// iterations, rows have been written in all their places.
void Verifier::endLoop() {
  Open &loop = open.back();
  auto op = cast<LoopOp>(loop.op);
  unsigned depth = lengths.size() - 1;
  bool all = op.getLength() && !op.getCount() && !loop.writtenAtLeave;
  if (loop.writtenAtLeave)
    written.takeFrom(*loop.writtenAtLeave);
  SmallVector<BufferAttr> kept = written.takeFrom(loop.written);
  if (op.getCount() || lengths.back() == 0)
    kept.clear();
  for (BufferAttr buffer : kept) {
    if (buffer.getStrides().size() > depth)
      buffer = all ? repeated(buffer, lengths.back()) : BufferAttr();
    if (buffer)
      written.add(buffer);
  }
  // For steps to come, the loop's own have accessed all rows.
  for (Step &step : llvm::drop_begin(steps, loop.step))
    for (auto *buffers : {&step.access.reads, &step.access.writes})
      for (BufferAttr &buffer : *buffers)
        buffer = *allIterations(buffer, lengths, depth);
  lengths.pop_back();
  open.pop_back();
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

/// Whether the two may have a byte in common while the iterations of the loops
/// that are open are the same for both.
bool Verifier::mayMeet(BufferAttr a, BufferAttr b) {
  ArrayRef<int64_t> mine = a.getStrides(), theirs = b.getStrides();
  unsigned common = 0;
  while (common < std::min(mine.size(), theirs.size()) &&
         mine[common] == theirs[common])
    ++common;
  if (common < std::max(mine.size(), theirs.size())) {
    a = *allIterations(a, lengths, common);
    b = *allIterations(b, lengths, common);
  }
  return a.overlaps(b);
}

/// What the op's own verifier cannot tell without the loops around it.
LogicalResult Verifier::verifyOperands(const Step &step) {
  const StepAccess &access = step.access;
  for (auto [i, mine] : llvm::enumerate(access.writes))
    for (BufferAttr other : llvm::concat<const BufferAttr>(
             access.reads, ArrayRef(access.writes).take_front(i)))
      if (mine.getStrides() != other.getStrides() && mayMeet(mine, other))
        return step.op->emitOpError()
               << "writes " << toString(mine) << " while it accesses "
               << toString(other) << ", which may be the same bytes";
  return success();
}

static bool exclusive(const Step &a, const Step &b) {
  for (auto [branch, inElse] : a.arms)
    for (auto [other, otherInElse] : b.arms)
      if (branch == other && inElse != otherInElse)
        return true;
  return false;
}

/// The first step of the outermost open loop that one worker does alone.
std::optional<size_t> Verifier::aloneSince() {
  for (const Open &around : open)
    if (auto loop = dyn_cast<LoopOp>(around.op); loop && loop.getAlone())
      return around.step;
  return std::nullopt;
}

/// What such a worker does it can do, and in order.
LogicalResult Verifier::verifyAlone(const Step &step) {
  if (!aloneSince())
    return success();
  auto fail = [&](const Twine &why) {
    return step.op->emitOpError()
           << why << " in a loop that one worker does alone";
  };
  if (step.access.after)
    return fail("is after another step");
  auto dispatch = dyn_cast<DispatchOp>(step.op);
  if (dispatch && dispatch.getChunks() != 1)
    return fail("has several chunks");
  auto onDevice = [&](BufferAttr buffer) { return spaces.isOnDevice(buffer); };
  if (llvm::any_of(step.access.reads, onDevice) ||
      llvm::any_of(step.access.writes, onDevice))
    return fail("is a GPU's");
  return success();
}

static std::pair<Space, int64_t> memoryOf(BufferAttr buffer) {
  return {buffer.getSpace(), buffer.getIndex()};
}

/// What of `step` and of an earlier one may be the same bytes, one of the two
/// writing; nothing if they do not meet, or never both run.
std::optional<std::pair<BufferAttr, BufferAttr>>
Verifier::findConflict(const Step &step, const Step &other) {
  if (exclusive(step, other))
    return std::nullopt;
  if (auto await = dyn_cast<AwaitOp>(step.op); // One worker does both.
      await && await.getStarted() == other.op)
    return std::nullopt;
  for (BufferAttr theirs : other.access.writes)
    for (BufferAttr mine :
         llvm::concat<const BufferAttr>(step.access.reads, step.access.writes))
      if (mayMeet(mine, theirs))
        return std::pair(mine, theirs);
  for (BufferAttr theirs : other.access.reads)
    for (BufferAttr mine : step.access.writes)
      if (mayMeet(mine, theirs))
        return std::pair(mine, theirs);
  return std::nullopt;
}

/// Steps after `finished` may still run when `step` starts. Only those that
/// access the same memory are looked at: of thousands of steps that nothing
/// orders, each may have an output of its own.
LogicalResult Verifier::verifyRaces(const Step &step) {
  size_t begin = finished + 1, end = aloneSince().value_or(steps.size());
  auto visit = [&](const Accesses &accesses, BufferAttr mine) -> LogicalResult {
    auto known = accesses.find(memoryOf(mine));
    if (known == accesses.end())
      return success();
    ArrayRef<size_t> others = known->second;
    others =
        others.drop_front(llvm::lower_bound(others, begin) - others.begin());
    for (size_t i : others.take_while([&](size_t i) { return i < end; }))
      if (auto conflict = findConflict(step, steps[i])) {
        auto [own, theirs] = *conflict;
        InFlightDiagnostic error = step.op->emitOpError()
                                   << "may access " << toString(own)
                                   << " while an earlier step accesses "
                                   << toString(theirs)
                                   << ", one of them writing";
        error.attachNote(steps[i].op->getLoc()) << "the earlier step is here";
        return error;
      }
    return success();
  };
  for (BufferAttr mine : step.access.reads)
    if (failed(visit(writers, mine)))
      return failure();
  for (BufferAttr mine : step.access.writes)
    if (failed(visit(writers, mine)) || failed(visit(readers, mine)))
      return failure();
  return success();
}

void Verifier::add(Step step) {
  numbers[step.op] = steps.size();
  written.add(step.access.writes);
  auto note = [&](Accesses &accesses, ArrayRef<BufferAttr> buffers) {
    for (BufferAttr buffer : buffers)
      if (auto &known = accesses[memoryOf(buffer)];
          known.empty() || known.back() != steps.size())
        known.push_back(steps.size());
  };
  note(readers, step.access.reads);
  note(writers, step.access.writes);
  steps.push_back(std::move(step));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult Verifier::verifyNesting(Operation &op) {
  Operation *around = open.empty() ? nullptr : open.back().op;
  if (isa<ElseOp>(op) &&
      (!isa_and_nonnull<IfOp>(around) || open.back().hasElse))
    return op.emitOpError("ends no steps of a plan.if");
  if (isa<EndIfOp>(op) &&
      (!isa_and_nonnull<IfOp>(around) || !open.back().hasElse))
    return op.emitOpError("ends no steps of a plan.else");
  if (isa<EndLoopOp>(op) && !isa_and_nonnull<LoopOp>(around))
    return op.emitOpError("ends no steps of a plan.loop");
  if (isa<LeaveOp>(op) && !isa_and_nonnull<LoopOp>(around))
    return op.emitOpError("stands in no loop, or in a branch of one");
  return success();
}

/// MLIR looks at the order of definitions and uses only after this.
LogicalResult Verifier::verifyOrder(const Step &step) {
  if (!step.access.after || numbers.contains(step.access.after))
    return success();
  InFlightDiagnostic error = step.op->emitOpError()
                             << "is after a step that does not come before it";
  error.attachNote(step.access.after->getLoc()) << "the other step is here";
  return error;
}

LogicalResult Verifier::verifyAccesses(const Step &step) {
  if (failed(verifyDevices(step)))
    return failure();
  for (BufferAttr buffer :
       llvm::concat<const BufferAttr>(step.access.reads, step.access.writes))
    if (failed(verifyBuffer(*step.op, buffer)))
      return failure();
  for (BufferAttr buffer : step.access.reads)
    if (failed(verifyWritten(*step.op, buffer)))
      return failure();
  for (BufferAttr buffer : step.access.writes)
    if (failed(verifyWritable(*step.op, buffer)))
      return failure();
  if (failed(verifyAlone(step)))
    return failure();
  if (step.access.after)
    finished = std::max(finished, numbers.at(step.access.after));
  return success(
      succeeded(verifyOperands(step)) && succeeded(verifyRaces(step)) &&
      succeeded(inFlight.add(*step.op, !open.empty(), [&](StartOp s) {
        return findConflict(step, {s, accessOf(s), {}});
      })));
}

/// What the step changes for those to come.
void Verifier::begin(Operation &op) {
  if (isa<IfOp, LoopOp>(op))
    open.push_back({&op, steps.size() - 1, written.size(), {}, false, {}});
  if (auto loop = dyn_cast<LoopOp>(op)) {
    lengths.push_back(loop.getMaxIterations());
  } else if (isa<LeaveOp>(op)) {
    if (!open.back().writtenAtLeave)
      open.back().writtenAtLeave = written.size();
  } else if (isa<ElseOp>(op)) {
    takeElse();
  } else if (isa<EndIfOp>(op)) {
    endIf();
  } else if (isa<EndLoopOp>(op)) {
    endLoop();
  }
}

LogicalResult Verifier::run() {
  if (failed(spaces.findVariables()))
    return failure();
  for (Operation &op : function.getBody().front()) {
    if (!isa<PlanDialect>(op.getDialect()))
      return op.emitOpError() << "is no step of a plan";
    Step step{&op, accessOf(&op), {}};
    for (const Open &around : open)
      if (isa<IfOp>(around.op))
        step.arms.push_back({around.step, around.hasElse});
    if (failed(verifyNesting(op)) || failed(verifyOrder(step)) ||
        failed(verifyAccesses(step)))
      return failure();
    add(std::move(step));
    begin(op);
  }
  if (!open.empty())
    return open.back().op->emitOpError("has no end");
  if (failed(inFlight.verifyEnd()))
    return failure();
  return verifyOutputs();
}

LogicalResult FunctionOp::verifyRegions() {
  if (getBody().front().getNumArguments())
    return emitOpError("expected a body without arguments");
  for (int64_t size :
       {getArena(), getUnplanned(), getLowerBound(), getDeviceArena(),
        getDeviceUnplanned(), getDeviceLowerBound()})
    if (size < 0)
      return emitOpError("expected sizes that are not negative");
  return Verifier(*this).run();
}
