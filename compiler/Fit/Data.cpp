//===- Data.cpp - Batches of examples -------------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/data.h"

#include "tinh/random.h"

namespace tinh {

[[noreturn]] static void refuse(const At &at, const std::string &why) {
  throw Error(TINH_INVALID_ARGUMENT, std::string(at.file_name()) + ":" +
                                         std::to_string(at.line()) + ": " +
                                         why);
}

//===----------------------------------------------------------------------===//
// Datasets
//===----------------------------------------------------------------------===//

TensorDataset::TensorDataset(std::vector<Tensor> given, At at)
    : fields(std::move(given)) {
  if (fields.empty())
    refuse(at, "a dataset needs at least one tensor");
  for (const Tensor &field : fields)
    if (field.dim(at) == 0 || field.size(0, at) != fields[0].size(0, at))
      refuse(at, "the tensors of a dataset must have the same first extent, "
                 "the number of examples; found shapes " +
                     to_string(fields[0].shape(at)) + " and " +
                     to_string(field.shape(at)));
}

int64_t TensorDataset::size() const { return fields[0].size(0); }

std::vector<Tensor> TensorDataset::batch(const Tensor &indices) const {
  std::vector<Tensor> result;
  for (const Tensor &field : fields)
    result.push_back(index_select(field, 0, indices));
  return result;
}

FunctionDataset::FunctionDataset(int64_t size, std::vector<Field> fields,
                                 Make make, At at)
    : count(size), fields(std::move(fields)), make(std::move(make)) {
  if (size < 0 || this->fields.empty() || !this->make)
    refuse(at, "a dataset needs fields, a function that makes them and no "
               "negative number of examples; found " +
                   std::to_string(size) + " examples of " +
                   std::to_string(this->fields.size()) + " fields");
}

std::vector<Tensor> FunctionDataset::batch(const Tensor &indices) const {
  std::vector<Tensor> result;
  std::vector<uint64_t> sizes;
  for (const Field &field : fields) {
    Shape shape = indices.size(0);
    for (int64_t extent : field.shape)
      shape.push_back(extent);
    result.push_back(empty(shape, field.dtype));
    sizes.push_back(static_cast<uint64_t>(field.shape.numel()) *
                    field.dtype.size());
  }
  auto fill = [make = make, sizes](std::span<const HostArray> reads,
                                   std::span<const HostArray> writes) {
    const auto *examples = reads[0].as<const int64_t>();
    std::vector<std::byte *> places;
    for (const HostArray &field : writes)
      places.push_back(field.as<std::byte>());
    for (int64_t i = 0; i < reads[0].sizes[0]; ++i) {
      make(examples[i], places);
      for (size_t f = 0; f < places.size(); ++f)
        places[f] += sizes[f];
    }
  };
  call("dataset", fill, std::span<const Tensor>(&indices, 1), result);
  return result;
}

namespace {

class Subset final : public Dataset {
public:
  Subset(std::shared_ptr<const Dataset> whole, int64_t first, int64_t count)
      : whole(std::move(whole)), first(first), count(count) {}
  int64_t size() const override { return count; }
  std::vector<Tensor> batch(const Tensor &indices) const override {
    return whole->batch(indices + first);
  }

private:
  std::shared_ptr<const Dataset> whole;
  int64_t first, count;
};

} // namespace

std::shared_ptr<const Dataset> subset(std::shared_ptr<const Dataset> dataset,
                                      int64_t first, int64_t count, At at) {
  if (!dataset)
    refuse(at, "the dataset is null");
  if (first < 0 || count < 0 || first > dataset->size() - count)
    refuse(at, "a dataset of " + std::to_string(dataset->size()) +
                   " examples has no " + std::to_string(count) +
                   " examples from number " + std::to_string(first) + " on");
  return std::make_shared<Subset>(std::move(dataset), first, count);
}

//===----------------------------------------------------------------------===//
// DataLoader
//===----------------------------------------------------------------------===//

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset,
                       DataLoaderOptions options, At at)
    : examples(std::move(dataset)), options(options) {
  if (!examples)
    refuse(at, "the dataset is null");
  if (options.batch_size < 1)
    refuse(at, "batch_size must be at least 1, found " +
                   std::to_string(options.batch_size));
  if (options.num_ranks < 1 || options.rank < 0 ||
      options.rank >= options.num_ranks)
    refuse(at, "rank must be one of num_ranks, found rank " +
                   std::to_string(options.rank) + " of " +
                   std::to_string(options.num_ranks));
  if (size() == 0)
    refuse(at, "a dataset of " + std::to_string(examples->size()) +
                   " examples gives no batch of " +
                   std::to_string(options.batch_size * options.num_ranks));
}

DataLoader::DataLoader(std::vector<Tensor> fields, DataLoaderOptions options,
                       At at)
    : DataLoader(std::make_shared<TensorDataset>(std::move(fields), at),
                 options, at) {}

int64_t DataLoader::size() const {
  int64_t count = examples->size(),
          all = options.batch_size * options.num_ranks, whole = count / all;
  bool has_rest = options.num_ranks == 1 && !options.drop_last;
  return whole + (has_rest && count % all != 0);
}

std::vector<Tensor> DataLoader::make(Position position) {
  if (orderOf != position.epoch) {
    // Each epoch has a part of the generator's numbers of its own.
    uint64_t counter = static_cast<uint64_t>(position.epoch) << 40;
    order = options.shuffle ? permutation(examples->size(),
                                          Generator(options.seed, counter))
                            : arange(examples->size());
    orderOf = position.epoch;
  }
  int64_t first =
      (position.batch * options.num_ranks + options.rank) * options.batch_size;
  int64_t count = std::min(options.batch_size, examples->size() - first);
  return examples->batch(order.narrow(0, first, count).contiguous());
}

std::optional<std::vector<Tensor>> DataLoader::next() {
  if (current.batch == size()) {
    current = {current.epoch + 1, 0};
    return std::nullopt;
  }
  auto ahead = static_cast<int64_t>(queued.size());
  int64_t wanted = std::min(options.prefetch + 1, size() - current.batch);
  for (; ahead < std::max<int64_t>(wanted, 1); ++ahead)
    queued.push_back(make({current.epoch, current.batch + ahead}));
  std::vector<Tensor> batch = std::move(queued.front());
  queued.pop_front();
  ++current.batch;
  return batch;
}

void DataLoader::seek(Position position, At at) {
  if (position.epoch < 0 || position.batch < 0 || position.batch > size())
    refuse(at, "there is no batch " + std::to_string(position.batch) +
                   " in epoch " + std::to_string(position.epoch) +
                   "; an epoch has " + std::to_string(size()));
  current = position;
  queued.clear();
}

} // namespace tinh
