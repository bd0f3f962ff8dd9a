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
//===----------------------------------------------------------------------===//
#include "files/tensor_file.h"
#include "files/tensor_file_json.h"
#include "support/error.h"

#include <algorithm>
#include <set>

namespace tinh::runtime {
namespace {

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

[[noreturn]] void malformed(std::initializer_list<Part> why) {
  throw_error(TINH_INVALID_FILE, why);
}

std::string in_quotes(const std::string &name) {
  return message_of({"\"", name, "\""});
}

const char *text_of(JsonReader::Kind kind) {
  using Kind = JsonReader::Kind;
  switch (kind) {
  case Kind::object:
    return "an object";
  case Kind::array:
    return "an array";
  case Kind::string:
    return "a text";
  case Kind::integer:
    return "a number";
  case Kind::negative:
    return "a negative number";
  case Kind::large:
    return "a number beyond any memory";
  case Kind::fraction:
    return "a fraction";
  case Kind::boolean:
    return "a truth value";
  case Kind::null:
    break;
  }
  return "null";
}

/// The most that a tensor may have.
constexpr size_t kMostDimensions = 64;

/// A tensor as the header has it.
struct Entry {
  std::string name, dtype;
  std::vector<int64_t> shape, offsets;
};

/// Reads what a header says, with a function for each object and array that it
/// may have: nothing nests deeper.
class HeaderReader {
public:
  explicit HeaderReader(std::string_view header)
      : json(header, sizeof(uint64_t)) {}

  std::vector<Entry> entries;
  std::vector<TensorFile::Metadata> metadata;

  void read() {
    if (json.read_value() != Kind::object)
      malformed({"malformed header: expected an object"});
    Names names;
    while (json.next_key()) {
      std::string name = new_key(names);
      if (name == kMetadataKey)
        read_metadata();
      else
        read_tensor(std::move(name));
    }
    json.end();
  }

private:
  using Kind = JsonReader::Kind;
  using Names = std::set<std::string>;

  std::string new_key(Names &names) {
    std::string key = json.take_text();
    if (key.find('\0') != std::string::npos) // The rest of it would be lost.
      malformed(
          {"the key ", in_quotes(key.c_str()), " goes on behind \\u0000"});
    if (!names.insert(key).second)
      malformed({"the key ", in_quotes(key), " is given twice"});
    return key;
  }

  /// Reads a value of this kind. `where` is for errors.
  void read(Kind expected, const std::string &where) {
    Kind kind = json.read_value();
    if (kind != expected)
      malformed({where, ": unexpected, ", text_of(kind)});
  }

  void read_metadata() {
    read(Kind::object, in_quotes(kMetadataKey));
    Names keys;
    while (json.next_key()) {
      std::string key = new_key(keys);
      read(Kind::string, in_quotes(key));
      metadata.push_back({std::move(key), json.take_text()});
    }
  }

  /// Each of its keys, once.
  void read_tensor(std::string name) {
    enum Key : unsigned { kUnknown, kDtype, kShape = 2, kOffsets = 4 };
    read(Kind::object, in_quotes(name));
    std::string prefix = message_of({"tensor \"", name, "\": "});
    Entry &entry = entries.emplace_back();
    entry.name = std::move(name);
    unsigned keys = 0;
    while (json.next_key()) {
      std::string text = json.take_text(), where = prefix + text;
      unsigned key = text == "dtype"          ? kDtype
                     : text == "shape"        ? kShape
                     : text == "data_offsets" ? kOffsets
                                              : kUnknown;
      if (key == kUnknown || (keys & key))
        malformed({prefix, "the key ", in_quotes(text),
                   key ? " is given twice" : " is unknown"});
      keys |= key;
      if (key == kDtype) {
        read(Kind::string, where);
        entry.dtype = json.take_text();
      } else {
        if (key == kShape)
          read_numbers(entry.shape, kMostDimensions, where);
        else
          read_numbers(entry.offsets, 2, where);
      }
    }
    if (keys != (kDtype | kShape | kOffsets))
      malformed({prefix, "expected dtype, shape and data_offsets"});
  }

  void read_numbers(std::vector<int64_t> &numbers, size_t most,
                    const std::string &where) {
    read(Kind::array, where);
    while (json.next_element()) {
      if (numbers.size() == most)
        malformed({where, ": expected ", most, " numbers at most"});
      read(Kind::integer, where);
      numbers.push_back(json.number());
    }
  }

  JsonReader json;
};

/// Its bytes must be as many as dtype and shape ask for.
void check_size(const Entry &entry, const TensorFile::Tensor &tensor) {
  uint64_t size = tinh_dtype_size(tensor.dtype);
  bool empty = std::count(tensor.dims.begin(), tensor.dims.end(), 0) > 0;
  for (int64_t dim : tensor.dims)
    if (!empty &&
        __builtin_mul_overflow(size, static_cast<uint64_t>(dim), &size))
      malformed({"tensor \"", tensor.name, "\": the shape ",
                 text_of(entry.shape), " is beyond any memory"});
  if (empty)
    size = 0;
  if (tensor.end - tensor.begin != size)
    malformed({"tensor \"", tensor.name, "\": expected ", size, " bytes for ",
               entry.dtype, " ", text_of(entry.shape), ", found ",
               tensor.end - tensor.begin});
}

TensorFile::Tensor check_entry(const Entry &entry, uint64_t data_size) {
  auto known = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                            [&](auto &row) { return entry.dtype == row.name; });
  if (known == std::end(kDtypes))
    malformed({"tensor \"", entry.name, "\": dtype ", entry.dtype,
               " is not supported"});
  const std::vector<int64_t> &offsets = entry.offsets;
  if (offsets.size() != 2 || offsets[1] < offsets[0] ||
      static_cast<uint64_t>(offsets[1]) > data_size)
    malformed({"tensor \"", entry.name, "\": data_offsets ", text_of(offsets),
               " lie outside the ", data_size, " bytes of data"});
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
    auto begins = [&](std::initializer_list<Part> where) {
      malformed({"tensor \"", tensor.name, "\" begins at byte ", tensor.begin,
                 " of the data, ", message_of(where)});
    };
    if (tensor.begin < end)
      begins({"within the one before it"});
    if (tensor.begin > end)
      begins({"behind a gap from byte ", end});
    end = tensor.end;
  }
  if (end != data_size)
    malformed(
        {"its tensors have ", end, " bytes, and ", data_size, " are there"});
}

} // namespace

void parse_tensors_header(std::string_view header, uint64_t data_size,
                          std::vector<TensorFile::Tensor> &tensors,
                          std::vector<TensorFile::Metadata> &metadata) {
  HeaderReader reader(header);
  reader.read();
  std::vector<TensorFile::Tensor> found;
  for (const Entry &entry : reader.entries)
    found.push_back(check_entry(entry, data_size));
  std::vector<TensorFile::Tensor *> sorted; // Small things are cheap to move.
  for (TensorFile::Tensor &tensor : found)
    sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(), [](const auto *a, const auto *b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  for (TensorFile::Tensor *tensor : sorted)
    tensors.push_back(std::move(*tensor));
  check_places(tensors, data_size);
  metadata = std::move(reader.metadata);
}

/// `"key":"value",…`, of keys that differ: what has one twice cannot be read.
static std::string members_of(MetadataToWrite metadata) {
  std::string text;
  std::set<std::string> keys;
  for (const auto &[key, value] : metadata) {
    if (!key || !value)
      throw_error(TINH_INVALID_ARGUMENT,
                  {key ? "a value" : "a key", " of the metadata is NULL"});
    if (!keys.insert(key).second)
      throw_error(TINH_INVALID_ARGUMENT,
                  {"the metadata has the key '", key, "' twice"});
    text += message_of(
        {text.empty() ? "" : ",", json_string(key), ":", json_string(value)});
  }
  return text;
}

std::string make_tensors_header(TensorsToWrite tensors,
                                MetadataToWrite metadata, uint64_t alignment) {
  std::string text = "{";
  if (!metadata.empty())
    text += message_of({"\"", kMetadataKey, "\":{", members_of(metadata), "}"});
  uint64_t end = 0;
  std::set<std::string> names;
  for (const tinh_safetensors_tensor_t &tensor : tensors) {
    const tinh_tensor_info_t &type = tensor.type;
    auto row = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                            [&](auto &row) { return type.dtype == row.dtype; });
    if (row == std::end(kDtypes))
      throw_error(TINH_INVALID_ARGUMENT,
                  {"tensor '", type.name, "' has no known dtype"});
    if (type.name == std::string(kMetadataKey) ||
        !names.insert(type.name).second)
      throw_error(TINH_INVALID_ARGUMENT,
                  {"no two tensors, and none but the metadata, may "
                   "have the name '",
                   type.name, "'"});
    text += message_of(
        {text.size() > 1 ? "," : "", json_string(type.name), ":{\"dtype\":\"",
         row->name,
         "\",\"shape\":", text_of({type.dims, type.dims + type.rank}),
         ",\"data_offsets\":[", end, ", ", end + type.size, "]}"});
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
