//===- ScheduleCollectives.cpp - Buckets, and work beside them --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.dispatch @gradient_1(…)
//   %1 = graph.all_reduce mean %0
//   %2 = graph.dispatch @update_1(%w1, %1)
//   %3 = graph.dispatch @gradient_0(…)
//   %4 = graph.all_reduce mean %3
//   %5 = graph.dispatch @update_0(%w0, %4)
// becomes
//   %0 = graph.dispatch @gradient_1(…)
//   %3 = graph.dispatch @gradient_0(…)
//   %6 = graph.concat %0, %3 axis 0
//   %7 = graph.all_reduce mean %6
//   %1 = graph.slice %7 …
//   %4 = graph.slice %7 …
//   %2 = graph.dispatch @update_1(%w1, %1)
//   %5 = graph.dispatch @update_0(%w0, %4)
//
// A collective begins as soon as its operand is there, and what depends on it
// comes as late as it can: in between there is other work. Reductions that are
// ready one after the other are one, a *bucket*, if that is sooner done: each
// costs a latency, and a large one begins late.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Work.h"
#include "compiler/Codegen/Layouts.h"
#include "compiler/Codegen/Passes.h"
#include "compiler/Planning/Buckets.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tinh::codegen {

#define GEN_PASS_DEF_SCHEDULECOLLECTIVES
#include "compiler/Codegen/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Reductions on whose result another one depends: those of a norm over the
/// batches of all ranks. They are waited for, and so do not wait for others.
class Urgency {
public:
  explicit Urgency(Block &block);
  bool isUrgent(Operation *collective) const {
    return urgent.contains(collective);
  }

private:
  DenseSet<Operation *> urgent;
};

/// Backwards: which values a later all_reduce depends on.
Urgency::Urgency(Block &block) {
  DenseSet<Value> needed;
  for (Operation &op : llvm::reverse(block)) {
    bool isNeeded = llvm::any_of(
        op.getResults(), [&](Value result) { return needed.contains(result); });
    bool isReduction = isa<graph::AllReduceOp>(op);
    if (graph::isCollective(&op) && isNeeded)
      urgent.insert(&op);
    if (isReduction || isNeeded)
      needed.insert_range(graph::readValues(&op));
  }
}

/// Moves the ops of a block: what depends on no collective first and, as long
/// as something is left, what the next one is for. Collectives come right
/// behind what computes their operands.
class Scheduler {
public:
  Scheduler(Block &block, const Urgency &urgency)
      : block(block), urgency(urgency) {}
  void run();

private:
  SmallVector<Operation *> missing(Operation *op) const;
  void emit(Operation *op);
  SmallVector<Operation *> chooseAwaited(ArrayRef<Operation *> deferred) const;

  Block &block;
  const Urgency &urgency;
  /// Ops whose results are not there yet.
  DenseSet<Operation *> unavailable, inFlight;
  DenseSet<Operation *> emitted;
};

/// Whether `op` is one, or brings its operand to one.
bool leadsToCollective(Operation *op) {
  return graph::isCollective(op) ||
         (isa<graph::ReshapeOp, graph::TransferOp>(op) &&
          llvm::any_of(op->getUsers(), leadsToCollective));
}

/// The ops that `op` waits for.
SmallVector<Operation *> Scheduler::missing(Operation *op) const {
  SmallVector<Operation *> result;
  for (Value value : graph::readValues(op))
    if (Operation *source = value.getDefiningOp();
        source && unavailable.contains(source))
      result.push_back(source);
  return result;
}

void Scheduler::emit(Operation *op) {
  if (!emitted.insert(op).second)
    return;
  op->moveBefore(block.getTerminator());
  if (graph::isCollective(op)) {
    unavailable.insert(op);
    inFlight.insert(op);
    return;
  }
  // All have one operand.
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    if (leadsToCollective(user))
      emit(user);
}

/// The collectives that the first op needs which waits for nothing else; rather
/// one that waits for urgent ones alone.
SmallVector<Operation *>
Scheduler::chooseAwaited(ArrayRef<Operation *> deferred) const {
  SmallVector<Operation *> first;
  for (Operation *op : deferred) {
    SmallVector<Operation *> awaited = missing(op);
    auto isStarted = [&](Operation *o) { return inFlight.contains(o); };
    if (!llvm::all_of(awaited, isStarted))
      continue;
    if (llvm::all_of(awaited,
                     [&](Operation *o) { return urgency.isUrgent(o); }))
      return awaited;
    if (first.empty())
      first = std::move(awaited);
  }
  return first;
}

void Scheduler::run() {
  SmallVector<Operation *> rest, deferred;
  for (Operation &op : block.without_terminator())
    rest.push_back(&op);
  while (!rest.empty()) {
    for (Operation *op : rest) {
      if (emitted.contains(op))
        continue;
      if (missing(op).empty()) {
        emit(op);
      } else {
        unavailable.insert(op);
        deferred.push_back(op);
      }
    }
    for (Operation *awaited : chooseAwaited(deferred))
      inFlight.erase(awaited);
    unavailable = inFlight;
    rest = std::exchange(deferred, {});
  }
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

/// Reduces what is reduced twice once: the biases of two norms that are added
/// have one gradient.
void mergeEqual(Block &block) {
  DenseMap<Value, SmallVector<graph::AllReduceOp>> known;
  for (auto op :
       llvm::make_early_inc_range(block.getOps<graph::AllReduceOp>())) {
    auto &others = known[op.getX()];
    auto *same = llvm::find_if(others, [&](graph::AllReduceOp other) {
      return other->getAttrDictionary() == op->getAttrDictionary();
    });
    if (same == others.end()) {
      others.push_back(op);
      continue;
    }
    op.getY().replaceAllUsesWith(same->getY());
    op.erase();
  }
}

/// What may be reduced together.
struct BucketKind {
  graph::ReduceKind kind;
  Type element, communicationDtype;
  bool operator<(const BucketKind &other) const {
    auto key = [](const BucketKind &k) {
      return std::tuple(k.kind, k.element.getAsOpaquePointer(),
                        k.communicationDtype.getAsOpaquePointer());
    };
    return key(*this) < key(other);
  }
};

BucketKind kindOf(graph::AllReduceOp op) {
  return {op.getKind(), getElementTypeOrSelf(op.getX().getType()),
          op.getCommunicationDtype().value_or(Type())};
}

class BucketFormer {
public:
  BucketFormer(func::FuncOp function, const Urgency &urgency,
               const planning::Network &network, double cyclesPerSecond)
      : block(function.getBody().front()), urgency(urgency), network(network),
        cyclesPerSecond(cyclesPerSecond),
        symbols(function->getParentOfType<ModuleOp>()) {}
  /// The number of buckets of several reductions.
  int64_t run();

private:
  double secondsOf(Operation &op);
  bool mayBePlaced(graph::AllReduceOp op);
  bool form(ArrayRef<graph::AllReduceOp> members);

  Block &block;
  const Urgency &urgency;
  const planning::Network &network;
  double cyclesPerSecond;
  SymbolTable symbols;
};

/// How often a run of `op` runs `inner`, which is in it, if all loops are of
/// their full length.
double iterations(Operation *inner, Operation *op) {
  double count = 1;
  for (; inner != op; inner = inner->getParentOp())
    if (auto scan = dyn_cast<graph::ScanOp>(inner->getParentOp()))
      count *= static_cast<double>(scan.getLength());
  return count;
}

/// Of a kernel for a GPU of some years ago, at half of its peaks, and with a
/// launch.
double secondsOnGpu(const Work &work) {
  constexpr double kOperations = 1e13, kBytes = 1e12, kLaunch = 2e-6;
  return kLaunch + std::max(static_cast<double>(work.operations) / kOperations,
                            static_cast<double>(work.bytes) / kBytes);
}

/// An estimate, by the kernels' plans or by their work.
double BucketFormer::secondsOf(Operation &op) {
  constexpr double kOperationsPerCycle = 32, kBytesPerCycle = 4;
  double seconds = 0;
  op.walk([&](graph::DispatchOp dispatch) {
    auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
    if (!kernel)
      return;
    double once;
    if (graph::isOnCuda(kernel)) {
      once = secondsOnGpu(workOf(kernel));
    } else if (auto estimate = kernel->getAttrOfType<IntegerAttr>(
                   graph::names::kEstimate)) {
      once = static_cast<double>(estimate.getInt()) / cyclesPerSecond;
    } else {
      Work work = workOf(kernel);
      once = std::max(work.operations / kOperationsPerCycle,
                      work.bytes / kBytesPerCycle) /
             cyclesPerSecond;
    }
    seconds += once * iterations(dispatch, &op);
  });
  return seconds;
}

/// Whether its operand can be written where it would lie in a bucket: a kernel
/// of its device computes it, and it lies in no concatenation yet.
bool BucketFormer::mayBePlaced(graph::AllReduceOp op) {
  Value source = withoutReshapes(op.getX());
  auto dispatch = source.getDefiningOp<graph::DispatchOp>();
  if (!dispatch || dispatch->getBlock() != &block ||
      graph::tensorSize(source.getType()) == 0)
    return false;
  auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
  unsigned result = cast<OpResult>(source).getResultNumber();
  if (!kernel || graph::isOnCuda(kernel) != graph::isOnCuda(op) ||
      kernel.getResultAttr(result, graph::names::kStrides))
    return false;
  return allUses(source, [&](OpOperand &use) {
    return !isa<graph::ConcatOp>(use.getOwner()) &&
           use.getOwner() != block.getTerminator();
  });
}

/// Those that can be reduced in place where the last one of them is: what else
/// reads their operands does so before.
SmallVector<graph::AllReduceOp>
withoutLaterReaders(ArrayRef<graph::AllReduceOp> members) {
  SmallVector<graph::AllReduceOp> kept(members);
  for (size_t count = 0; count != kept.size() && !kept.empty();) {
    count = kept.size();
    Operation *last = kept.back();
    llvm::erase_if(kept, [&](graph::AllReduceOp op) {
      return !allUses(withoutReshapes(op.getX()), [&](OpOperand &use) {
        Operation *user = use.getOwner();
        return user == op ||
               (comesBefore(user, last) && !graph::isCollective(user));
      });
    });
  }
  return kept;
}

/// One reduction, where the last of the members is, which all become parts of,
/// if they are several. Those of whole vectors come first, and then those of
/// halves and so on, so that they begin where such do.
bool BucketFormer::form(ArrayRef<graph::AllReduceOp> candidates) {
  constexpr uint64_t kVectorBytes = 64;
  SmallVector<graph::AllReduceOp> ordered = withoutLaterReaders(candidates);
  if (ordered.size() < 2)
    return false;
  graph::AllReduceOp last = ordered.back();
  OpBuilder builder(last);
  llvm::stable_sort(ordered, [&](graph::AllReduceOp a, graph::AllReduceOp b) {
    auto alignmentOf = [](graph::AllReduceOp op) {
      return llvm::MinAlign(kVectorBytes,
                            graph::tensorSize(op.getX().getType()));
    };
    return alignmentOf(a) > alignmentOf(b);
  });
  SmallVector<Value> pieces;
  SmallVector<Location> locations;
  for (graph::AllReduceOp member : ordered) {
    auto type = cast<RankedTensorType>(member.getX().getType());
    pieces.push_back(graph::ReshapeOp::create(
        builder, member.getLoc(),
        RankedTensorType::get(type.getNumElements(), type.getElementType()),
        member.getX()));
    locations.push_back(member.getLoc());
  }
  Location all = builder.getFusedLoc(locations);
  Value bucket = graph::ConcatOp::create(builder, all, pieces, /*axis=*/0);
  auto reduce =
      graph::AllReduceOp::create(builder, all, last.getKindAttr(), bucket,
                                 last.getCommunicationDtypeAttr());
  reduce->setDiscardableAttrs(last->getDiscardableAttrDictionary());
  Value reduced = reduce.getY();
  int64_t start = 0;
  for (graph::AllReduceOp member : ordered) {
    int64_t size =
        cast<RankedTensorType>(member.getX().getType()).getNumElements();
    Value part = graph::SliceOp::create(
        builder, member.getLoc(), reduced, ArrayRef<int64_t>{start},
        ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1});
    Value shaped = graph::ReshapeOp::create(builder, member.getLoc(),
                                            member.getY().getType(), part);
    member.getY().replaceAllUsesWith(shaped);
    start += size;
  }
  for (graph::AllReduceOp member : ordered)
    member.erase();
  return true;
}

int64_t BucketFormer::run() {
  struct Kind {
    SmallVector<graph::AllReduceOp> ops;
    std::vector<planning::Reduction> reductions;
  };
  std::map<BucketKind, Kind> kinds;
  DenseSet<Value> placed;
  double seconds = 0, bytes = 0, lastReady = 0;
  for (Operation &op : block) {
    seconds += secondsOf(op);
    auto reduction = dyn_cast<graph::AllReduceOp>(op);
    if (!reduction || urgency.isUrgent(reduction) || !mayBePlaced(reduction) ||
        !placed.insert(withoutReshapes(reduction.getX())).second)
      continue;
    Kind &kind = kinds[kindOf(reduction)];
    kind.ops.push_back(reduction);
    Type sent =
        reduction.getCommunicationDtype().value_or(kindOf(reduction).element);
    auto type = cast<RankedTensorType>(reduction.getX().getType());
    kind.reductions.push_back(
        {seconds, static_cast<double>(type.getNumElements() *
                                      graph::elementSize(sent))});
    bytes += kind.reductions.back().bytes;
    lastReady = seconds;
  }
  // What comes behind the last one is mostly updates.
  double update = bytes > 0 ? (seconds - lastReady) / bytes : 0;
  int64_t formed = 0;
  for (auto &[key, kind] : kinds) {
    size_t begin = 0;
    for (size_t end :
         planning::chooseBuckets(kind.reductions, network, update)) {
      formed += form(ArrayRef(kind.ops).slice(begin, end - begin));
      begin = end;
    }
  }
  return formed;
}

struct ScheduleCollectives
    : impl::ScheduleCollectivesBase<ScheduleCollectives> {
  using ScheduleCollectivesBase::ScheduleCollectivesBase;
  void runOnOperation() override;
};

void ScheduleCollectives::runOnOperation() {
  planning::Network network{latency * 1e-6, bandwidth * 1e9};
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!graph::isEntry(function))
      continue;
    Block &block = function.getBody().front();
    if (llvm::none_of(block,
                      [](Operation &op) { return graph::isCollective(&op); }))
      continue;
    mergeEqual(block);
    Urgency urgency(block);
    Scheduler(block, urgency).run();
    numBuckets += BucketFormer(function, urgency, network, cores * 3e9).run();
    Scheduler(block, Urgency(block)).run();
  }
}

} // namespace
} // namespace tinh::codegen
