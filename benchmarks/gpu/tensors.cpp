//===- tensors.cpp - Tensors in files ---------------------------*- C++ -*-===//
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
#include "tensors.h"

#include "half.h"
#include "inputs.h"
#include "npy.h"
#include "random.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tinh::benchmarks {
namespace {

using tools::UserError;

float from_f16(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float value = exponent == 0 ? std::ldexp(float(mantissa), -24)
                : exponent == 31
                    ? (mantissa ? NAN : INFINITY)
                    : std::ldexp(float(mantissa + 1024), exponent - 25);
  return bits >> 15 ? -value : value;
}

float from_bf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

template <typename T, typename Convert>
std::vector<double> convert(const std::string &bytes, Convert convert) {
  std::vector<double> values;
  values.reserve(bytes.size() / sizeof(T));
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    values.push_back(static_cast<double>(convert(value)));
  }
  return values;
}

/// `dtype` as the runtime calls it: f32.
std::vector<double> numbers(const std::string &dtype, const std::string &bytes,
                            const std::string &path) {
  auto same = [](auto value) { return value; };
  if (dtype == "f64")
    return convert<double>(bytes, same);
  if (dtype == "f32")
    return convert<float>(bytes, same);
  if (dtype == "f16")
    return convert<uint16_t>(bytes, from_f16);
  if (dtype == "bf16")
    return convert<uint16_t>(bytes, from_bf16);
  if (dtype == "i64")
    return convert<int64_t>(bytes, same);
  if (dtype == "i32")
    return convert<int32_t>(bytes, same);
  if (dtype == "i8")
    return convert<int8_t>(bytes, same);
  if (dtype == "u8" || dtype == "bool")
    return convert<uint8_t>(bytes, same);
  throw UserError("'" + path + "' has a tensor of type " + dtype +
                  ", which is not compared");
}

/// "F32" and "BOOL" as the runtime calls them.
std::string runtime_name(std::string dtype) {
  for (char &c : dtype)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return dtype;
}

struct Entry {
  std::string name, dtype;
  uint64_t begin = 0, end = 0;
};

struct Header {
  std::vector<Entry> entries; ///< In the order of their bytes.
  std::map<std::string, std::string> metadata;
};

Header parse_header(const std::string &text, const std::string &path) {
  Header header;
  try {
    nlohmann::json json = nlohmann::json::parse(text);
    for (auto &[name, value] : json.items())
      if (name == "__metadata__") {
        header.metadata = value;
      } else {
        const auto &offsets = value.at("data_offsets");
        header.entries.push_back({name, runtime_name(value.at("dtype")),
                                  offsets.at(0), offsets.at(1)});
      }
  } catch (const nlohmann::json::exception &error) {
    throw UserError("'" + path +
                    "' has no header of .safetensors: " + error.what());
  }
  std::sort(header.entries.begin(), header.entries.end(),
            [](auto &a, auto &b) { return a.begin < b.begin; });
  return header;
}

std::string read_bytes(std::ifstream &file, uint64_t size,
                       const std::string &path) {
  std::error_code error;
  std::string bytes;
  // A wrong size must not be allocated.
  if (size <= std::filesystem::file_size(path, error) && !error) {
    bytes.resize(size);
    if (file.read(bytes.data(), static_cast<std::streamsize>(size)))
      return bytes;
  }
  throw UserError("'" + path + "' cannot be read, or ends too early");
}

Tensors read_safetensors(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  uint64_t size = 0;
  std::memcpy(&size, read_bytes(file, sizeof size, path).data(), sizeof size);
  Header header = parse_header(read_bytes(file, size, path), path);
  Tensors tensors;
  for (const Entry &entry : header.entries) {
    file.seekg(static_cast<std::streamoff>(sizeof size + size + entry.begin));
    tensors[entry.name] = numbers(
        entry.dtype, read_bytes(file, entry.end - entry.begin, path), path);
  }
  return tensors;
}

/// `size` bytes of elements of that type.
std::string draw(const std::string &dtype, uint64_t size, double mean,
                 double spread, tools::Random random) {
  std::string bytes(size, '\0');
  auto fill = [&](auto convert) {
    using T = decltype(convert(0.0f));
    for (size_t at = 0; at + sizeof(T) <= size; at += sizeof(T)) {
      T value = convert(float(mean + spread * random.normal()));
      std::memcpy(bytes.data() + at, &value, sizeof value);
    }
  };
  if (spread == 0 && mean == 0)
    return bytes; // Of any type.
  if (dtype == "f32")
    fill([](float value) { return value; });
  else if (dtype == "f16")
    fill(tools::to_f16);
  else if (dtype == "bf16")
    fill(tools::to_bf16);
  else
    throw UserError("tensors of type " + dtype + " cannot be drawn");
  return bytes;
}

} // namespace

Tensors read_tensors(const std::string &path) {
  if (std::filesystem::path(path).extension() == ".safetensors")
    return read_safetensors(path);
  tools::NpyArray array;
  std::string message;
  if (!tools::read_npy(path, &array, &message))
    throw UserError(message);
  return {{"", numbers(tinh_dtype_name(array.dtype),
                       {array.data.begin(), array.data.end()}, path)}};
}

void write_random_tensors(const std::string &header_path, uint64_t seed,
                          const std::string &path) {
  std::ifstream source(header_path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(source), {});
  if (!source)
    throw UserError("cannot read '" + header_path + "'");
  Header header = parse_header(text, header_path);
  std::ofstream file(path, std::ios::binary);
  uint64_t size = text.size();
  file.write(reinterpret_cast<const char *>(&size), sizeof size);
  file << text;
  for (const Entry &entry : header.entries) {
    std::istringstream shape(header.metadata[entry.name]);
    double mean = 0, spread = 0;
    if (!(shape >> mean >> spread))
      throw UserError("'" + header_path + "' has no mean and spread of '" +
                      entry.name + "'");
    tools::Random random(std::to_string(seed) + ' ' + entry.name);
    file << draw(entry.dtype, entry.end - entry.begin, mean, spread, random);
  }
  if (!file.flush())
    throw UserError("cannot write '" + path + "'");
}

} // namespace tinh::benchmarks
