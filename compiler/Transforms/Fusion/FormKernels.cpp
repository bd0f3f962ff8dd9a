//===- FormKernels.cpp - Ops are grouped into kernels -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.matmul %x, %w : …
//   %1 = graph.add %0, %b : …
//   %2 = graph.relu %1 : …
// becomes
//   %2 = graph.kernel (%a = %x, %c = %w, %d = %b) : … {
//     %0 = graph.matmul %a, %c : …
//     %1 = graph.add %0, %d : …
//     %2 = graph.relu %1 : …
//     graph.yield %2 : …
//   }
//
// Anchors take element-wise ops that follow them, the last anchor of a function
// first: a residual addition goes to the later of its producers. Then
// they take cheap ops before them. What is left forms trees that compute
// each value where it is read. A kernel has one result, which keeps
// dependences between kernels acyclic. What dequantises the constant weights of
// a product joins it, reshapes among it: these alone of what depends on
// constants alone are computed where they are read.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Constants/SpreadConstants.h"
#include "compiler/Transforms/Fusion/FusionCosts.h"
#include "compiler/Transforms/Fusion/FusionRoles.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Quantization/Quantization.h"
#include "dialects/graph/OpFacts.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_FORMKERNELS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

struct Group {
  /// The anchor, or nothing for a tree of element-wise and movement ops.
  Operation *anchor = nullptr;
  /// What is computed from constants alone stays by itself.
  bool constant = false;
  SetVector<Operation *> ops;
};

/// Forms the kernels of one block.
class KernelFormer {
public:
  KernelFormer(Block &block, const DenseSet<Operation *> &constantOps,
               const DenseSet<Operation *> &dequantizers, bool fuse,
               bool remarks)
      : block(block), constantOps(constantOps), dequantizers(dequantizers),
        fuse(fuse), remarks(remarks) {
    collect();
  }

  KernelCounts run();

private:
  void collect();
  Group &start(Operation *op);
  void join(Operation *op, Group &group);
  void remark(Operation *op, const Twine &text);

  bool isReadOutside(Operation *op, const Group &group) const;
  int64_t results(const Group &group) const;
  bool endsInWiderElements(const Group &group) const;
  bool dependsOn(Value value, const Group &group) const;
  bool mayFollow(Operation *op, const Group &group) const;
  void addEpilogue(Group &group);

  const char *refusePrologue(Operation *op, OpOperand &use,
                             const Group &group) const;
  const char *refuseInAnchor(Operation *op, OpOperand &use,
                             const Group &group) const;
  const char *refuseInTree(Operation *op, OpOperand &use) const;
  bool isWrittenInParts(Operation *concat) const;
  Group *consumerOf(Operation *op) const;
  const char *whyNoConsumer(Operation *op) const;
  void addPrologue(Operation *op);

  void emit(Group &group);
  Location locationOf(const Group &group) const;

  Block &block;
  const DenseSet<Operation *> &constantOps;
  /// What makes weights of constant integers in the kernels of products.
  const DenseSet<Operation *> &dequantizers;
  bool fuse, remarks;
  FusionCosts costs;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, int64_t> position;
  std::vector<std::unique_ptr<Group>> groups;
  DenseMap<Operation *, Group *> groupOf;
  /// Fused ops that the anchor of their group depends on.
  DenseSet<Operation *> beforeAnchor;
};

void KernelFormer::collect() {
  for (auto [index, op] : llvm::enumerate(block.without_terminator())) {
    position[&op] = index;
    if (dequantizers.contains(&op) ||
        (!isa<ConstantOp, ReshapeOp, KernelOp>(op) && !isControlFlow(&op) &&
         !isCollective(&op)))
      ops.push_back(&op);
  }
  position[block.getTerminator()] = position.size();
}

Group &KernelFormer::start(Operation *op) {
  groups.push_back(std::make_unique<Group>());
  Group &group = *groups.back();
  group.anchor = isAnchor(op) ? op : nullptr;
  group.constant = constantOps.contains(op);
  join(op, group);
  return group;
}

void KernelFormer::join(Operation *op, Group &group) {
  group.ops.insert(op);
  groupOf[op] = &group;
}

void KernelFormer::remark(Operation *op, const Twine &text) {
  if (remarks)
    op->emitRemark("form-kernels: ") << text;
}

//===----------------------------------------------------------------------===//
// After an anchor
//===----------------------------------------------------------------------===//

bool KernelFormer::isReadOutside(Operation *op, const Group &group) const {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return !group.ops.contains(user);
  });
}

int64_t KernelFormer::results(const Group &group) const {
  return llvm::count_if(
      group.ops, [&](Operation *op) { return isReadOutside(op, group); });
}

/// Whether a result is bytes that stand for floats, made floats: who reads them
/// does that, too, from a quarter of the memory.
bool KernelFormer::endsInWiderElements(const Group &group) const {
  return llvm::any_of(group.ops, [&](Operation *op) {
    return isOfBytes(op) && isReadOutside(op, group);
  });
}

/// Whether `value` is computed from a result of the group, by ops outside.
bool KernelFormer::dependsOn(Value value, const Group &group) const {
  int64_t first = position.size();
  for (Operation *op : group.ops)
    first = std::min(first, position.lookup(op));
  SmallVector<Operation *> pending = {value.getDefiningOp()};
  DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!op || op->getBlock() != &block || position.lookup(op) < first ||
        !seen.insert(op).second)
      continue;
    if (group.ops.contains(op))
      return true;
    // The whole kernel of an op runs before its result is there.
    if (Group *other = groupOf.lookup(op))
      for (Operation *member : other->ops)
        for (Value operand : member->getOperands())
          pending.push_back(operand.getDefiningOp());
    for (Value read : readValues(op))
      pending.push_back(read.getDefiningOp());
  }
  return false;
}

bool KernelFormer::mayFollow(Operation *op, const Group &group) const {
  bool transposed = isa<AttentionOp>(group.anchor) && isa<TransposeOp>(op);
  if (op->getBlock() != &block || groupOf.contains(op) ||
      !(isElementwise(op) || transposed) ||
      constantOps.contains(op) != group.constant)
    return false;
  // Nothing follows a transposition: from there on indices differ.
  if (isa<TransposeOp>(group.ops.back()))
    return false;
  if (!transposed && tensorType(op->getResult(0)).getShape() !=
                         tensorType(group.anchor->getResult(0)).getShape())
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *source = operand.getDefiningOp();
    return (source && group.ops.contains(source)) || !dependsOn(operand, group);
  });
}

/// Takes in ops after the anchor as long as one result comes out in the end.
void KernelFormer::addEpilogue(Group &group) {
  if (hasRole(group.anchor, FusionRole::LoneAnchor))
    return;
  size_t accepted = group.ops.size();
  for (size_t i = 0; i < group.ops.size(); ++i) {
    SmallVector<Operation *> users(group.ops[i]->getUsers());
    llvm::sort(users, [&](Operation *a, Operation *b) {
      return position.lookup(a) < position.lookup(b);
    });
    for (Operation *user : users) {
      if (static_cast<int64_t>(group.ops.size()) >= costs.maxOps)
        break;
      if (group.ops.contains(user) || !mayFollow(user, group))
        continue;
      join(user, group);
      if (results(group) == 1 && !endsInWiderElements(group))
        accepted = group.ops.size();
    }
  }
  while (group.ops.size() > accepted) {
    Operation *op = group.ops.pop_back_val();
    groupOf.erase(op);
    remark(op, "not fused: a value inside of the kernel is read elsewhere too");
  }
  for (Operation *op : ArrayRef(group.ops.getArrayRef()).drop_front())
    remark(op, "computed in the registers of " +
                   group.anchor->getName().getStringRef());
}

//===----------------------------------------------------------------------===//
// Before an anchor, and in trees
//===----------------------------------------------------------------------===//

/// Whether at least half of a concatenation, or all of its inputs but one, are
/// results of anchors or of other concatenations: their kernels can write them
/// in their place in it.
bool KernelFormer::isWrittenInParts(Operation *concat) const {
  int64_t written = 0, others = 0;
  for (Value input : concat->getOperands()) {
    Operation *source = input.getDefiningOp();
    while (isa_and_nonnull<ReshapeOp>(source))
      source = source->getOperand(0).getDefiningOp();
    Group *group = groupOf.lookup(source);
    if ((group && group->anchor) || isa_and_nonnull<ConcatOp>(source))
      written += tensorType(input).getNumElements();
    else
      ++others;
  }
  int64_t all = tensorType(concat->getResult(0)).getNumElements();
  return written > 0 && (others <= 1 || 2 * written >= all);
}

/// Why `op` cannot be computed where the group's anchor or what follows it
/// reads it, or null.
const char *KernelFormer::refuseInAnchor(Operation *op, OpOperand &use,
                                         const Group &group) const {
  Operation *anchor = group.anchor, *user = use.getOwner();
  bool moves = !isElementwise(op);
  if (user != anchor && !isElementwise(user) && !isa<AttentionOp>(anchor))
    return "only element-wise ops are fused through others";
  if (moves && !isa<BroadcastOp, SliceOp>(op) && !isa<AttentionOp>(anchor))
    return "the kernel reads its operands as they lie in memory";
  if (auto slice = dyn_cast<SliceOp>(op))
    if (isContraction(anchor) &&
        llvm::any_of(slice.getSteps(), [](int64_t step) { return step < 0; }))
      return "a contraction reads its operands forwards";
  if (user != anchor && !beforeAnchor.contains(user))
    return moves && isa<TransposeOp>(user) ? "nothing follows a transposition"
                                           : nullptr;
  if (isa<AttentionOp>(anchor))
    return hasRole(op, FusionRole::StridedMovement)
               ? nullptr
               : "attention reads its operands several times";
  if (user == anchor && use.getOperandNumber() != 0)
    return "only the first operand of an anchor is computed in place";
  if (!readsOnce(anchor))
    return "the anchor reads each element several times";
  if (moves && isContraction(anchor))
    return "a contraction reads its operands as they lie in memory";
  if (factsOf(op).costPerElement > costs.cheap && !isa<ReduceOp>(anchor))
    return "too much arithmetic to repeat";
  return nullptr;
}

/// The same for a tree of element-wise and movement ops.
const char *KernelFormer::refuseInTree(Operation *op, OpOperand &use) const {
  Operation *user = use.getOwner();
  if (isa<ConcatOp>(op))
    return "the inputs of a concatenation are copied once";
  if (isa<ConcatOp>(user) && isWrittenInParts(user))
    return "the kernels of a concatenation's inputs write their parts of it";
  if (hasRole(user, FusionRole::Lookup) && use.getOperandNumber() == 0 &&
      !hasRole(op, FusionRole::StridedMovement))
    return "gathered elements may be read any number of times";
  bool repeats = tensorType(user->getResult(0)).getNumElements() >
                 tensorType(op->getResult(0)).getNumElements();
  if (repeats && isElementwise(op) &&
      factsOf(op).costPerElement > costs.cheap && !isa<ConcatOp>(user))
    return "too much arithmetic to repeat";
  return nullptr;
}

const char *KernelFormer::refusePrologue(Operation *op, OpOperand &use,
                                         const Group &group) const {
  if (dequantizers.contains(op))
    return nullptr;
  if (group.constant != constantOps.contains(op))
    return "what depends on constants alone is computed ahead of time";
  if (static_cast<int64_t>(group.ops.size()) >= costs.maxOps)
    return "the kernel is large enough";
  if (isReadAtSeveralIndices(op))
    return "it would be computed again for each index at which it is read";
  return group.anchor ? refuseInAnchor(op, use, group) : refuseInTree(op, use);
}

/// The group that alone reads `op`, or null.
Group *KernelFormer::consumerOf(Operation *op) const {
  Group *consumer = nullptr;
  for (Operation *user : op->getUsers()) {
    Group *group = groupOf.lookup(user);
    if (!group || (consumer && group != consumer))
      return nullptr;
    consumer = group;
  }
  return consumer;
}

const char *KernelFormer::whyNoConsumer(Operation *op) const {
  if (!fuse)
    return "ops are not fused";
  auto isTerminator = [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>();
  };
  if (llvm::none_of(op->getUsers(), isTerminator))
    return "its result is read by several kernels";
  return llvm::all_of(op->getUsers(), isTerminator)
             ? "its result is returned"
             : "its result is returned, and read by a kernel";
}

void KernelFormer::addPrologue(Operation *op) {
  Group *consumer = fuse ? consumerOf(op) : nullptr;
  const char *reason = nullptr;
  if (!consumer) {
    reason = whyNoConsumer(op);
  } else {
    for (OpOperand &use : op->getUses())
      if (const char *why = refusePrologue(op, use, *consumer))
        reason = why;
  }
  if (!reason) {
    join(op, *consumer);
    if (llvm::any_of(op->getUsers(), [&](Operation *user) {
          return user == consumer->anchor || beforeAnchor.contains(user);
        }))
      beforeAnchor.insert(op);
    remark(op, "computed where it is read");
    return;
  }
  remark(op, Twine("its own kernel: ") + reason);
  start(op);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Location KernelFormer::locationOf(const Group &group) const {
  if (group.anchor)
    return group.anchor->getLoc();
  return group.ops.front()->getLoc();
}

void KernelFormer::emit(Group &group) {
  SmallVector<Operation *> members = group.ops.takeVector();
  llvm::sort(members, [&](Operation *a, Operation *b) {
    return position.lookup(a) < position.lookup(b);
  });
  group.ops.insert(members.begin(), members.end());

  SetVector<Value> inputs, clones, outputs;
  for (Operation *op : members) {
    for (Value operand : op->getOperands())
      if (isCloned(operand) && !group.constant)
        clones.insert(operand);
      else if (!group.ops.contains(operand.getDefiningOp()))
        inputs.insert(operand);
    for (Value result : op->getResults())
      if (isReadOutside(op, group))
        outputs.insert(result);
  }

  OpBuilder builder(members.back());
  SmallVector<Type> types(
      llvm::map_range(outputs, [](Value output) { return output.getType(); }));
  auto kernel =
      KernelOp::create(builder, locationOf(group), types, inputs.getArrayRef());
  Block &body = kernel.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToStart(&body);
  for (Value constant : clones)
    builder.clone(*constant.getDefiningOp(), mapping);
  for (Operation *op : members)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value output : outputs)
    yielded.push_back(mapping.lookup(output));
  YieldOp::create(builder, kernel.getLoc(), yielded);

  for (auto [output, result] : llvm::zip_equal(outputs, kernel.getOutputs()))
    Value(output).replaceUsesWithIf(result, [&](OpOperand &use) {
      return !group.ops.contains(use.getOwner());
    });
  for (Operation *op : llvm::reverse(members))
    op->erase();
}

KernelCounts KernelFormer::run() {
  for (Operation *op : llvm::reverse(ops))
    if (isAnchor(op) && !dequantizers.contains(op)) {
      Group &group = start(op);
      if (fuse)
        addEpilogue(group);
    }
  for (Operation *op : llvm::reverse(ops))
    if (!groupOf.contains(op))
      addPrologue(op);

  KernelCounts counts;
  for (auto &group : groups)
    ++(group->constant ? counts.constantKernels : counts.kernels);
  for (auto &group : groups)
    emit(*group);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  sortTopologically(&block);
  return counts;
}

struct FormKernelsPass : impl::FormKernelsBase<FormKernelsPass> {
  using FormKernelsBase::FormKernelsBase;
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    KernelCounts counts = formKernels(getOperation(), fuse, remarks);
    numKernels += counts.kernels;
    numConstantKernels += counts.constantKernels;
  }
};

} // namespace

KernelCounts formKernels(func::FuncOp function, bool fuse, bool remarks) {
  DenseSet<Operation *> constantOps =
      findConstantOps(function, spreadInRuns(function));
  DenseSet<Operation *> dequantizers;
  function.walk([&](MatmulOp op) {
    if (fuse)
      dequantizers.insert_range(quantizedWeightsOf(op));
  });
  for (Operation *op : dequantizers)
    constantOps.erase(op);
  KernelCounts counts;
  // Inner blocks come first: their kernels take the place of ops that the outer
  // block looks at as users of its own.
  function.walk<WalkOrder::PostOrder>([&](Block *block) {
    if (isa<KernelOp>(block->getParentOp()))
      return;
    KernelCounts formed =
        KernelFormer(*block, constantOps, dequantizers, fuse, remarks).run();
    counts.kernels += formed.kernels;
    counts.constantKernels += formed.constantKernels;
  });
  return counts;
}

} // namespace tinh::transforms
