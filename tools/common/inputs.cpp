//===- inputs.cpp - Contents of a run's inputs ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random values come from a generator written here, since the distributions of
// the standard library differ between its versions: floats are standard normal,
// integers are 0 to 9.
//
//===----------------------------------------------------------------------===//
#include "inputs.h"

#include "half.h"
#include "random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

namespace tinh::tools {

std::string shape_text(const tinh_tensor_info_t &tensor) {
  std::string text;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    text.append(i ? "x" : "")
        .append(tensor.size_outputs && tensor.size_outputs[i] >= 0 ? "≤" : "")
        .append(std::to_string(tensor.dims[i]));
  return text.empty() ? "scalar" : text;
}

std::string type_text(const tinh_tensor_info_t &tensor) {
  return std::string(tinh_dtype_name(tensor.dtype)) + ' ' + shape_text(tensor);
}

static std::string list_of(const std::vector<tinh_tensor_info_t> &tensors) {
  std::string text;
  for (const tinh_tensor_info_t &tensor : tensors)
    text += (text.empty() ? "'" : ", '") + std::string(tensor.name) + "' (" +
            type_text(tensor) + ")";
  return text.empty() ? "none" : text;
}

std::vector<char> allocate(const tinh_tensor_info_t &tensor, const char *kind) {
  try {
    if (std::vector<char> memory; tensor.size <= memory.max_size()) {
      memory.resize(tensor.size);
      return memory;
    }
  } catch (const std::bad_alloc &) {
  }
  throw UserError("cannot allocate " + std::to_string(tensor.size) +
                  " bytes for the " + kind + " '" + tensor.name + "' (" +
                  type_text(tensor) + ")");
}

std::map<std::string, std::string>
parse_inputs(const std::vector<std::string> &arguments,
             const std::vector<tinh_tensor_info_t> &tensors) {
  std::map<std::string, std::string> sources;
  for (const std::string &argument : arguments) {
    // A tensor's name may have '=' in it; a prefix that is a name decides.
    auto matches = [&](const tinh_tensor_info_t &tensor) {
      return argument.rfind(std::string(tensor.name) + '=', 0) == 0;
    };
    auto tensor = std::find_if(tensors.begin(), tensors.end(), matches);
    if (argument.find('=') == std::string::npos)
      throw UserError("--input " + argument +
                      ": expected NAME=FILE.npy, NAME=random or NAME=zeros");
    if (tensor == tensors.end())
      throw UserError("the model has no input '" +
                      argument.substr(0, argument.find('=')) +
                      "'; its inputs are " + list_of(tensors));
    std::string source = argument.substr(std::strlen(tensor->name) + 1);
    if (!sources.emplace(tensor->name, source).second)
      throw UserError(std::string("input '") + tensor->name +
                      "' is given twice");
  }
  return sources;
}

void check_inputs(const std::map<std::string, std::string> &sources,
                  const std::vector<tinh_tensor_info_t> &tensors) {
  std::string missing;
  for (const tinh_tensor_info_t &tensor : tensors)
    if (!sources.count(tensor.name))
      missing += "\n  --input " + std::string(tensor.name) + "=FILE.npy   (" +
                 type_text(tensor) + "; or =random, =zeros)";
  if (!missing.empty())
    throw UserError("these inputs are missing; give them as" + missing +
                    "\nor all others by --inputs=random, zeros, a folder or "
                    "an .npz file");
}

namespace {

template <typename T, typename Next>
void fill(std::vector<char> &bytes, Next next) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value = static_cast<T>(next());
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

} // namespace

static std::vector<char> random_input(const tinh_tensor_info_t &tensor) {
  std::vector<char> bytes = allocate(tensor, "input");
  Random random(std::string(tensor.name) + ' ' + type_text(tensor));
  auto small = [&] { return random.next() % 10; };
  switch (tensor.dtype) {
  case TINH_DTYPE_F32:
    fill<float>(bytes, [&] { return random.normal(); });
    break;
  case TINH_DTYPE_F64:
    fill<double>(bytes, [&] { return random.normal(); });
    break;
  case TINH_DTYPE_F16:
    fill<uint16_t>(bytes, [&] { return to_f16(float(random.normal())); });
    break;
  case TINH_DTYPE_BF16:
    fill<uint16_t>(bytes, [&] { return to_bf16(float(random.normal())); });
    break;
  case TINH_DTYPE_F8E4M3FN:
    fill<uint8_t>(bytes, [&] { return to_f8(float(random.normal()), 3, 7); });
    break;
  case TINH_DTYPE_F8E4M3FNUZ:
    fill<uint8_t>(bytes, [&] { return to_f8(float(random.normal()), 3, 8); });
    break;
  case TINH_DTYPE_F8E5M2:
    fill<uint8_t>(bytes, [&] { return to_f8(float(random.normal()), 2, 15); });
    break;
  case TINH_DTYPE_F8E5M2FNUZ:
    fill<uint8_t>(bytes, [&] { return to_f8(float(random.normal()), 2, 16); });
    break;
  case TINH_DTYPE_F8E8M0FNU: // From 1/4 to 4, as scales of blocks are.
    fill<uint8_t>(bytes, [&] { return 125 + random.next() % 5; });
    break;
  case TINH_DTYPE_F4E2M1FN:
    fill<uint8_t>(bytes, [&] { return to_f4(float(random.normal())); });
    break;
  case TINH_DTYPE_BOOL:
    fill<uint8_t>(bytes, [&] { return random.next() & 1; });
    break;
  case TINH_DTYPE_I8:
  case TINH_DTYPE_U8:
    fill<uint8_t>(bytes, small);
    break;
  case TINH_DTYPE_I16:
  case TINH_DTYPE_U16:
    fill<uint16_t>(bytes, small);
    break;
  case TINH_DTYPE_I32:
  case TINH_DTYPE_U32:
    fill<uint32_t>(bytes, small);
    break;
  case TINH_DTYPE_I64:
  case TINH_DTYPE_U64:
    fill<uint64_t>(bytes, small);
    break;
  }
  return bytes;
}

std::vector<char> make_input(const tinh_tensor_info_t &tensor,
                             const std::string &source) {
  if (source == "zeros")
    return allocate(tensor, "input");
  if (source == "random")
    return random_input(tensor);
  NpyArray array;
  std::string message;
  if (!read_npy(source, &array, &message))
    throw UserError(std::string("input '") + tensor.name + "': " + message);
  return take_input(tensor, source, std::move(array));
}

/// Gives strings as many bytes as the model has for each, where it has strings.
static void fit_strings(const tinh_tensor_info_t &tensor,
                        const std::string &where, NpyArray &array) {
  if (tensor.dtype != TINH_DTYPE_U8 || tensor.rank != array.dims.size())
    return;
  auto width = static_cast<size_t>(tensor.dims[tensor.rank - 1]);
  auto found = static_cast<size_t>(array.dims.back());
  size_t kept = std::min(width, found), count = array.data.size() / found;
  std::vector<char> data(count * width);
  for (size_t i = 0; i < count; ++i) {
    const char *string = array.data.data() + i * found;
    std::memcpy(data.data() + i * width, string, kept);
    size_t size = found;
    while (size > kept && string[size - 1] == '\0')
      --size;
    if (size > width)
      throw UserError(where + "a string has " + std::to_string(size) +
                      " bytes, and the model takes " + std::to_string(width) +
                      "; compile it with --string-length " + tensor.name + "=" +
                      std::to_string(size));
  }
  array.data = std::move(data);
  array.dims.back() = tensor.dims[tensor.rank - 1];
}

std::vector<char> take_input(const tinh_tensor_info_t &tensor,
                             const std::string &source, NpyArray array) {
  std::string where = std::string("input '") + tensor.name + "': ";
  if (array.is_string)
    fit_strings(tensor, where, array);
  tinh_tensor_info_t found = {};
  found.dtype = array.dtype;
  found.rank = static_cast<uint32_t>(array.dims.size());
  found.dims = array.dims.data();
  if (!can_be(found.dtype, tensor.dtype))
    throw UserError(where + "the model expects dtype " +
                    tinh_dtype_name(tensor.dtype) + ", and '" + source +
                    "' has " + tinh_dtype_name(found.dtype) +
                    "; convert it with numpy.astype");
  if (!std::equal(array.dims.begin(), array.dims.end(), tensor.dims,
                  tensor.dims + tensor.rank))
    throw UserError(where + "the model expects shape " + shape_text(tensor) +
                    ", and '" + source + "' has " + shape_text(found));
  return std::move(array.data);
}

std::string file_of(const tinh_tensor_info_t &tensor) {
  std::string name = tensor.name;
  std::replace(name.begin(), name.end(), '/', '_');
  return name + ".npy";
}

void claim_file(const tinh_tensor_info_t &tensor,
                std::map<std::string, std::string> &tensors,
                const std::string &option, const std::string &folder) {
  std::string file = file_of(tensor);
  const std::string &owner = tensors.emplace(file, tensor.name).first->second;
  if (owner != tensor.name)
    throw UserError(option + ": '" + owner + "' and '" + tensor.name +
                    "' would both be '" + folder + "/" + file +
                    "', as files have _ for each / of a name; rename one of "
                    "them in the model");
}

} // namespace tinh::tools
