//===- Distributed.cpp - Tensors on several ranks -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/distributed.h"

#include "tinh/autograd.h"
#include "tinh/collectives.hpp"
#include "tinh/engine.h"
#include "tinh/operations.h"

#include <algorithm>
#include <optional>

namespace tinh::distributed {

namespace {

/// The ranks, and a tensor that each operation changes: so the engine does them
/// in the order of their calls.
struct Group {
  explicit Group(Collectives joined) : ranks(std::move(joined)) {}

  Collectives ranks;
  Tensor order = zeros({}, int64);
};

std::optional<Group> &group() {
  // Never destroyed: leaving waits for the others, which a program asks for.
  static auto &only = *new std::optional<Group>;
  return only;
}

void join(Collectives ranks) {
  if (group())
    throw Error(
        TINH_INVALID_ARGUMENT,
        "init_process_group: this process has joined its ranks already");
  group().emplace(std::move(ranks));
}

using Collective = tinh_collective_t;

[[noreturn]] void fail(const char *why) {
  throw Error(TINH_COLLECTIVE_FAILED, why);
}

/// Starts all, which so share the way, and waits for all.
void run(tinh_collectives_t *table, std::vector<Collective> collectives) {
  std::vector<uint64_t> tickets(collectives.size());
  const char *failure = nullptr;
  size_t started = 0;
  for (; started < collectives.size() && !failure; ++started)
    failure = table->start(table, &collectives[started], &tickets[started]);
  if (failure)
    fail(failure);
  for (uint64_t ticket : tickets)
    if (const char *error = table->wait(table, ticket))
      failure = error;
  if (failure)
    fail(failure);
}

/// Queues `what` for the contiguous tensors `reads`, each from a tensor to the
/// one of `writes`.
void queue(const char *name, Collective what, const std::vector<Tensor> &reads,
           const std::vector<Tensor> &writes) {
  std::vector<Tensor> from = reads, to = writes;
  from.push_back(group()->order);
  to.push_back(group()->order);
  auto start = [table = group()->ranks.handle(), what, reads,
                writes](std::span<const HostArray> inputs,
                        std::span<const HostArray> outputs) {
    std::vector<Collective> all;
    for (size_t i = 0; i < reads.size(); ++i) {
      Collective &one = all.emplace_back(what);
      one.dtype = one.communication_dtype = inputs[i].dtype;
      one.count = 1;
      for (int64_t size : inputs[i].sizes)
        one.count *= static_cast<uint64_t>(size);
      one.input = inputs[i].data;
      one.output = outputs[i].data;
    }
    try {
      run(table, std::move(all));
    } catch (...) {
      // Messages may still come to their memory.
      new std::pair(reads, writes);
      throw;
    }
  };
  call(name, start, from, to);
}

/// Has `what` done in the place of the tensors.
void inPlace(const char *name, const Collective &what,
             std::span<const Tensor> tensors) {
  if (world_size() == 1)
    return;
  NoGrad guard;
  std::vector<Tensor> dense;
  for (const Tensor &tensor : tensors)
    dense.push_back(tensor.is_contiguous() && !requires_grad(tensor)
                        ? tensor
                        : tensor.clone());
  queue(name, what, dense, dense);
  for (size_t i = 0; i < dense.size(); ++i)
    if (!dense[i].is_same(tensors[i]))
      tensors[i].copy_(dense[i]);
}

tinh_reduction_t reductionOf(ReduceOp op) {
  switch (op) {
  case ReduceOp::Sum:
    return TINH_REDUCE_SUM;
  case ReduceOp::Mean:
    return TINH_REDUCE_MEAN;
  case ReduceOp::Max:
    return TINH_REDUCE_MAX;
  }
  throw Error(TINH_INVALID_ARGUMENT, "all_reduce: there is no such ReduceOp");
}

} // namespace

void init_process_group(const Options &options) {
  join(Collectives(options.library, options.timeout));
}

void init_process_group(tinh_collectives_t *table) { join(Collectives(table)); }

bool is_initialized() { return group().has_value(); }

void destroy_process_group() {
  if (!group())
    return;
  group()->order.wait_to_read();
  group().reset();
}

void abort(const std::string &why) {
  if (group())
    group()->ranks.abort(why);
}

int64_t rank() { return group() ? group()->ranks.rank() : 0; }

int64_t world_size() { return group() ? group()->ranks.num_ranks() : 1; }

void all_reduce(std::span<const Tensor> tensors, ReduceOp op) {
  Collective what = {};
  what.kind = TINH_ALL_REDUCE;
  what.reduction = reductionOf(op);
  inPlace("all_reduce", what, tensors);
}

void all_reduce(const Tensor &tensor, ReduceOp op) {
  all_reduce(std::span(&tensor, 1), op);
}

void broadcast(std::span<const Tensor> tensors, int64_t source) {
  if (source < 0 || source >= world_size())
    throw Error(TINH_INVALID_ARGUMENT, "broadcast: there is no rank " +
                                           std::to_string(source) + " among " +
                                           std::to_string(world_size()));
  Collective what = {};
  what.kind = TINH_BROADCAST;
  what.root = static_cast<uint32_t>(source);
  inPlace("broadcast", what, tensors);
}

void broadcast(const Tensor &tensor, int64_t source) {
  broadcast(std::span(&tensor, 1), source);
}

Tensor all_gather(const Tensor &tensor) {
  NoGrad guard;
  Tensor own = tensor.contiguous();
  Shape shape = world_size();
  for (int64_t extent : own.shape())
    shape.push_back(extent);
  if (world_size() == 1)
    return own.clone().reshape(shape);
  Tensor all = empty(shape, own.dtype());
  Collective what = {};
  what.kind = TINH_ALL_GATHER;
  queue("all_gather", what, {own}, {all});
  return all;
}

void barrier() {
  Tensor one = ones({}, int32);
  all_reduce(one);
  one.wait_to_read();
}

void require_equal(const std::string &what, const std::string &text) {
  if (world_size() == 1)
    return;
  Tensor done = zeros({}, int32);
  auto compare = [what, text](std::span<const HostArray>,
                              std::span<const HostArray>) {
    group()->ranks.compare(what, text);
  };
  Tensor changed[] = {done, group()->order};
  call("require_equal", compare, std::span<const Tensor>(changed), changed);
  done.wait_to_read();
}

} // namespace tinh::distributed
