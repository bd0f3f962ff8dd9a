//===- tinh/data.h - Batches of examples ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Examples are taken from a dataset in batches, in an order that a seed
// decides:
//
//   tinh::DataLoader loader({images, labels}, {.shuffle = true});
//   while (auto batch = loader.next())   // Once an epoch.
//     train((*batch)[0], (*batch)[1]);
//
// A batch is queued on the engine some batches ahead, so that it is made while
// the program computes with those before it. The order of epoch e depends on
// the seed and e alone: an interrupted program goes on where it stopped by
// seek(position).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DATA_H
#define TINH_DATA_H

#include "tinh/engine.h"
#include "tinh/tensor.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tinh {

/// Examples (samples) by index, from 0. Each has the same fields, such as an
/// image and its label. Thread-safe.
class Dataset {
public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  /// The examples at these indices, int64 [batch]: for each field a tensor
  /// whose first dimension is the batch. Returns before it is computed, as
  /// operations on tensors do.
  virtual std::vector<Tensor> batch(const Tensor &indices) const = 0;
};

/// The rows of tensors that have the same first extent, one for each field.
class TensorDataset final : public Dataset {
public:
  explicit TensorDataset(std::vector<Tensor> fields, At at = At::current());
  int64_t size() const override;
  std::vector<Tensor> batch(const Tensor &indices) const override;

private:
  std::vector<Tensor> fields;
};

/// Examples that a function of the program makes, such as reading a file.
class FunctionDataset final : public Dataset {
public:
  struct Field {
    Shape shape; ///< Of one example.
    DType dtype = float32;
  };
  /// Writes example `index` to the places of its fields, which are dense and
  /// row-major. Called on threads of the engine, by one at a time for a batch;
  /// what it throws is the error of the batch.
  using Make =
      std::function<void(int64_t index, std::span<std::byte *const> fields)>;

  FunctionDataset(int64_t size, std::vector<Field> fields, Make make,
                  At at = At::current());
  int64_t size() const override { return count; }
  std::vector<Tensor> batch(const Tensor &indices) const override;

private:
  int64_t count;
  std::vector<Field> fields;
  Make make;
};

/// `count` examples of another dataset, from `first` on.
std::shared_ptr<const Dataset> subset(std::shared_ptr<const Dataset> dataset,
                                      int64_t first, int64_t count,
                                      At at = At::current());

struct DataLoaderOptions {
  int64_t batch_size = 32;
  /// In an order that is drawn anew for each epoch.
  bool shuffle = false;
  uint64_t seed = 0;
  /// Leave out the last batch of an epoch if it is smaller.
  bool drop_last = false;
  /// Batches that are queued ahead.
  int64_t prefetch = 2;
  /// One of several that share batches of num_ranks * batch_size examples: it
  /// gives the `rank`-th part of each. The last one, if it is smaller, is left
  /// out then.
  int64_t rank = 0;
  int64_t num_ranks = 1;
};

/// To be used by one thread at a time.
class DataLoader {
public:
  explicit DataLoader(std::shared_ptr<const Dataset> dataset,
                      DataLoaderOptions options = {}, At at = At::current());
  /// Of the rows of tensors.
  explicit DataLoader(std::vector<Tensor> fields,
                      DataLoaderOptions options = {}, At at = At::current());

  /// Batches of an epoch.
  int64_t size() const;
  const Dataset &dataset() const { return *examples; }

  /// The next batch, one tensor for each field; nothing at the end of an epoch,
  /// and then the first of the next one.
  std::optional<std::vector<Tensor>> next();

  /// The batch that next() gives.
  struct Position {
    int64_t epoch = 0;
    int64_t batch = 0;
    bool operator==(const Position &) const = default;
  };
  Position position() const { return current; }
  void seek(Position position, At at = At::current());

private:
  std::vector<Tensor> make(Position position);

  std::shared_ptr<const Dataset> examples;
  DataLoaderOptions options;
  Position current;
  std::deque<std::vector<Tensor>> queued; // From `current` on, of its epoch.
  Tensor order;                           // Of the epoch `orderOf`.
  int64_t orderOf = -1;
};

} // namespace tinh

#endif // TINH_DATA_H
