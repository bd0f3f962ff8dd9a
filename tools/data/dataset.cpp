//===- dataset.cpp - Batches of samples -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "dataset.h"

#include "inputs.h"
#include "random.h"
#include "tinh/artifact.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tinh::tools {

static std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

std::vector<SampleArray>
read_files(const std::string &option, const std::string &files,
           const std::vector<tinh_tensor_info_t> &inputs) {
  std::vector<std::string> names = split(files);
  std::string wanted;
  for (const tinh_tensor_info_t &input : inputs)
    wanted.append(wanted.empty() ? "" : ",").append(input.name) += ".npy";
  if (names.size() != inputs.size())
    throw UserError(option + " has " + std::to_string(names.size()) +
                    " files, and the model takes " +
                    std::to_string(inputs.size()) + ": " + option + ' ' +
                    wanted);
  std::vector<SampleArray> samples;
  for (const std::string &name : names) {
    std::string message;
    SampleArray &read = samples.emplace_back(SampleArray{name, {}});
    if (!map_npy(name, &read.array, &message))
      throw UserError(option + ": " + message);
  }
  return samples;
}

Dataset::Dataset(const std::string &option, std::vector<SampleArray> read,
                 const std::vector<tinh_tensor_info_t> &inputs) {
  are_runs = std::any_of(inputs.begin(), inputs.end(), [&](const auto &input) {
    return input.rank > 0 && inputs[0].rank > 0 &&
           input.dims[0] != inputs[0].dims[0];
  });
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(option, read[i].name, inputs[i], read[i].array);
    row_sizes.push_back(inputs[i].size / batch);
    arrays.push_back(std::move(read[i].array));
  }
  if (num_batches() == 0)
    throw UserError(option + ": there are " + std::to_string(samples) +
                    " samples, and the model takes " + std::to_string(batch) +
                    " at a time; compile it for a smaller batch");
}

/// `array` must be samples of `input`, as many as the others are.
void Dataset::check(const std::string &option, const std::string &file,
                    const tinh_tensor_info_t &input, const NpyArray &array) {
  std::string where =
      option + ": '" + file + "', for the input '" + input.name + "', ";
  if (input.rank == 0 || input.dims[0] == 0)
    throw UserError(option + ": the model's input '" + input.name + "' is " +
                    type_text(input) + ", which is no batch of samples");
  if (!can_be(array.dtype, input.dtype))
    throw UserError(where + "has dtype " + tinh_dtype_name(array.dtype) +
                    ", and the model expects " + tinh_dtype_name(input.dtype) +
                    "; convert it with numpy.astype");
  tinh_tensor_info_t found = input;
  found.rank = static_cast<uint32_t>(array.dims.size());
  found.dims = array.dims.data();
  if (array.dims.size() != input.rank ||
      !std::equal(array.dims.begin() + 1, array.dims.end(), input.dims + 1)) {
    std::string shape = "N";
    for (uint32_t i = 1; i < input.rank; ++i)
      shape += 'x' + std::to_string(input.dims[i]);
    throw UserError(where + "has shape " + shape_text(found) +
                    ", and the model expects " + shape);
  }
  auto count = static_cast<uint64_t>(array.dims[0]);
  auto size = static_cast<uint64_t>(input.dims[0]);
  if (are_runs) {
    if (count % size)
      throw UserError(where + "has " + std::to_string(count) +
                      " rows, and each run takes " + std::to_string(size));
    count /= size;
    size = 1;
  }
  if (arrays.empty()) {
    samples = count;
    batch = size;
  } else if (count != samples || size != batch) {
    throw UserError(where + "has " + std::to_string(count) +
                    " samples in batches of " + std::to_string(size) +
                    ", the one before it " + std::to_string(samples) +
                    " in batches of " + std::to_string(batch));
  }
}

std::vector<uint64_t> Dataset::order(std::optional<uint64_t> seed,
                                     uint64_t epoch) const {
  std::vector<uint64_t> order(samples);
  std::iota(order.begin(), order.end(), 0);
  if (!seed)
    return order;
  Random random("shuffle " + std::to_string(*seed) + ' ' +
                std::to_string(epoch));
  for (uint64_t i = samples; i > 1; --i) // Fisher-Yates
    std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

uint64_t Dataset::checksum() const {
  constexpr size_t kPiece = 64 << 10, kMostPieces = 1024;
  uint64_t checksum =
      tinh_checksum(TINH_CHECKSUM_START, &samples, sizeof samples);
  for (const NpyArray &array : arrays) {
    std::span<const char> bytes = array.bytes();
    size_t pieces = (bytes.size() + kPiece - 1) / kPiece;
    size_t taken = std::min(pieces, kMostPieces);
    for (size_t i = 0; i < taken; ++i) {
      size_t begin = i * pieces / taken * kPiece;
      auto piece = bytes.subspan(begin, std::min(kPiece, bytes.size() - begin));
      checksum = tinh_checksum(checksum, piece.data(), piece.size());
    }
  }
  return checksum;
}

Dataset::Batch Dataset::make_batch() const {
  Batch made;
  for (uint64_t size : row_sizes) {
    std::vector<char> &memory = made.memory.emplace_back(size * batch);
    made.buffers.push_back({memory.data(), memory.size()});
  }
  return made;
}

void Dataset::fill(const std::vector<uint64_t> &order, uint64_t index,
                   Batch &into) const {
  for (size_t i = 0; i < arrays.size(); ++i) {
    uint64_t size = row_sizes[i];
    char *to = into.memory[i].data();
    std::span<const char> bytes = arrays[i].bytes();
    for (uint64_t row = 0; row < batch && size; ++row, to += size)
      std::memcpy(to, &bytes[order[index * batch + row] * size], size);
  }
}

std::vector<tinh_buffer_t> Dataset::batch_at(uint64_t index) {
  std::vector<tinh_buffer_t> buffers;
  for (size_t i = 0; i < arrays.size(); ++i) {
    uint64_t size = row_sizes[i] * batch;
    buffers.push_back({arrays[i].bytes().data() + index * size, size});
  }
  return buffers;
}

} // namespace tinh::tools
