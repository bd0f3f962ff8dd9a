//===- samples.cpp - Samples to calibrate a model with ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "samples.h"

#include "inputs.h"
#include "npz.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace tinh::tools {
namespace {

namespace fs = std::filesystem;
using Inputs = std::vector<tinh_tensor_info_t>;

/// What is asked for, in the messages about what is not there.
std::string list_names(const Inputs &inputs, const std::string &suffix) {
  std::string names;
  for (const tinh_tensor_info_t &input : inputs)
    names.append(names.empty() ? "" : ", ").append(input.name) += suffix;
  return names;
}

//===----------------------------------------------------------------------===//
// .npz
//===----------------------------------------------------------------------===//

std::vector<SampleArray> from_npz(const std::string &option,
                                  const std::string &path,
                                  const Inputs &inputs) {
  std::map<std::string, NpyArray> arrays;
  std::string message;
  if (!read_npz(path, &arrays, &message))
    throw UserError(option + ": " + message);
  std::string found;
  for (const auto &[name, array] : arrays)
    found += (found.empty() ? "" : ", ") + name;
  std::vector<SampleArray> samples;
  for (const tinh_tensor_info_t &input : inputs) {
    auto it = arrays.find(input.name);
    if (it == arrays.end())
      throw UserError(option + ": '" + path + "' has no array '" + input.name +
                      "'; it has " + (found.empty() ? "none" : found) +
                      ", and the model takes " + list_names(inputs, ""));
    samples.push_back({path + ":" + input.name, std::move(it->second)});
  }
  return samples;
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

SampleArray read_input(const std::string &option, const fs::path &folder,
                       const tinh_tensor_info_t &input) {
  SampleArray sample{(folder / (std::string(input.name) + ".npy")).string(),
                     {}};
  std::string message;
  if (!read_npy(sample.name, &sample.array, &message))
    throw UserError(option + ": " + message);
  return sample;
}

std::vector<fs::path> subfolders(const fs::path &folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (entry.is_directory())
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// Adds the samples of `more` to those of `all`.
void append(const std::string &option, SampleArray &all, SampleArray more) {
  NpyArray &array = all.array;
  if (array.dims.empty() || array.dtype != more.array.dtype ||
      array.dims.size() != more.array.dims.size() ||
      !std::equal(array.dims.begin() + 1, array.dims.end(),
                  more.array.dims.begin() + 1))
    throw UserError(option + ": '" + more.name + "' and '" + all.name +
                    "' have other shapes or dtypes");
  array.dims[0] += more.array.dims[0];
  array.data.insert(array.data.end(), more.array.data.begin(),
                    more.array.data.end());
}

std::vector<SampleArray> from_folder(const std::string &option,
                                     const fs::path &path,
                                     const Inputs &inputs) {
  std::vector<fs::path> folders = {path};
  if (!fs::exists(path / (std::string(inputs[0].name) + ".npy")))
    folders = subfolders(path);
  if (folders.empty())
    throw UserError(option + ": there are no samples in '" + path.string() +
                    "': expected " + list_names(inputs, ".npy") +
                    ", or folders with these");
  std::vector<SampleArray> samples;
  for (const tinh_tensor_info_t &input : inputs)
    samples.push_back(read_input(option, folders[0], input));
  for (size_t i = 1; i < folders.size(); ++i)
    for (size_t j = 0; j < inputs.size(); ++j)
      append(option, samples[j], read_input(option, folders[i], inputs[j]));
  return samples;
}

//===----------------------------------------------------------------------===//
// NaN
//===----------------------------------------------------------------------===//

/// Whether an element, of so many bytes, with a mantissa of so many bits, is
/// NaN.
template <typename Bits> bool is_nan(const char *at, int mantissa) {
  Bits bits;
  std::memcpy(&bits, at, sizeof bits);
  Bits magnitude = bits & static_cast<Bits>(~Bits{0} >> 1);
  Bits infinity = static_cast<Bits>(static_cast<Bits>(~Bits{0} >> 1) >>
                                    mantissa << mantissa);
  return magnitude > infinity;
}

/// The first element that is NaN; the size if there is none.
template <typename Bits>
size_t find_nan(const std::vector<char> &data, int mantissa) {
  size_t count = data.size() / sizeof(Bits), i = 0;
  while (i < count && !is_nan<Bits>(&data[i * sizeof(Bits)], mantissa))
    ++i;
  return i;
}

size_t first_nan(const NpyArray &array) {
  switch (array.dtype) {
  case TINH_DTYPE_F64:
    return find_nan<uint64_t>(array.data, 52);
  case TINH_DTYPE_F32:
    return find_nan<uint32_t>(array.data, 23);
  case TINH_DTYPE_F16:
    return find_nan<uint16_t>(array.data, 10);
  case TINH_DTYPE_BF16:
    return find_nan<uint16_t>(array.data, 7);
  default:
    return SIZE_MAX;
  }
}

void check_numbers(const std::string &option, const SampleArray &sample) {
  size_t elements = 1;
  for (int64_t dim : sample.array.dims)
    elements *= static_cast<size_t>(dim);
  size_t at = first_nan(sample.array);
  if (elements == 0 || at >= elements)
    return;
  size_t samples =
      sample.array.dims.empty() ? 1 : static_cast<size_t>(sample.array.dims[0]);
  throw UserError(option + ": '" + sample.name + "' has a NaN in sample " +
                  std::to_string(at / (elements / samples)) +
                  "; nothing can be learnt from it");
}

} // namespace

Dataset read_samples(const std::string &option, const std::string &path,
                     const Inputs &inputs) {
  if (inputs.empty())
    throw UserError(option + ": the model takes no inputs, so that there is "
                             "nothing to calibrate it with");
  std::error_code error;
  bool is_folder = fs::is_directory(path, error);
  if (!is_folder && !fs::exists(path, error))
    throw UserError(option + ": there is no '" + path + "'");
  std::vector<SampleArray> samples = is_folder
                                         ? from_folder(option, path, inputs)
                                         : from_npz(option, path, inputs);
  for (const SampleArray &sample : samples)
    check_numbers(option, sample);
  return Dataset(option, std::move(samples), inputs);
}

} // namespace tinh::tools
