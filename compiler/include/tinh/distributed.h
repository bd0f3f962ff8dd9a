//===- tinh/distributed.h - Tensors on several ranks ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collective operations on tensors of several processes, such as those that
// mpirun has started:
//
//   tinh::distributed::init_process_group();
//   model.fit(x, y, {.batch_size = 32});   // On 32 examples of each rank.
//
//   tinh::backward(loss);                  // Or in a loop of one's own.
//   for (const tinh::Tensor &w : net->parameters())
//     tinh::distributed::all_reduce(tinh::grad_of(w),
//                                   tinh::distributed::ReduceOp::Mean);
//
// It is made in the manner of torch.distributed, but: ReduceOp::Mean is AVG
// there, `source` is src, all_gather gives one stacked tensor (as
// all_gather_into_tensor), require_equal and abort with a reason are our own.
// Operations are queued on the engine like others, and done in the order of
// their calls, which has to be the same on all ranks. They are not recorded by
// the tape, and have no place in functions that are traced. Tensors are in the
// CPU's memory.
//
// A rank that fails is an error of all: TINH_COLLECTIVE_FAILED, with a message
// that names it (tinh/collectives.h). What a process alone does is the same as
// one of one rank. To be called by one thread at a time.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DISTRIBUTED_H
#define TINH_DISTRIBUTED_H

#include "tinh/collectives.h"
#include "tinh/tensor.h"

#include <span>
#include <string>

namespace tinh::distributed {

struct Options {
  /// The path of a library of collectives; empty: that of the launcher.
  std::string library = "";
  /// Seconds without a sign of life after which a rank is given up; 0: 60.
  double timeout = 0;
};

/// Joins the ranks; once in a process. Waits for all of them.
void init_process_group(const Options &options = {});
/// Takes over a table of the program's own.
void init_process_group(tinh_collectives_t *table);
bool is_initialized();
/// Waits until all is done, and leaves the ranks, which all do so. Nothing
/// happens if they have not been joined. A program that does not call it ends
/// as one that fails.
void destroy_process_group();
/// Tells the others why this rank ends. Nothing if they have not been joined.
void abort(const std::string &why);

int64_t rank();       ///< Of this process; 0 if it is alone.
int64_t world_size(); ///< The number of ranks; 1 if it is alone.

enum class ReduceOp { Sum, Mean, Max };

/// Puts the reductions of all ranks' tensors in their place.
void all_reduce(std::span<const Tensor> tensors, ReduceOp op = ReduceOp::Sum);
void all_reduce(const Tensor &tensor, ReduceOp op = ReduceOp::Sum);
/// Gives all ranks the tensors of rank `source`.
void broadcast(std::span<const Tensor> tensors, int64_t source = 0);
void broadcast(const Tensor &tensor, int64_t source = 0);
/// The tensors of all ranks, [world_size, …], in their order.
Tensor all_gather(const Tensor &tensor);
/// Returns when all ranks have come here.
void barrier();
/// Throws TINH_INCOMPATIBLE on all ranks if they have different texts; `what`
/// is what these are, for the message.
void require_equal(const std::string &what, const std::string &text);

} // namespace tinh::distributed

#endif // TINH_DISTRIBUTED_H
