//===- npy.cpp - Reading and writing .npy files -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The header is a Python dictionary in one line: {'descr': '<f4',
// 'fortran_order': False, 'shape': (3, 4), }.
//
//===----------------------------------------------------------------------===//
#include "npy.h"

#include "regular_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tinh::tools {

namespace {

struct NpyType {
  const char *descr; ///< Without the byte-order mark.
  tinh_dtype_t dtype;
  size_t size;
};

constexpr NpyType kTypes[] = {
    {"b1", TINH_DTYPE_BOOL, 1},
    {"i1", TINH_DTYPE_I8, 1},
    {"u1", TINH_DTYPE_U8, 1},
    {"i2", TINH_DTYPE_I16, 2},
    {"u2", TINH_DTYPE_U16, 2},
    {"i4", TINH_DTYPE_I32, 4},
    {"u4", TINH_DTYPE_U32, 4},
    {"i8", TINH_DTYPE_I64, 8},
    {"u8", TINH_DTYPE_U64, 8},
    {"f2", TINH_DTYPE_F16, 2},
    {"V2", TINH_DTYPE_BF16, 2},
    {"f4", TINH_DTYPE_F32, 4},
    {"f8", TINH_DTYPE_F64, 8},
    {"V1", TINH_DTYPE_F8E4M3FN, 1},
    {"V1", TINH_DTYPE_F8E4M3FNUZ, 1},
    {"V1", TINH_DTYPE_F8E5M2, 1},
    {"V1", TINH_DTYPE_F8E5M2FNUZ, 1},
    {"V1", TINH_DTYPE_F8E8M0FNU, 1},
    {"V1", TINH_DTYPE_F4E2M1FN, 1},
    {"f1", TINH_DTYPE_F8E5M2, 1}}; // As ml_dtypes writes it, and NumPy cannot.

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicSize = 6;
/// Longer than any header of a plain array.
constexpr uint32_t kMaxHeader = 64u << 10;

} // namespace

bool can_be(tinh_dtype_t found, tinh_dtype_t wanted) {
  const char *descr = nullptr;
  for (const NpyType &type : kTypes)
    if (type.dtype == found)
      descr = type.descr;
  return std::any_of(
      std::begin(kTypes), std::end(kTypes), [&](const NpyType &type) {
        return type.dtype == wanted && std::strcmp(type.descr, descr) == 0;
      });
}

/// The text after `'key':` in the header, or null.
static const char *value_of(const std::string &header, const char *key) {
  size_t at = header.find(std::string("'") + key + "'");
  if (at == std::string::npos)
    return nullptr;
  at = header.find(':', at);
  if (at == std::string::npos)
    return nullptr;
  at = header.find_first_not_of(' ', at + 1);
  return at == std::string::npos ? nullptr : header.c_str() + at;
}

/// What a file's elements are. Strings have a length each, in `size` bytes.
struct NpyElement {
  size_t size = 0;
  char string = 0; ///< 'S' or 'U', if they are strings.
};

/// "|S12", "<U12": so many bytes, or code points of 4 bytes.
static bool parse_string_descr(const std::string &descr,
                               NpyElement *out_element) {
  constexpr size_t kMostDigits = 9;
  size_t digits = descr.size() > 2 ? descr.size() - 2 : 0;
  bool is_bytes = descr.rfind("|S", 0) == 0;
  if (!(is_bytes || descr.rfind("<U", 0) == 0) || digits == 0 ||
      digits > kMostDigits ||
      descr.find_first_not_of("0123456789", 2) != std::string::npos)
    return false;
  out_element->string = descr[1];
  out_element->size = std::stoul(descr.substr(2)) * (is_bytes ? 1 : 4);
  return true;
}

static void append_utf8(uint32_t code, std::string *out_bytes) {
  auto append = [&](uint32_t byte) {
    out_bytes->push_back(static_cast<char>(byte));
  };
  int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint32_t kMarks[] = {0, 0xc0, 0xe0, 0xf0};
  append(kMarks[more] | code >> (6 * more));
  while (more-- > 0)
    append(0x80 | (code >> (6 * more) & 0x3f));
}

/// The string of code points that NUL fills up.
static std::string to_utf8(const char *data, size_t size) {
  std::string bytes;
  for (size_t at = 0; at + 4 <= size; at += 4) {
    uint32_t code;
    std::memcpy(&code, data + at, sizeof code);
    append_utf8(code <= 0x10ffff ? code : 0xfffd, &bytes);
  }
  bytes.erase(bytes.find_last_not_of('\0') + 1);
  return bytes;
}

/// Makes bytes of strings of `element.size` bytes each.
static void spread_strings(const NpyElement &element, NpyArray *array) {
  size_t width = std::max<size_t>(element.size, 1);
  if (element.string == 'U') {
    std::vector<std::string> strings;
    width = 1;
    for (size_t at = 0; element.size && at < array->data.size();
         at += element.size) {
      strings.push_back(to_utf8(array->data.data() + at, element.size));
      width = std::max(width, strings.back().size());
    }
    array->data.assign(strings.size() * width, '\0');
    for (size_t i = 0; i < strings.size(); ++i)
      std::copy(strings[i].begin(), strings[i].end(),
                array->data.begin() + static_cast<ptrdiff_t>(i * width));
  }
  if (element.size == 0) { // All of them are empty.
    uint64_t count = 1;
    for (int64_t dim : array->dims)
      count *= static_cast<uint64_t>(dim);
    array->data.assign(count, '\0');
  }
  array->dtype = TINH_DTYPE_U8;
  array->is_string = true;
  array->dims.push_back(static_cast<int64_t>(width));
}

static bool parse_descr(const std::string &header, NpyArray *out_array,
                        NpyElement *out_element, std::string *out_why) {
  const char *value = value_of(header, "descr");
  const char *end =
      value && *value == '\'' ? std::strchr(value + 1, '\'') : nullptr;
  if (!end) {
    *out_why = "its header has no simple 'descr'";
    return false;
  }
  std::string descr(value + 1, end);
  for (const NpyType &type : kTypes) {
    if (descr.size() != 3 || descr.substr(1) != type.descr)
      continue;
    if (descr[0] == '>' && type.size > 1)
      break;
    out_array->dtype = type.dtype;
    out_element->size = type.size;
    return true;
  }
  if (parse_string_descr(descr, out_element))
    return true;
  *out_why = "its element type '" + descr + "' is not supported";
  return false;
}

/// A tuple of Python's: numbers with commas between them, and one behind a
/// single number.
static bool parse_shape(const std::string &header, NpyArray *out_array) {
  const char *at = value_of(header, "shape");
  if (!at || *at++ != '(')
    return false;
  auto skip = [&](char c) {
    at += std::strspn(at, " ");
    bool found = *at == c;
    at += found;
    return found;
  };
  std::vector<int64_t> &dims = out_array->dims;
  for (bool more = true; !skip(')');) {
    char *end = nullptr;
    errno = 0;
    long long dim = std::strtoll(at, &end, 10);
    if (!more || end == at || errno || dim < 0)
      return false;
    dims.push_back(dim);
    at = end;
    more = skip(',');
    if (!more && dims.size() == 1)
      return false;
  }
  return true;
}

/// What the header has as a shape, for messages, which it may be too long for.
static std::string shape_text(const std::string &header) {
  const char *shape = value_of(header, "shape");
  if (!shape)
    return "nothing";
  std::string text(shape, std::strcspn(shape, ")}\n"));
  constexpr size_t kMost = 80;
  if (text.size() > kMost)
    return text.substr(0, kMost) + "…";
  return text + (std::strchr(shape, ')') ? ")" : "");
}

/// Bytes of the whole array; false if they overflow.
static bool total_size(const NpyArray &array, size_t element,
                       uint64_t *out_size) {
  *out_size = element;
  for (int64_t dim : array.dims)
    if (__builtin_mul_overflow(*out_size, static_cast<uint64_t>(dim), out_size))
      return false;
  return true;
}

static bool read_header(std::istream &file, std::string *out_header) {
  char start[kMagicSize + 2];
  if (!file.read(start, sizeof start) ||
      std::memcmp(start, kMagic, kMagicSize) != 0)
    return false;
  unsigned char length[4] = {};
  int bytes = start[kMagicSize] == 1 ? 2 : 4;
  if (start[kMagicSize] < 1 || start[kMagicSize] > 3 ||
      !file.read(reinterpret_cast<char *>(length), bytes))
    return false;
  uint32_t size = 0;
  for (int i = 0; i < bytes; ++i)
    size |= uint32_t(length[i]) << (8 * i);
  if (size > kMaxHeader)
    return false;
  out_header->resize(size);
  return static_cast<bool>(file.read(out_header->data(), size));
}

/// What a file says before its elements, which are the next `size` bytes.
struct NpyStart {
  NpyArray array;
  NpyElement element;
  uint64_t size = 0;
};

static std::string truncated(uint64_t needed, uint64_t found) {
  return "it is truncated: its shape needs " + std::to_string(needed) +
         " bytes of data, and it has " + std::to_string(found);
}

/// Reads it from `file`, which is at its begin and has `file_size` bytes.
static bool read_start(std::istream &file, uint64_t file_size,
                       NpyStart *out_start, std::string *out_why) {
  auto fail = [&](const std::string &why) {
    *out_why = why;
    return false;
  };
  std::string header;
  if (!read_header(file, &header))
    return fail("it is not a .npy file");
  auto &[array, element, size] = *out_start;
  if (!parse_descr(header, &array, &element, out_why))
    return false;
  if (!parse_shape(header, &array))
    return fail("its header has " + shape_text(header) +
                " as 'shape'; expected a tuple such as (), (3,) or (20, 6)");
  // Empty strings take no bytes, and some when they are spread.
  if (!total_size(array, std::max<size_t>(element.size, 1), &size))
    return fail("its shape is too large");
  const char *order = value_of(header, "fortran_order");
  bool fortran = !order || std::strncmp(order, "False", 5) != 0;
  if (fortran && array.dims.size() > 1)
    return fail("it is in Fortran order; save it again through "
                "numpy.ascontiguousarray");
  if (element.size == 0) {
    constexpr uint64_t kMostEmpty = 1u << 24;
    if (size > kMostEmpty)
      return fail("it has more than " + std::to_string(kMostEmpty) +
                  " empty strings");
    size = 0;
  }
  auto begin = static_cast<uint64_t>(file.tellg());
  if (file_size - begin < size)
    return fail(truncated(size, file_size - begin));
  return true;
}

/// Reads an array from `file`, which is at its begin and has `file_size` bytes.
static bool read_array(std::istream &file, uint64_t file_size,
                       NpyArray *out_array, std::string *out_why) {
  NpyStart start;
  if (!read_start(file, file_size, &start, out_why))
    return false;
  auto &[array, element, size] = start;
  array.data.resize(size);
  if (!file.read(array.data.data(), static_cast<std::streamsize>(size))) {
    *out_why = std::strerror(errno);
    return false;
  }
  if (element.string)
    spread_strings(element, &array);
  *out_array = std::move(array);
  return true;
}

/// Maps the `size` bytes of `path` from `offset` on.
static std::shared_ptr<char> map_file(const std::string &path, uint64_t offset,
                                      uint64_t size, std::string *out_why) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  uint64_t whole = offset + size; // Maps begin at pages.
  // The name may be another file's since the header was read.
  struct stat status = {};
  bool is_open = file >= 0 && fstat(file, &status) == 0;
  auto found = static_cast<uint64_t>(status.st_size);
  bool is_whole = is_open && found >= whole;
  // Larger files than there is memory may be mapped, too.
  void *base = is_whole ? mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_NORESERVE, file, 0)
                        : MAP_FAILED;
  *out_why = is_open && !is_whole
                 ? truncated(size, found - std::min(found, offset))
                 : std::strerror(errno);
  if (file >= 0)
    close(file);
  if (base == MAP_FAILED)
    return nullptr;
  std::shared_ptr<void> mapping(base, [whole](void *at) { munmap(at, whole); });
  return {mapping, static_cast<char *>(base) + offset};
}

static void say_unread(const std::string &name, std::string *message) {
  *message = "cannot read '" + name + "': " + *message;
}

bool read_npy(const std::string &path, NpyArray *out_array,
              std::string *out_message) {
  if (is_no_regular_file(path)) {
    *out_message = kNoRegularFile;
    say_unread(path, out_message);
    return false;
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  *out_message = std::strerror(errno);
  auto size = file ? static_cast<uint64_t>(file.tellg()) : 0;
  if (file && read_array(file.seekg(0), size, out_array, out_message))
    return true;
  say_unread(path, out_message);
  return false;
}

bool map_npy(const std::string &path, NpyArray *out_array,
             std::string *out_message) {
  // What is wrong is said by who reads it; opening a pipe waits for a writer.
  if (is_no_regular_file(path))
    return read_npy(path, out_array, out_message);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  auto file_size = file ? static_cast<uint64_t>(file.tellg()) : 0;
  NpyStart start;
  if (!file || file_size == 0 ||
      !read_start(file.seekg(0), file_size, &start, out_message) ||
      start.size == 0 || start.element.string)
    return read_npy(path, out_array, out_message);
  auto begin = static_cast<uint64_t>(file.tellg());
  start.array.mapped = map_file(path, begin, start.size, out_message);
  start.array.mapped_size = start.size;
  if (!start.array.mapped) {
    say_unread(path, out_message);
    return false;
  }
  *out_array = std::move(start.array);
  return true;
}

bool parse_npy(const std::string &bytes, const std::string &name,
               NpyArray *out_array, std::string *out_message) {
  std::istringstream file(bytes);
  if (read_array(file, bytes.size(), out_array, out_message))
    return true;
  say_unread(name, out_message);
  return false;
}

static std::string make_header(tinh_dtype_t dtype,
                               const std::vector<int64_t> &dims) {
  std::string text = "{'descr': '";
  auto type = std::find_if(
      std::begin(kTypes), std::end(kTypes),
      [&](const NpyType &candidate) { return candidate.dtype == dtype; });
  text.append(type->size == 1 ? "|" : "<").append(type->descr);
  text += "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < dims.size(); ++i)
    text.append(i ? ", " : "").append(std::to_string(dims[i]));
  text += dims.size() == 1 ? ",), }" : "), }";
  // Data starts at a multiple of 64.
  constexpr size_t kPrefix = kMagicSize + 4;
  text.append(63 - (kPrefix + text.size()) % 64, ' ');
  return text + '\n';
}

bool write_npy(const std::string &path, tinh_dtype_t dtype,
               const std::vector<int64_t> &dims, const void *data, size_t size,
               std::string *out_message) {
  std::string header = make_header(dtype, dims);
  const char start[] = {'\x93',
                        'N',
                        'U',
                        'M',
                        'P',
                        'Y',
                        1,
                        0,
                        static_cast<char>(header.size() & 0xff),
                        static_cast<char>(header.size() >> 8)};
  FILE *file = std::fopen(path.c_str(), "wb");
  bool written =
      file && std::fwrite(start, 1, sizeof start, file) == sizeof start &&
      std::fwrite(header.data(), 1, header.size(), file) == header.size() &&
      std::fwrite(data, 1, size, file) == size;
  int error = errno;
  if (file && std::fclose(file) != 0 && written) {
    written = false;
    error = errno;
  }
  if (written)
    return true;
  *out_message = "cannot write '" + path + "': " + std::strerror(error);
  if (file)
    std::remove(path.c_str());
  return false;
}

} // namespace tinh::tools
