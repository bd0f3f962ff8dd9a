//===- dataset.h - Batches of samples ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrays whose first dimension is the samples, and what a run takes of them.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_DATASET_H
#define TINH_TOOLS_DATASET_H

#include "npy.h"
#include "tinh/runtime.h"

#include <optional>
#include <string>
#include <vector>

namespace tinh::tools {

/// The samples of an input, and what messages call them.
struct SampleArray {
  std::string name;
  NpyArray array;
};

/// Maps `files`, names with commas between them, one for each of `inputs`;
/// throws UserError if they are not as many, or no arrays. `option` is where
/// they come from. Samples are read when they are looked at.
std::vector<SampleArray>
read_files(const std::string &option, const std::string &files,
           const std::vector<tinh_tensor_info_t> &inputs);

/// What a model takes run by run: batches of samples, which are rows of all
/// inputs. If inputs have other numbers of rows, all of a run is a sample.
class Dataset {
public:
  /// Throws UserError if the arrays, one for each of `inputs`, do not fit them.
  Dataset(const std::string &option, std::vector<SampleArray> samples,
          const std::vector<tinh_tensor_info_t> &inputs);

  uint64_t num_samples() const { return samples; }
  uint64_t batch_size() const { return batch; }
  /// A number that other samples have another of. Of each array of more than 64
  /// MiB it looks at so many, in 1,024 pieces.
  uint64_t checksum() const;
  /// Whole ones; the samples that are left are not used.
  uint64_t num_batches() const { return samples / batch; }

  /// Which sample comes when: in their order, or in one that depends on `seed`
  /// and `epoch` alone.
  std::vector<uint64_t> order(std::optional<uint64_t> seed,
                              uint64_t epoch) const;

  /// A run's inputs, in memory of their own.
  struct Batch {
    std::vector<std::vector<char>> memory;
    std::vector<tinh_buffer_t> buffers;
  };
  Batch make_batch() const;
  /// Copies the samples of batch `index`.
  void fill(const std::vector<uint64_t> &order, uint64_t index,
            Batch &batch) const;
  /// The inputs of batch `index` in order, where they lie.
  std::vector<tinh_buffer_t> batch_at(uint64_t index);

private:
  void check(const std::string &option, const std::string &file,
             const tinh_tensor_info_t &input, const NpyArray &array);

  bool are_runs = false; ///< Samples.
  uint64_t samples = 0, batch = 0;
  std::vector<NpyArray> arrays;
  std::vector<uint64_t> row_sizes; ///< Bytes of a sample in each.
};

} // namespace tinh::tools

#endif // TINH_TOOLS_DATASET_H
