//===- safetensors_test.cpp - Files of named tensors ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is written is read back; what is malformed is refused with a reason.
//
//===----------------------------------------------------------------------===//
#include "trainer.h"

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sys/file.h>
#include <unistd.h>

namespace {

class Safetensors : public testing::Test {
protected:
  Safetensors() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tinh-tensors-XXXXXX")
            .string();
    folder = mkdtemp(pattern.data());
    path = (folder / "file.safetensors").string();
  }
  ~Safetensors() override { std::filesystem::remove_all(folder); }

  void write_bytes(const std::string &bytes) const {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::string read_bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// A file of this header and so many bytes.
  void write(const std::string &header, size_t size) const {
    uint64_t length = header.size();
    write_bytes(std::string(reinterpret_cast<char *>(&length), 8) + header +
                std::string(size, 'd'));
  }

  /// Whether a file of this header and so many bytes is refused, with `text`.
  testing::AssertionResult refuses(const std::string &header, size_t size,
                                   const std::string &text) const {
    write(header, size);
    return fails(TINH_INVALID_FILE, text, [&] { tinh::TensorFile{path}; });
  }

  std::filesystem::path folder;
  std::string path;
};

/// {"NAME": {"dtype": DTYPE, "shape": SHAPE, "data_offsets": OFFSETS}}
std::string tensor(const std::string &dtype, const std::string &shape,
                   const std::string &offsets, const std::string &name = "a") {
  return "{\"" + name + "\": {\"dtype\": " + dtype + ", \"shape\": " + shape +
         ", \"data_offsets\": " + offsets + "}}";
}

tinh_safetensors_tensor_t describe(const char *name, tinh_dtype_t dtype,
                                   const std::vector<int64_t> &dims,
                                   const std::string &bytes) {
  return {{name, dtype, static_cast<uint32_t>(dims.size()), dims.data(),
           bytes.size()},
          bytes.data(),
          0};
}

} // namespace

/// As flock(1) does, for as long as a build takes.
TEST_F(Safetensors, AnotherProgramMayHoldTheFolderLocked) {
  tinh::TensorFile::write(path, {});
  int lock = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  tinh::TensorFile::write(path, {}, {{"a", "b"}});
  close(lock);
  EXPECT_EQ(tinh::TensorFile(path).metadata().size(), 1u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(Safetensors, WhatIsWrittenIsReadBack) {
  const std::vector<int64_t> matrix = {3, 5}, none, empty = {4, 0, 2},
                             deep(12, 1);
  const std::string one = "x", four = "1234", nothing;
  std::vector<std::string> contents;
  for (int dtype = TINH_DTYPE_BOOL; dtype <= TINH_DTYPE_F8E8M0FNU; ++dtype)
    contents.emplace_back(15 *
                              tinh_dtype_size(static_cast<tinh_dtype_t>(dtype)),
                          static_cast<char>('a' + dtype));
  std::vector<std::string> names;
  for (size_t dtype = 0; dtype < contents.size(); ++dtype)
    names.push_back("of " + std::to_string(dtype));
  std::vector<tinh_safetensors_tensor_t> written;
  for (size_t dtype = 0; dtype < contents.size(); ++dtype)
    written.push_back(describe(names[dtype].c_str(),
                               static_cast<tinh_dtype_t>(dtype), matrix,
                               contents[dtype]));
  written.push_back(describe("", TINH_DTYPE_F32, none, four));
  written.push_back(describe("\"\\\n\t é 漢", TINH_DTYPE_F64, empty, nothing));
  written.push_back(describe("deep", TINH_DTYPE_U8, deep, one));
  tinh::Metadata metadata = {{"format", "pt"}, {"", "{\"json\": 1}"}};
  tinh::TensorFile::write(path, written, metadata);

  tinh::TensorFile file(path);
  EXPECT_EQ(file.metadata(), metadata);
  auto tensors = file.tensors();
  std::string bytes = read_bytes();
  ASSERT_EQ(tensors.size(), written.size());
  for (const tinh_safetensors_tensor_t &expected : written) {
    auto found = file.find(expected.type.name);
    EXPECT_EQ(found.type.dtype, expected.type.dtype);
    EXPECT_EQ(std::vector(found.type.dims, found.type.dims + found.type.rank),
              std::vector(expected.type.dims,
                          expected.type.dims + expected.type.rank));
    ASSERT_EQ(found.type.size, expected.type.size);
    std::string content(static_cast<const char *>(expected.data),
                        expected.type.size);
    EXPECT_EQ(
        std::string(static_cast<const char *>(found.data), found.type.size),
        content);
    EXPECT_EQ(bytes.substr(found.offset, found.type.size), content);
  }
  EXPECT_TRUE(fails(TINH_NOT_FOUND, "the file has no tensor 'b'",
                    [&] { file.find("b"); }));
}

TEST_F(Safetensors, NoTensorsAreAFileToo) {
  tinh::TensorFile::write(path, {});
  EXPECT_EQ(read_bytes().substr(8), "{}      ");
  EXPECT_TRUE(tinh::TensorFile(path).tensors().empty());
}

TEST_F(Safetensors, HeadersHaveTheLengthAskedFor) {
  const std::vector<int64_t> dims = {2};
  const std::string bytes = "xy";
  auto tensor = describe("a", TINH_DTYPE_U8, dims, bytes);
  for (uint64_t alignment : {1, 8, 64, 4096}) {
    size_t size = 0;
    ASSERT_EQ(tinh_safetensors_header(&tensor, 1, nullptr, 0, alignment,
                                      nullptr, 0, &size),
              TINH_OK);
    EXPECT_EQ(size % alignment, 0u);
    std::string header(size, '?');
    ASSERT_EQ(tinh_safetensors_header(&tensor, 1, nullptr, 0, alignment,
                                      header.data(), size, &size),
              TINH_OK);
    write_bytes(header + bytes);
    EXPECT_EQ(tinh::TensorFile(path).find("a").offset, size);
  }
}

TEST_F(Safetensors, NamesMustDiffer) {
  const std::vector<int64_t> dims;
  const std::string byte = "x";
  auto a = describe("a", TINH_DTYPE_U8, dims, byte);
  EXPECT_TRUE(fails(TINH_INVALID_ARGUMENT, "may have the name 'a'",
                    [&] { tinh::TensorFile::write(path, {a, a}); }));
  a.type.name = "__metadata__";
  EXPECT_TRUE(fails(TINH_INVALID_ARGUMENT, "the name '__metadata__'",
                    [&] { tinh::TensorFile::write(path, {a}); }));
  a.type.name = "\xc3\x28";
  EXPECT_TRUE(fails(TINH_INVALID_ARGUMENT, "is not UTF-8",
                    [&] { tinh::TensorFile::write(path, {a}); }));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Safetensors, MalformedFilesAreRefused) {
  write_bytes("1234");
  EXPECT_TRUE(fails(TINH_INVALID_FILE, "it has 4 bytes",
                    [&] { tinh::TensorFile{path}; }));
  write_bytes(std::string(8, '\xff') + "{}");
  EXPECT_TRUE(fails(TINH_INVALID_FILE,
                    "its header would have 18446744073709551615 bytes",
                    [&] { tinh::TensorFile{path}; }));
  EXPECT_TRUE(refuses("{\"a\": ", 0, "malformed header at byte "));
  EXPECT_TRUE(refuses("{} x", 0, "malformed header at byte "));
  EXPECT_TRUE(refuses("[]", 0, "expected an object"));
  EXPECT_TRUE(refuses("{\"a\": 1}", 0, "\"a\": unexpected, a number"));
  EXPECT_TRUE(refuses(std::string(100000, '['), 0, "expected an object"));
  EXPECT_TRUE(refuses("{\"\xff\": 1}", 0, "malformed header at byte "));
  EXPECT_TRUE(
      refuses("{\"__metadata__\": {\"a\": {}}}", 0, "\"a\": unexpected"));
  EXPECT_TRUE(refuses("{\"__metadata__\": {\"a\": \"\", \"a\": \"\"}}", 0,
                      "the key \"a\" is given twice"));
  EXPECT_TRUE(refuses("{\"a\": {}}", 0,
                      "tensor \"a\": expected dtype, shape and data_offsets"));
}

TEST_F(Safetensors, HeadersMayHaveEscapesAndSpaces) {
  write(" {\"__metadata__\": {\"k\\u0065y\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t"
        "\\u00E9\\u6f22\\uD83D\\ude00\"} ,\n\t\"a\\u00e9\" : {\"dtype\":\"U8\","
        "\"shape\":[ 2 , 0 ],\"data_offsets\":[0,0]}}\r\n",
        0);
  tinh::TensorFile file(path);
  EXPECT_EQ(file.find("aé").type.rank, 2u);
  EXPECT_EQ(file.metadata(), (tinh::Metadata{{"key", "\"\\/\b\f\n\r\té漢😀"}}));
}

/// No byte that is no JSON is taken for any.
TEST_F(Safetensors, WhatIsNoJsonIsRefused) {
  const std::string whole = tensor("\"U8\"", "[4]", "[0, 4]");
  auto with = [&](const std::string &part, const std::string &other) {
    return std::string(whole).replace(whole.find(part), part.size(), other);
  };
  for (const std::string &header : {with("[4]", "[4,]"),
                                    with("[4]", "[04]"),
                                    with("[4]", "[+4]"),
                                    with("[4]", "[4}"),
                                    with("[4]", "[-]"),
                                    with("[4]", "[4.]"),
                                    with("[4]", "[4e]"),
                                    with("[4]", "[4 4]"),
                                    with("[4]", "[nul]"),
                                    with("\"a\"", "a"),
                                    with("\"a\":", "\"a\""),
                                    with("\"a\"", "\"a"),
                                    with("\"a\"", "\"\n\""),
                                    with("\"a\"", "\"\\x\""),
                                    with("\"a\"", "\"\\u12g4\""),
                                    with("\"a\"", "\"\\ud800\""),
                                    with("\"a\"", "\"\\ud800\\u0041\""),
                                    with("\"a\"", "\"\\udc00\""),
                                    with("\"a\"", "\"\xc0\x80\""),
                                    with("\"a\"", "\"\xed\xa0\x80\""),
                                    with("\"a\"", "\"\xf4\x90\x80\x80\""),
                                    with("\"a\"", "\"\xe6\xbc\""),
                                    with("}}", "},}"),
                                    with("}}", "}}}"),
                                    with("{\"a", "\xef\xbb\xbf{\"a")})
    EXPECT_TRUE(refuses(header, 4, "malformed header at byte ")) << header;
  EXPECT_TRUE(refuses(with("[4]", "[9223372036854775808]"), 4,
                      "shape: unexpected, a number beyond any memory"));
  EXPECT_TRUE(refuses(with("[4]", "[true]"), 4, "unexpected, a truth value"));
  EXPECT_TRUE(refuses(with("[4]", "[null]"), 4, "unexpected, null"));
  EXPECT_TRUE(refuses(with("[4]", "{}"), 4, "shape: unexpected, an object"));
}

TEST_F(Safetensors, MalformedTensorsAreRefused) {
  EXPECT_TRUE(refuses(tensor("\"F4\"", "[4]", "[0, 4]"), 4,
                      "tensor \"a\": dtype F4 is not supported"));
  EXPECT_TRUE(refuses(tensor("1", "[4]", "[0, 4]"), 4,
                      "tensor \"a\": dtype: unexpected, a number"));
  EXPECT_TRUE(refuses(tensor("\"U8\"", "4", "[0, 4]"), 4,
                      "tensor \"a\": shape: unexpected, a number"));
  EXPECT_TRUE(refuses(tensor("\"U8\"", "[[4]]", "[0, 4]"), 4,
                      "tensor \"a\": shape: unexpected, an array"));
  EXPECT_TRUE(refuses(tensor("\"U8\"", "[-4]", "[0, 4]"), 4,
                      "tensor \"a\": shape: unexpected, a negative number"));
  EXPECT_TRUE(refuses(tensor("\"U8\"", "[4.0]", "[0, 4]"), 4,
                      "tensor \"a\": shape: unexpected, a fraction"));
  EXPECT_TRUE(refuses(tensor("\"U8\"", "[4], \"shape\": [4]", "[0, 4]"), 4,
                      "tensor \"a\": the key \"shape\" is given twice"));
  EXPECT_TRUE(refuses(tensor("\"U8\"", "[4], \"strides\": [4]", "[0, 4]"), 4,
                      "tensor \"a\": the key \"strides\" is unknown"));
  EXPECT_TRUE(refuses("{\"a\\u0000b\": {}}", 0,
                      "the key \"a\" goes on behind \\u0000"));
  std::string many = "[1";
  for (int i = 0; i < 64; ++i)
    many += ", 1";
  EXPECT_TRUE(refuses(tensor("\"U8\"", many + "]", "[0, 1]"), 1,
                      "tensor \"a\": shape: expected 64 numbers at most"));
  EXPECT_TRUE(refuses(tensor("\"U8\"", "[4]", "[0, 4, 4]"), 4,
                      "data_offsets: expected 2 numbers at most"));
  EXPECT_TRUE(
      refuses(tensor("\"F64\"", "[4294967296, 4294967296]", "[0, 4]"), 4,
              "the shape [4294967296, 4294967296] is beyond any memory"));
  EXPECT_TRUE(refuses(tensor("\"F32\"", "[3, 2]", "[0, 20]"), 20,
                      "expected 24 bytes for F32 [3, 2], found 20"));
}

TEST_F(Safetensors, TensorsCoverTheDataOnce) {
  EXPECT_TRUE(refuses(tensor("\"U8\"", "[4]", "[0, 4]"), 3,
                      "data_offsets [0, 4] lie outside the 3 bytes of data"));
  EXPECT_TRUE(refuses(tensor("\"U8\"", "[4]", "[4, 0]"), 4,
                      "data_offsets [4, 0] lie outside"));
  EXPECT_TRUE(refuses(tensor("\"U8\"", "[4]", "[0]"), 4,
                      "data_offsets [0] lie outside"));
  EXPECT_TRUE(refuses(tensor("\"U8\"", "[4]", "[0, 4]"), 5,
                      "its tensors have 4 bytes, and 5 are there"));
  EXPECT_TRUE(
      refuses(tensor("\"U8\"", "[4]", "[1, 5]"), 5,
              "begins at byte 1 of the data, behind a gap from byte 0"));
  std::string two = tensor("\"U8\"", "[4]", "[0, 4]");
  two.pop_back();
  EXPECT_TRUE(refuses(
      two + "," + tensor("\"U8\"", "[4]", "[2, 6]", "b").substr(1), 6,
      "tensor \"b\" begins at byte 2 of the data, within the one before it"));
  EXPECT_TRUE(refuses(two + "," + tensor("\"U8\"", "[4]", "[4, 8]").substr(1),
                      8, "the key \"a\" is given twice"));
}

/// A file with random faults is read or refused, and what is read lies in it.
TEST_F(Safetensors, RandomFaultsAreFoundOrHarmless) {
  const std::vector<int64_t> dims = {2, 3}, none;
  const std::string bytes(24, 'x'), eight(8, 'y');
  tinh::TensorFile::write(path,
                          {describe("first", TINH_DTYPE_F32, dims, bytes),
                           describe("second", TINH_DTYPE_I64, none, eight)},
                          {{"key", "value"}});
  const std::string whole = read_bytes();
  std::mt19937 random(1);
  auto any = [&](size_t count) { return random() % count; };
  int read = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string changed = whole;
    for (size_t faults = 1 + any(3); faults-- > 0;)
      switch (any(4)) {
      case 0:
        changed[any(changed.size())] = static_cast<char>(random());
        break;
      case 1:
        changed.resize(any(changed.size()) + 1);
        break;
      case 2:
        changed.insert(any(changed.size()), 1, "0123456789,[]{}\":"[any(17)]);
        break;
      case 3:
        changed.erase(any(changed.size()), 1 + any(8));
        changed += 'x';
        break;
      }
    write_bytes(changed);
    tinh_safetensors_t *opened = nullptr;
    if (tinh_status_t status = tinh_safetensors_open(path.c_str(), &opened)) {
      ASSERT_EQ(status, TINH_INVALID_FILE);
      ++refused;
      continue;
    }
    ++read;
    tinh_safetensors_info_t info;
    ASSERT_EQ(tinh_safetensors_info(opened, &info), TINH_OK);
    for (uint32_t t = 0; t < info.num_tensors; ++t) {
      tinh_safetensors_tensor_t tensor;
      ASSERT_EQ(tinh_safetensors_tensor(opened, t, &tensor), TINH_OK);
      ASSERT_LE(tensor.offset + tensor.type.size, changed.size());
      ASSERT_EQ(
          std::memcmp(tensor.data, &changed[tensor.offset], tensor.type.size),
          0);
    }
    tinh_safetensors_release(opened);
  }
  EXPECT_GT(read, 50); // In the data, or in a name.
  EXPECT_GT(refused, 1000);
}
