//===- tinh/collectives.hpp - What ranks compute together, in C++ ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An owner for the table of tinh/collectives.h, and calls that start one
// collective and wait for it. Header only, C++17:
//
//   tinh::Collectives ranks;                  // mpirun -n 4 program
//   tinh::ContextOptions options;
//   options.collectives = ranks.handle();
//   tinh::Context context(module, options);   // Destroyed before the ranks.
//
// What fails throws a tinh::Error. All ranks make the same calls, in the same
// order, and none while a context runs what computes with other ranks. To be
// used by one thread at a time.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COLLECTIVES_HPP
#define TINH_COLLECTIVES_HPP

#include "tinh/runtime.hpp"

namespace tinh {

/// The seed of a rank's random numbers, where that of rank 0 is `first`. Seeds
/// of neighbours are far from each other: they differ by an odd number, 2 to
/// the 64th divided by the golden ratio.
inline uint64_t seed_of_rank(uint64_t first, uint32_t rank) {
  return first + rank * uint64_t(0x9e3779b97f4a7c15);
}

class Collectives {
public:
  /// Joins the ranks by the library of the launcher that has started this
  /// process, or by the one that is named. A rank counts as dead after
  /// `timeout` seconds without a sign of life; 0: 60.
  explicit Collectives(const std::string &library = "", double timeout = 0) {
    tinh_collectives_options_t options = {sizeof options, timeout};
    tinh_collectives_t *loaded = nullptr;
    check(tinh_collectives_load(library.empty() ? nullptr : library.c_str(),
                                &options, &loaded));
    owned.reset(loaded);
  }
  /// Takes over a table of the program's own.
  explicit Collectives(tinh_collectives_t *table) : owned(table) {}

  uint32_t rank() const { return owned->rank; }
  uint32_t num_ranks() const { return owned->num_ranks; }
  uint32_t local_rank() const { return owned->local_rank; }
  uint32_t num_local_ranks() const { return owned->num_local_ranks; }

  /// Gives all ranks what `root` has in this memory.
  void broadcast(tinh_buffer_t buffer, uint32_t root = 0) const {
    tinh_collective_t what = {};
    what.kind = TINH_BROADCAST;
    what.dtype = what.communication_dtype = TINH_DTYPE_U8;
    what.root = root;
    what.count = buffer.size;
    what.input = what.output = buffer.data;
    run(what);
  }

  /// Puts what all ranks have, in their order, into memory for all of it.
  void all_gather(tinh_buffer_t own, void *all) const {
    tinh_collective_t what = {};
    what.kind = TINH_ALL_GATHER;
    what.dtype = what.communication_dtype = TINH_DTYPE_U8;
    what.count = own.size;
    what.input = own.data;
    what.output = all;
    run(what);
  }

  /// Puts the sums of all ranks' elements in their place.
  void sum(std::vector<double> &numbers) const {
    tinh_collective_t what = {};
    what.kind = TINH_ALL_REDUCE;
    what.reduction = TINH_REDUCE_SUM;
    what.dtype = what.communication_dtype = TINH_DTYPE_F64;
    what.count = numbers.size();
    what.input = what.output = numbers.data();
    run(what);
  }

  /// Throws unless all ranks have the same text, and names one that has
  /// another; `what` is what it is, for the message.
  void compare(const std::string &what, const std::string &text) const {
    check(tinh_collectives_compare(handle(), what.c_str(), text.data(),
                                   text.size()));
  }

  /// Fails on all ranks, for this reason.
  void abort(const std::string &why) const {
    owned->abort(handle(), why.c_str());
  }

  tinh_collectives_t *handle() const noexcept { return owned.get(); }

private:
  void run(const tinh_collective_t &what) const {
    uint64_t ticket = 0;
    const char *error = owned->start(handle(), &what, &ticket);
    if (!error)
      error = owned->wait(handle(), ticket);
    if (error)
      throw Error(TINH_COLLECTIVE_FAILED, error);
  }

  struct Leave {
    void operator()(tinh_collectives_t *table) const { table->destroy(table); }
  };
  std::unique_ptr<tinh_collectives_t, Leave> owned;
};

} // namespace tinh

#endif // TINH_COLLECTIVES_HPP
