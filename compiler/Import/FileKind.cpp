//===- FileKind.cpp - What a file is that is no model -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/FileKind.h"

#include "llvm/Support/Endian.h"

using namespace llvm;

namespace tinh {

namespace {

/// A kind of file that is told by its first bytes, and what is said of it.
struct Kind {
  StringLiteral magic;
  size_t offset;
  StringLiteral words;
};

constexpr Kind kKinds[] = {
    {"\x93NUMPY", 0,
     "it is an array of NumPy's, which graph-run takes as an input, and no "
     "model"},
    {"GGUF", 0,
     "it is a GGUF file, which is not supported; export the model that it was "
     "made of to ONNX"},
    {"\x89HDF\r\n\x1a\n", 0,
     "it is an HDF5 file, as Keras writes; convert the model with tf2onnx"},
    {"TFL3", 4, "it is a model of TensorFlow Lite; convert it with tf2onnx"},
    {"ORTM", 4,
     "it is a model in ONNX Runtime's own format; give the .onnx file that it "
     "was made of"},
    {"\x1f\x8b", 0, "it is compressed by gzip; unpack it first"},
    {"\xfd\x37zXZ", 0, "it is compressed by xz; unpack it first"},
    {"\x28\xb5\x2f\xfd", 0, "it is compressed by zstd; unpack it first"},
    {"BZh", 0, "it is compressed by bzip2; unpack it first"},
    {"version https://git-lfs", 0,
     "it is what Git LFS keeps in the place of the file; git lfs pull gets "
     "that"},
};

constexpr StringLiteral kPyTorch =
    "it is a file of PyTorch's, which has weights or a program in Python and "
    "no graph; export the model with torch.onnx.export";

/// Zip archives are told by the names in them, which NumPy and PyTorch choose.
StringRef describeZip(StringRef content) {
  constexpr size_t kNameOffset = 30; // Of the first entry's header.
  StringRef start = content.drop_front(std::min(content.size(), kNameOffset));
  if (start.take_front(256).contains(".npy"))
    return "it is a file of NumPy's arrays (.npz), which graph-run takes as "
           "inputs, and no model";
  if (content.contains("/data.pkl"))
    return kPyTorch;
  return "it is a zip archive; unpack it first";
}

/// A header's length, in eight bytes, and the header in JSON.
bool isSafetensors(StringRef content) {
  return content.size() > 8 && content[8] == '{' &&
         support::endian::read64le(content.data()) <= content.size() - 8;
}

bool isPickle(StringRef content) {
  return content.size() > 1 && content[0] == '\x80' && content[1] >= 2 &&
         content[1] <= 5;
}

bool isWebPage(StringRef content) {
  StringRef text = content.take_front(1024).ltrim();
  return text.starts_with_insensitive("<!doctype html") ||
         text.starts_with_insensitive("<html");
}

} // namespace

std::string describeOtherKind(StringRef path, StringRef content) {
  for (const Kind &kind : kKinds)
    if (content.substr(kind.offset).starts_with(kind.magic))
      return kind.words.str();
  if (content.starts_with("PK\x03\x04"))
    return describeZip(content).str();
  if (isPickle(content))
    return kPyTorch.str();
  if (isSafetensors(content))
    return "it holds weights (safetensors) and no graph; give the model, and "
           "these weights by --load-weights";
  if (isWebPage(content))
    return "it is a web page; was the model's download refused?";
  if (content.starts_with("\x7f"
                          "ELF"))
    return content.contains("tinh_artifact")
               ? "it is compiled already; run it: graph-run " + path.str()
               : "it is a program or library, and no model";
  return "";
}

} // namespace tinh
