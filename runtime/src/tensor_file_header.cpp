//===- tensor_file_header.cpp - The header of a .safetensors file ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// {"__metadata__": {"key": "text"},
//  "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
//
// The parser calls back for each token, so no tree is built and nothing nests
// deeper than it may.
//
//===----------------------------------------------------------------------===//
#include "error.h"
#include "tensor_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace tinh::runtime {
namespace {

using Json = nlohmann::json;

constexpr char kMetadataKey[] = "__metadata__";

constexpr struct {
  const char *name;
  tinh_dtype_t dtype;
} kDtypes[] = {{"F64", TINH_DTYPE_F64},
               {"F32", TINH_DTYPE_F32},
               {"F16", TINH_DTYPE_F16},
               {"BF16", TINH_DTYPE_BF16},
               {"I64", TINH_DTYPE_I64},
               {"I32", TINH_DTYPE_I32},
               {"I16", TINH_DTYPE_I16},
               {"I8", TINH_DTYPE_I8},
               {"U64", TINH_DTYPE_U64},
               {"U32", TINH_DTYPE_U32},
               {"U16", TINH_DTYPE_U16},
               {"U8", TINH_DTYPE_U8},
               {"BOOL", TINH_DTYPE_BOOL},
               {"F8_E4M3", TINH_DTYPE_F8E4M3FN},
               {"F8_E4M3FNUZ", TINH_DTYPE_F8E4M3FNUZ},
               {"F8_E5M2", TINH_DTYPE_F8E5M2},
               {"F8_E5M2FNUZ", TINH_DTYPE_F8E5M2FNUZ},
               {"F8_E8M0", TINH_DTYPE_F8E8M0FNU}};

std::string text_of(const std::vector<int64_t> &numbers) {
  std::string text = "[";
  for (int64_t number : numbers)
    text.append(text.size() > 1 ? ", " : "").append(std::to_string(number));
  return text + ']';
}

/// A tensor as the header has it.
enum Key : unsigned {
  kUnknown,
  kDtype = 1,
  kShape = 2,
  kOffsets = 4,
  kAllKeys = 7
};
struct Entry {
  std::string name, dtype;
  std::vector<int64_t> shape, offsets;
  unsigned keys = 0; ///< Those that it has.
};

/// What nlohmann::json's parser calls. The current place in the header is all
/// that it must remember.
class Handler {
public:
  std::vector<Entry> entries;
  std::vector<TensorFile::Metadata> metadata;
  std::string error;

  bool key(std::string &text) {
    current = text;
    if (place == Place::tensor)
      return count_key();
    if (!names(place).insert(text).second)
      return fail("the key \"" + text + "\" is given twice");
    if (place == Place::top && text != kMetadataKey)
      entries.push_back({text, {}, {}, {}});
    return true;
  }

  bool start_object(size_t) {
    if (place == Place::start)
      place = Place::top;
    else if (place == Place::top)
      place = current == kMetadataKey ? Place::metadata : Place::tensor;
    else
      return misplaced("an object");
    return true;
  }

  bool end_object() {
    if (place == Place::tensor && entries.back().keys != kAllKeys)
      return fail("tensor \"" + entries.back().name +
                  "\": expected dtype, shape and data_offsets");
    place = place == Place::top ? Place::end : Place::top;
    return true;
  }

  bool start_array(size_t) {
    if (place != Place::tensor || current == "dtype")
      return misplaced("an array");
    place = current == "shape" ? Place::shape : Place::offsets;
    return true;
  }

  bool end_array() {
    place = Place::tensor;
    return true;
  }

  bool string(std::string &text) {
    if (place == Place::metadata)
      metadata.push_back({current, text});
    else if (place == Place::tensor && current == "dtype")
      entries.back().dtype = text;
    else
      return misplaced("a text");
    return true;
  }

  bool number_unsigned(uint64_t number) {
    if (number > INT64_MAX)
      return misplaced("a number beyond any memory");
    return number_integer(static_cast<int64_t>(number));
  }

  bool number_integer(int64_t number) {
    if (place != Place::shape && place != Place::offsets)
      return misplaced("a number");
    if (number < 0)
      return misplaced("a negative number");
    auto &numbers =
        place == Place::shape ? entries.back().shape : entries.back().offsets;
    numbers.push_back(number);
    return true;
  }

  bool number_float(double, const std::string &) {
    return misplaced("a fraction");
  }
  bool null() { return misplaced("null"); }
  bool boolean(bool) { return misplaced("a truth value"); }
  bool binary(Json::binary_t &) { return misplaced("binary data"); }

  bool parse_error(size_t position, const std::string &,
                   const Json::exception &) {
    return fail("malformed header at byte " + std::to_string(8 + position));
  }

private:
  enum class Place { start, top, metadata, tensor, shape, offsets, end };

  bool fail(std::string text) {
    error = std::move(text);
    return false;
  }

  bool misplaced(const char *what) {
    if (place == Place::start)
      return fail("malformed header: expected an object");
    std::string where =
        place == Place::top || place == Place::metadata
            ? "\"" + current + "\""
            : "tensor \"" + entries.back().name + "\": " + current;
    return fail(where + ": unexpected, " + what);
  }

  /// Each of a tensor's keys, once.
  bool count_key() {
    Entry &entry = entries.back();
    unsigned key = current == "dtype"          ? kDtype
                   : current == "shape"        ? kShape
                   : current == "data_offsets" ? kOffsets
                                               : kUnknown;
    if (key == kUnknown || (entry.keys & key))
      return fail("tensor \"" + entry.name + "\": the key \"" + current +
                  (key == kUnknown ? "\" is unknown" : "\" is given twice"));
    entry.keys |= key;
    return true;
  }

  std::unordered_set<std::string> &names(Place where) {
    return where == Place::metadata ? metadata_keys : tensor_names;
  }

  Place place = Place::start;
  std::string current; ///< Key.
  std::unordered_set<std::string> tensor_names, metadata_keys;
};

Error malformed(const std::string &why) { return {TINH_INVALID_FILE, why}; }

/// Its bytes must be as many as dtype and shape ask for.
void check_size(const Entry &entry, const TensorFile::Tensor &tensor) {
  uint64_t size = tinh_dtype_size(tensor.dtype);
  bool empty = std::count(tensor.dims.begin(), tensor.dims.end(), 0) > 0;
  for (int64_t dim : tensor.dims)
    if (!empty &&
        __builtin_mul_overflow(size, static_cast<uint64_t>(dim), &size))
      throw malformed("tensor \"" + tensor.name + "\": the shape " +
                      text_of(entry.shape) + " is beyond any memory");
  if (empty)
    size = 0;
  if (tensor.end - tensor.begin != size)
    throw malformed("tensor \"" + tensor.name + "\": expected " +
                    std::to_string(size) + " bytes for " + entry.dtype + ' ' +
                    text_of(entry.shape) + ", found " +
                    std::to_string(tensor.end - tensor.begin));
}

TensorFile::Tensor check_entry(const Entry &entry, uint64_t data_size) {
  auto known = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                            [&](auto &row) { return entry.dtype == row.name; });
  if (known == std::end(kDtypes))
    throw malformed("tensor \"" + entry.name + "\": dtype " + entry.dtype +
                    " is not supported");
  const std::vector<int64_t> &offsets = entry.offsets;
  if (offsets.size() != 2 || offsets[1] < offsets[0] ||
      static_cast<uint64_t>(offsets[1]) > data_size)
    throw malformed("tensor \"" + entry.name + "\": data_offsets " +
                    text_of(offsets) + " lie outside the " +
                    std::to_string(data_size) + " bytes of data");
  TensorFile::Tensor tensor = {entry.name, known->dtype, entry.shape,
                               static_cast<uint64_t>(offsets[0]),
                               static_cast<uint64_t>(offsets[1])};
  check_size(entry, tensor);
  return tensor;
}

/// They must cover the data without gaps.
void check_places(const std::vector<TensorFile::Tensor> &tensors,
                  uint64_t data_size) {
  uint64_t end = 0;
  for (const TensorFile::Tensor &tensor : tensors) {
    if (tensor.begin != end)
      throw malformed("tensor \"" + tensor.name + "\" begins at byte " +
                      std::to_string(tensor.begin) + " of the data, " +
                      (tensor.begin < end ? "within the one before it"
                                          : "behind a gap from byte ") +
                      (tensor.begin < end ? "" : std::to_string(end)));
    end = tensor.end;
  }
  if (end != data_size)
    throw malformed("its tensors have " + std::to_string(end) + " bytes, and " +
                    std::to_string(data_size) + " are there");
}

} // namespace

void parse_tensors_header(std::string_view header, uint64_t data_size,
                          std::vector<TensorFile::Tensor> &tensors,
                          std::vector<TensorFile::Metadata> &metadata) {
  Handler handler;
  if (!Json::sax_parse(header.begin(), header.end(), &handler))
    throw malformed(handler.error);
  for (const Entry &entry : handler.entries)
    tensors.push_back(check_entry(entry, data_size));
  std::sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_places(tensors, data_size);
  metadata = std::move(handler.metadata);
}

/// As JSON; throws INVALID_ARGUMENT unless it is UTF-8.
static std::string quoted(const char *text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception &) {
    throw Error(TINH_INVALID_ARGUMENT,
                std::string("the text '") + text + "' is not UTF-8");
  }
}

/// `"key":"value",…`, of keys that differ: what has one twice cannot be read.
static std::string quoted(MetadataToWrite metadata) {
  std::string text;
  std::unordered_set<std::string> keys;
  for (const auto &[key, value] : metadata) {
    if (!key || !value)
      throw Error(TINH_INVALID_ARGUMENT,
                  std::string(key ? "a value" : "a key") +
                      " of the metadata is NULL");
    if (!keys.insert(key).second)
      throw Error(TINH_INVALID_ARGUMENT,
                  std::string("the metadata has the key '") + key + "' twice");
    text += (text.empty() ? "" : ",") + quoted(key) + ':' + quoted(value);
  }
  return text;
}

std::string make_tensors_header(TensorsToWrite tensors,
                                MetadataToWrite metadata, uint64_t alignment) {
  std::string text = "{";
  if (!metadata.empty())
    text += std::string("\"") + kMetadataKey + "\":{" + quoted(metadata) + '}';
  uint64_t end = 0;
  std::unordered_set<std::string> names;
  for (const tinh_safetensors_tensor_t &tensor : tensors) {
    const tinh_tensor_info_t &type = tensor.type;
    auto row = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                            [&](auto &row) { return type.dtype == row.dtype; });
    if (row == std::end(kDtypes))
      throw Error(TINH_INVALID_ARGUMENT,
                  std::string("tensor '") + type.name + "' has no known dtype");
    if (type.name == std::string(kMetadataKey) ||
        !names.insert(type.name).second)
      throw Error(TINH_INVALID_ARGUMENT,
                  std::string("no two tensors, and none but the metadata, may "
                              "have the name '") +
                      type.name + "'");
    text += (text.size() > 1 ? "," : "") + quoted(type.name) +
            ":{\"dtype\":\"" + row->name +
            "\",\"shape\":" + text_of({type.dims, type.dims + type.rank}) +
            ",\"data_offsets\":" +
            text_of({static_cast<int64_t>(end),
                     static_cast<int64_t>(end + type.size)}) +
            '}';
    end += type.size;
  }
  text += '}';
  uint64_t whole =
      (sizeof whole + text.size() + alignment - 1) / alignment * alignment;
  text.resize(whole - sizeof whole, ' ');
  uint64_t length = text.size();
  return std::string(reinterpret_cast<const char *>(&length), sizeof length) +
         text;
}

} // namespace tinh::runtime
