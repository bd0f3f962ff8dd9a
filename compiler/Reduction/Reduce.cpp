//===- Reduce.cpp - Less of a model is computed -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Reduction/Reducer.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace tinh::reduction {

Reducer::Reducer(Candidate model, const IsInteresting &isInteresting,
                 const ReduceOptions &options, ReduceReport &report)
    : best(std::move(model)), isInteresting(isInteresting), options(options),
      report(report), files(options.modelDirectory) {
  report.opsBefore = report.ops = best.numOps();
  seen.insert(llvm::xxh3_64bits(best.text()));
}

/// Tests a changed copy of `base`, unless it is no model or was tested before,
/// and keeps it if it is interesting.
bool Reducer::attempt(const Candidate &base, Change change) {
  if (stopped)
    return false;
  Candidate next = base.clone();
  if (!change(next) || !next.settle() ||
      !seen.insert(llvm::xxh3_64bits(next.text())).second)
    return false;
  ++report.tested;
  FailureOr<bool> found = isInteresting(next.get());
  stopped = failed(found);
  bool isKept = !stopped && *found;
  if (isKept)
    best = std::move(next);
  report.ops = best.numOps();
  if (options.progress)
    options.progress(report);
  return isKept;
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

/// One result is enough, or those that cannot be spared.
bool Reducer::cutResults() {
  bool any = false;
  unsigned count = best.main().getNumResults();
  for (unsigned i = 0; i < count && count > 1; ++i)
    if (attempt([&](Candidate &next) {
          next.keepResults(i);
          return true;
        }))
      return true;
  for (unsigned i = count; i-- > 0 && best.main().getNumResults() > 1;)
    any |= attempt([&](Candidate &next) {
      auto kept =
          llvm::to_vector(llvm::seq<unsigned>(0, next.main().getNumResults()));
      kept.erase(kept.begin() + i);
      next.keepResults(kept);
      return true;
    });
  return any;
}

/// The fewest nodes of which `keep` makes something interesting: what holds for
/// some is taken to hold for more. Few are tried first, as they are tested
/// soonest.
bool Reducer::bisect(llvm::function_ref<void(Candidate &, size_t)> keep) {
  Candidate base = best.clone();
  size_t low = 0, high = base.nodes().size();
  bool any = false;
  while (low + 1 < high) {
    size_t count = any ? (low + high) / 2 : std::max<size_t>(2 * low, 1);
    if (count >= high)
      count = (low + high) / 2;
    bool isEnough = attempt(base, [&](Candidate &next) {
      keep(next, count);
      return true;
    });
    any |= isEnough;
    (isEnough ? high : low) = count;
  }
  return any;
}

/// The model ends at one of its values.
bool Reducer::cutTail() {
  return bisect([](Candidate &next, size_t count) {
    next.endAt(next.nodes()[count - 1]);
  });
}

/// The model begins with some of its values.
bool Reducer::cutHead() {
  return bisect([](Candidate &next, size_t count) {
    SmallVector<Operation *> nodes = next.nodes();
    next.cut(ArrayRef(nodes).drop_back(count));
  });
}

//===----------------------------------------------------------------------===//
// Nodes between
//===----------------------------------------------------------------------===//

/// Results become inputs, which also frees what the nodes read; else operands
/// take their place where they can.
bool Reducer::removeChunk(size_t begin, size_t size) {
  auto chunkOf = [&](Candidate &next) {
    SmallVector<Operation *> nodes = next.nodes();
    return llvm::to_vector(
        ArrayRef(nodes).slice(begin, std::min(size, nodes.size() - begin)));
  };
  if (attempt([&](Candidate &next) {
        next.cut(chunkOf(next));
        return true;
      }))
    return true;
  return attempt([&](Candidate &next) {
    SmallVector<Operation *> kept;
    SmallVector<Operation *> chunk = chunkOf(next);
    for (Operation *node : chunk)
      if (!next.bypass(node))
        kept.push_back(node);
    next.cut(kept);
    return kept.size() < chunk.size();
  });
}

/// Delta debugging: large chunks first, in the end each node.
bool Reducer::removeNodes() {
  bool any = false;
  for (size_t size = (best.nodes().size() + 1) / 2; size > 0; size /= 2)
    for (size_t begin = 0; begin < best.nodes().size();) {
      bool isGone = removeChunk(begin, size);
      any |= isGone;
      if (!isGone)
        begin += size;
    }
  return any;
}

bool Reducer::dropInputs() {
  return attempt([](Candidate &next) { return next.dropUnusedInputs(); });
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> Reducer::run() {
  using Step = bool (Reducer::*)();
  constexpr Step kSteps[] = {
      &Reducer::cutResults,      &Reducer::cutHead,
      &Reducer::cutTail,         &Reducer::removeNodes,
      &Reducer::dropInputs,      &Reducer::shrinkShapes,
      &Reducer::resetAttributes, &Reducer::splatConstants};
  for (bool any = true; any && !stopped;) {
    any = false;
    for (Step step : kSteps)
      while (!stopped && (this->*step)())
        any = true;
  }
  return stopped ? OwningOpRef<ModuleOp>() : best.take();
}

OwningOpRef<ModuleOp> reduce(ModuleOp module,
                             const IsInteresting &isInteresting,
                             const ReduceOptions &options,
                             ReduceReport &report) {
  std::optional<Candidate> model = Candidate::create(module);
  if (!model)
    return {};
  return Reducer(std::move(*model), isInteresting, options, report).run();
}

} // namespace tinh::reduction
