//===- ModelScan.cpp - Finds a model's large tensors in its file ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/ModelScan.h"

#include "compiler/Import/Limits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace tinh::onnx {

namespace {

/// The messages on the way from a model to its tensors.
enum class Message { Model, Graph, Node, Attribute, Function, Tensor, Other };

StringRef nameOf(Message message) {
  switch (message) {
  case Message::Model:
    return "ModelProto";
  case Message::Graph:
    return "GraphProto";
  case Message::Node:
    return "NodeProto";
  case Message::Attribute:
    return "AttributeProto";
  case Message::Function:
    return "FunctionProto";
  case Message::Tensor:
    return "TensorProto";
  case Message::Other:
    break;
  }
  return "message";
}

/// Which field of which message holds which message (numbers of onnx.proto).
struct Child {
  Message parent;
  uint32_t field;
  Message child;
};
constexpr Child kChildren[] = {
    {Message::Model, 7, Message::Graph},
    {Message::Model, 25, Message::Function},
    {Message::Graph, 1, Message::Node},
    {Message::Graph, 5, Message::Tensor},
    {Message::Function, 7, Message::Node},
    {Message::Function, 11, Message::Attribute},
    {Message::Node, 5, Message::Attribute},
    {Message::Attribute, 5, Message::Tensor},
    {Message::Attribute, 6, Message::Graph},
    {Message::Attribute, 10, Message::Tensor},
    {Message::Attribute, 11, Message::Graph},
};

Message childOf(Message parent, uint32_t field) {
  for (const Child &entry : kChildren)
    if (entry.parent == parent && entry.field == field)
      return entry.child;
  return Message::Other;
}

// Fields of TensorProto.
constexpr uint32_t kSegment = 3, kFloatData = 4, kRawData = 9, kDoubleData = 10;

enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Field {
  uint32_t number;
  uint32_t wireType;
  uint64_t begin;        // of the field, with its tag
  uint64_t payload, end; // of the value; for Bytes, after the length
};

void appendVarint(std::string &out, uint64_t value) {
  for (; value >= 128; value >>= 7)
    out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
}

void appendBytes(std::string &out, uint32_t field, StringRef value) {
  appendVarint(out, field << 3 | Bytes);
  appendVarint(out, value.size());
  out.append(value.data(), value.size());
}

class Scanner {
public:
  Scanner(StringRef file, uint64_t largestKept)
      : file(file), largestKept(largestKept) {}

  /// The message in [begin, end) without its large tensors.
  bool scan(Message message, uint64_t begin, uint64_t end, unsigned depth,
            std::string &out);

  std::string error;

private:
  bool fail(uint64_t position, Message message, const Twine &what) {
    error = ("not a valid ONNX model: " + what + " at byte " + Twine(position) +
             ", in a " + nameOf(message))
                .str();
    return false;
  }
  bool readVarint(uint64_t &position, uint64_t end, uint64_t &value);
  bool readField(Message message, uint64_t &position, uint64_t end,
                 Field &field);
  bool scanTensor(uint64_t begin, uint64_t end, std::string &out);

  StringRef file;
  uint64_t largestKept;
};

bool Scanner::readVarint(uint64_t &position, uint64_t end, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 70 && position < end; shift += 7) {
    uint8_t byte = file[position++];
    if (shift < 64)
      value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128)
      return true;
  }
  return false;
}

bool Scanner::readField(Message message, uint64_t &position, uint64_t end,
                        Field &field) {
  field.begin = position;
  uint64_t tag, length = 0;
  if (!readVarint(position, end, tag) || tag >> 3 == 0 || tag >> 32)
    return fail(field.begin, message, "malformed field tag");
  field.number = static_cast<uint32_t>(tag >> 3);
  field.wireType = tag & 7;
  field.payload = position;
  switch (field.wireType) {
  case Varint:
    if (!readVarint(position, end, length))
      return fail(field.begin, message, "malformed number");
    field.end = position;
    return true;
  case Fixed64:
    length = 8;
    break;
  case Fixed32:
    length = 4;
    break;
  case Bytes:
    if (!readVarint(position, end, length))
      return fail(field.begin, message, "malformed length");
    field.payload = position;
    break;
  default:
    return fail(field.begin, message,
                "unknown wire type " + Twine(field.wireType));
  }
  if (length > end - position)
    return fail(field.begin, message,
                "truncated: field " + Twine(field.number) + " has " +
                    Twine(length) + " bytes, only " + Twine(end - position) +
                    " remain");
  field.end = position = position + length;
  return true;
}

bool Scanner::scanTensor(uint64_t begin, uint64_t end, std::string &out) {
  SmallVector<Field, 16> fields;
  Field field;
  for (uint64_t position = begin; position < end;) {
    if (!readField(Message::Tensor, position, end, field))
      return false;
    fields.push_back(field);
  }
  // Packed floats and doubles have the layout of raw data.
  auto holdsData = [](const Field &f) {
    return f.wireType == Bytes &&
           (f.number == kRawData || f.number == kFloatData ||
            f.number == kDoubleData);
  };
  bool single = llvm::count_if(fields, [&](const Field &f) {
                  return f.number == kRawData || f.number == kFloatData ||
                         f.number == kDoubleData;
                }) == 1;
  for (const Field &f : fields) {
    if (f.number == kSegment)
      continue;
    if (single && holdsData(f) && f.end - f.payload > largestKept) {
      std::string segment;
      appendVarint(segment, 1 << 3 | Varint);
      appendVarint(segment, f.payload);
      appendVarint(segment, 2 << 3 | Varint);
      appendVarint(segment, f.end);
      appendBytes(out, kSegment, segment);
      continue;
    }
    out.append(file.data() + f.begin, f.end - f.begin);
  }
  return true;
}

bool Scanner::scan(Message message, uint64_t begin, uint64_t end,
                   unsigned depth, std::string &out) {
  if (message == Message::Tensor)
    return scanTensor(begin, end, out);
  // The model's graph is at depth 1; nodes and attributes lie between graphs.
  if (depth > 1 + 3 * kMaxGraphDepth + 2) {
    error = ("graphs are nested more than " + Twine(kMaxGraphDepth) +
             " deep, at byte " + Twine(begin) + " of the file")
                .str();
    return false;
  }
  Field field;
  for (uint64_t position = begin; position < end;) {
    if (!readField(message, position, end, field))
      return false;
    Message child = field.wireType == Bytes ? childOf(message, field.number)
                                            : Message::Other;
    if (child == Message::Other) {
      out.append(file.data() + field.begin, field.end - field.begin);
      continue;
    }
    std::string inner;
    if (!scan(child, field.payload, field.end, depth + 1, inner))
      return false;
    appendBytes(out, field.number, inner);
  }
  return true;
}

} // namespace

ScanResult scanModel(StringRef file, uint64_t largestKept) {
  Scanner scanner(file, largestKept);
  ScanResult result;
  if (!scanner.scan(Message::Model, 0, file.size(), 0, result.model)) {
    result.model.clear();
    result.error = std::move(scanner.error);
  }
  return result;
}

} // namespace tinh::onnx
