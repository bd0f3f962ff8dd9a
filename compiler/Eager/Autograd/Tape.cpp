//===- Tape.cpp - What tensors were computed from -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Autograd/Tape.h"

#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Autograd/ViewNodes.h"
#include "compiler/Eager/Autograd/Walk.h"
#include "compiler/Eager/FreeList.h"
#include "compiler/Eager/Tensor/Support.h"

#include <sstream>

namespace tinh::eager {

constinit thread_local bool gradEnabled = true;

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static uint64_t nextNumber() {
  static std::atomic<uint64_t> count{0};
  return count.fetch_add(1, std::memory_order_relaxed);
}

Node::Node(const Call &call, uint32_t numOutputs)
    : call(call), number(nextNumber()), numOutputs(numOutputs) {}

Node::~Node() = default;

void Node::destroy(Node *node) {
  // The first node that this thread destroys goes on with those that its
  // destructor gives up, and so on.
  static constinit thread_local Node *dead = nullptr;
  static constinit thread_local bool isDestroying = false;
  node->nextDead = dead;
  dead = node;
  if (isDestroying)
    return;
  isDestroying = true;
  while (Node *next = dead) {
    dead = next->nextDead;
    delete next;
  }
  isDestroying = false;
}

// Most nodes are of one size, and come and go with each operation.
static constexpr size_t kNodeSize = 448;
using NodeBlocks = FreeList<kNodeSize, 64>;

void *Node::operator new(size_t size) {
  return size <= kNodeSize ? NodeBlocks::allocate() : ::operator new(size);
}

void Node::operator delete(void *memory, size_t size) {
  size <= kNodeSize ? NodeBlocks::deallocate(memory)
                    : ::operator delete(memory);
}

using HistoryBlocks = FreeList<64, 64>;

void *History::operator new(size_t) {
  static_assert(sizeof(History) <= 64);
  return HistoryBlocks::allocate();
}

void History::operator delete(void *memory, size_t) {
  HistoryBlocks::deallocate(memory);
}

//===----------------------------------------------------------------------===//
// Histories
//===----------------------------------------------------------------------===//

static History *historyOf(const TensorImpl &x) {
  return static_cast<History *>(x.tape.get());
}

static History &makeHistory(TensorImpl &x) {
  if (!x.tape)
    x.tape = Ref<TapeData>(new History);
  return *historyOf(x);
}

Ref<TensorImpl> geometryOf(const TensorImpl &x) {
  Ref<TensorImpl> geometry = TensorImpl::create();
  geometry->dtype = x.dtype;
  geometry->sizes = x.sizes;
  geometry->strides = x.strides;
  geometry->offset = x.offset;
  return geometry;
}

Edge edgeOf(const TensorImpl &x) {
  if (!x.base)
    return x.tape ? historyOf(x)->from : Edge();
  History *base = historyOf(*x.base);
  if (!base || !base->from)
    return {};
  // A cache: what a view of the base's history is does not change the view.
  History &own = makeHistory(const_cast<TensorImpl &>(x));
  if (!own.from || own.changes != base->changes) {
    own.from = {new ViewNode(base->from, *x.base, x), 0};
    own.changes = base->changes;
  }
  return own.from;
}

void setHistory(TensorImpl &out, Edge from, const Call &call) {
  TensorImpl &base = out.base ? *out.base : out;
  if (!from && !base.tape)
    return;
  if (&base != &out) {
    Edge rest = base.tape ? historyOf(base)->from : Edge();
    if (out.numElements() == base.numElements())
      rest = {}; // Writable views show no element twice: it is all written.
    if (from || rest)
      from = {new SpliceNode(call, std::move(from), std::move(rest), base, out),
              0};
  }
  History &history = makeHistory(base);
  history.from = std::move(from);
  ++history.changes;
}

void requireNoLeaf(const TensorImpl &out, const Call &call) {
  const TensorImpl &base = out.base ? *out.base : out;
  if (gradEnabled && base.tape && historyOf(base)->from &&
      historyOf(base)->from.node->isLeaf())
    fail(call, out.base ? "a view of a leaf" : "a leaf",
         " that requires gradients is changed in place while operations are "
         "recorded; change it where a tinh::NoGrad is alive, or a clone() of "
         "it");
}

void makeLeaf(TensorImpl &x, const Call &call) {
  x.base = {};
  x.tape = {};
  makeHistory(x).from = {new LeafNode(call), 0};
}

LeafNode *leafOf(const TensorImpl &x) {
  if (x.base || !x.tape)
    return nullptr;
  Node *node = historyOf(x)->from.node.get();
  return node && node->isLeaf() ? static_cast<LeafNode *>(node) : nullptr;
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

void LeafNode::differentiate(Walk &walk,
                             llvm::MutableArrayRef<Tensor> gradients) {
  std::lock_guard lock(mutex);
  if (walk.isRecorded() || !sum.defined())
    sum = sum.defined() ? walk.sum(sum, gradients[0])
                        : walk.owned(std::move(gradients[0]));
  else
    walk.addInPlace(sum, gradients[0]);
}

Tensor LeafNode::gradient() {
  std::lock_guard lock(mutex);
  return sum;
}

void LeafNode::setGradient(const Tensor &gradient) {
  Tensor before;
  std::lock_guard lock(mutex);
  std::swap(before, sum);
  sum = gradient;
}

//===----------------------------------------------------------------------===//
// What is kept
//===----------------------------------------------------------------------===//

Saved::Saved(const TensorImpl &x)
    : tensor(geometryOf(x)), version(x.storage->version()) {
  tensor->storage = x.storage;
}

[[noreturn]] static void failChanged(const Storage &storage, const Call &user) {
  std::ostringstream message;
  message << "its gradient needs a tensor that was changed in place since";
  if (const char *name = storage.changeName()) {
    std::source_location at = storage.changePlace();
    message << ", by " << name;
    if (at.line() != 0)
      message << " (" << at.file_name() << ":" << at.line() << ")";
  }
  message << "; change a clone() of it, or take the gradient before";
  failWith(user, message.str());
}

Tensor Saved::get(const Edge &from, const Call &user) const {
  if (tensor->storage->version() != version)
    failChanged(*tensor->storage, user);
  if (!from || !gradEnabled)
    return TensorAccess::share(*tensor);
  Ref<TensorImpl> withHistory = geometryOf(*tensor);
  withHistory->storage = tensor->storage;
  makeHistory(*withHistory).from = from;
  return TensorAccess::share(*withHistory);
}

void failReleased(const Call &call) {
  fail(call, "its gradient was taken already, and what that needed was freed; "
             "pass {.retain_graph = true} to all but the last backward or grad "
             "that goes through it");
}

} // namespace tinh::eager
