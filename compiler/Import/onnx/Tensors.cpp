//===- Tensors.cpp - ONNX tensors as attributes -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/Tensors.h"

#include "compiler/Import/ExternalData.h"
#include "compiler/Import/GraphBuilder.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using ::onnx::TensorProto;

namespace tinh::onnx {

Type convertElementType(int dataType, MLIRContext *context) {
  auto integer = [&](unsigned width) {
    return IntegerType::get(context, width);
  };
  auto natural = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  switch (dataType) {
  case TensorProto::FLOAT:
    return Float32Type::get(context);
  case TensorProto::DOUBLE:
    return Float64Type::get(context);
  case TensorProto::FLOAT16:
    return Float16Type::get(context);
  case TensorProto::BFLOAT16:
    return BFloat16Type::get(context);
  case TensorProto::FLOAT8E4M3FN:
    return Float8E4M3FNType::get(context);
  case TensorProto::FLOAT8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case TensorProto::FLOAT8E5M2:
    return Float8E5M2Type::get(context);
  case TensorProto::FLOAT8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case TensorProto::BOOL:
    return integer(1);
  case TensorProto::INT8:
    return integer(8);
  case TensorProto::INT16:
    return integer(16);
  case TensorProto::INT32:
    return integer(32);
  case TensorProto::INT64:
    return integer(64);
  case TensorProto::UINT8:
    return natural(8);
  case TensorProto::UINT16:
    return natural(16);
  case TensorProto::UINT32:
    return natural(32);
  case TensorProto::UINT64:
    return natural(64);
  }
  return {};
}

bool hasFourBits(int dataType) {
  return dataType == TensorProto::INT4 || dataType == TensorProto::UINT4;
}

Type valueElementType(int dataType, MLIRContext *context) {
  if (!hasFourBits(dataType))
    return convertElementType(dataType, context);
  return convertElementType(dataType == TensorProto::INT4 ? TensorProto::INT8
                                                          : TensorProto::UINT8,
                            context);
}

int findElementType(Type element) {
  for (int type = TensorProto::DataType_MIN; type <= TensorProto::DataType_MAX;
       ++type)
    if (convertElementType(type, element.getContext()) == element)
      return type;
  llvm_unreachable("the dialect has no other element types");
}

std::string elementTypeName(int dataType) {
  if (TensorProto::DataType_IsValid(dataType))
    return TensorProto::DataType_Name(
        static_cast<TensorProto::DataType>(dataType));
  return std::to_string(dataType);
}

namespace {

/// Reads one tensor; the first problem lands in `error`.
class TensorReader {
public:
  TensorReader(const TensorProto &tensor, const ModelFile &file,
               MLIRContext *context, std::string &error)
      : tensor(tensor), file(file), context(context), error(error) {}

  TypedAttr read();

private:
  TypedAttr fail(const Twine &what) {
    if (error.empty())
      error = "tensor \"" + tensor.name() + "\": " + what.str();
    if (hasFourBits(tensor.data_type()))
      error += ", as bytes hold two elements of " +
               elementTypeName(tensor.data_type());
    return {};
  }
  TypedAttr readExternal();
  TypedAttr refer(const DataFile &data, uint64_t offset, uint64_t size);
  TypedAttr readFields();
  template <typename T, typename Source> TypedAttr pack(const Source &values);

  const TensorProto &tensor;
  const ModelFile &file;
  MLIRContext *context;
  std::string &error;
  RankedTensorType type;
};

TypedAttr TensorReader::read() {
  bool isPacked = hasFourBits(tensor.data_type());
  Type element = convertElementType(
      isPacked ? TensorProto::UINT8 : tensor.data_type(), context);
  if (!element)
    return fail("element type " + elementTypeName(tensor.data_type()) +
                " is not supported");
  SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  auto count = countElements(dims);
  if (!count)
    return fail("the shape " + formatShape(dims) +
                " is negative or beyond any memory");
  if (isPacked)
    dims = {(*count + 1) / 2};
  type = RankedTensorType::get(dims, element);
  if (tensor.data_location() == TensorProto::EXTERNAL)
    return readExternal();
  if (tensor.has_segment())
    return refer({file.name, file.path, file.size}, tensor.segment().begin(),
                 tensor.segment().end() - tensor.segment().begin());
  return readFields();
}

TypedAttr TensorReader::readExternal() {
  std::string location;
  uint64_t offset = 0, length = graph::tensorSize(type);
  for (const auto &entry : tensor.external_data()) {
    StringRef value = entry.value();
    if (entry.key() == "location")
      location = entry.value();
    else if (entry.key() == "offset" && value.getAsInteger(10, offset))
      return fail("external data: malformed offset \"" + value + "\"");
    else if (entry.key() == "length" && value.getAsInteger(10, length))
      return fail("external data: malformed length \"" + value + "\"");
  }
  DataFile data;
  std::string reason;
  if (!findDataFile(file.directory, location, data, reason))
    return fail(reason);
  return refer(data, offset, length);
}

TypedAttr TensorReader::refer(const DataFile &data, uint64_t offset,
                              uint64_t size) {
  std::string reason;
  TypedAttr value = referToBytes(type, data, offset, size, reason);
  return value ? value : fail(reason);
}

/// The elements in `values`, each stored as a T.
template <typename T, typename Source>
TypedAttr TensorReader::pack(const Source &values) {
  int64_t expected = type.getNumElements();
  if (values.size() != expected)
    return fail("expected " + Twine(expected) + " elements for " +
                graph::shapeToString(type) + ", found " + Twine(values.size()));
  std::vector<T> elements(values.begin(), values.end());
  return denseFromBytes(
      type, ArrayRef<char>(reinterpret_cast<const char *>(elements.data()),
                           elements.size() * sizeof(T)));
}

TypedAttr TensorReader::readFields() {
  if (tensor.has_raw_data()) {
    StringRef bytes = tensor.raw_data();
    if (static_cast<int64_t>(bytes.size()) != graph::tensorSize(type))
      return fail("expected " + Twine(graph::tensorSize(type)) + " bytes for " +
                  graph::shapeToString(type) + ", found " +
                  Twine(bytes.size()));
    return denseFromBytes(type, ArrayRef<char>(bytes.data(), bytes.size()));
  }
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return pack<float>(tensor.float_data());
  case TensorProto::DOUBLE:
    return pack<double>(tensor.double_data());
  case TensorProto::INT64:
    return pack<int64_t>(tensor.int64_data());
  case TensorProto::UINT64:
    return pack<uint64_t>(tensor.uint64_data());
  case TensorProto::UINT32:
    return pack<uint32_t>(tensor.uint64_data());
  case TensorProto::INT32:
    return pack<int32_t>(tensor.int32_data());
  case TensorProto::INT16:
  case TensorProto::UINT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return pack<uint16_t>(tensor.int32_data());
  default:
    return pack<uint8_t>(tensor.int32_data());
  }
}

} // namespace

TypedAttr convertTensor(const TensorProto &tensor, const ModelFile &file,
                        MLIRContext *context, std::string &error) {
  return TensorReader(tensor, file, context, error).read();
}

/// The numbers of 4 bits in `bytes`, in this shape; the last half may be none.
static Value unpackTensor(GraphBuilder &b, Value bytes,
                          const TensorProto &tensor) {
  SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  int64_t count = *countElements(dims);
  int64_t pairs = cast<RankedTensorType>(bytes.getType()).getNumElements();
  Type element = valueElementType(tensor.data_type(), b.context());
  Value numbers =
      b.create<graph::UnpackInt4Op>({bytes}, {b.attribute("axis", int64_t(0))},
                                    RankedTensorType::get(2 * pairs, element));
  if (count != 2 * pairs)
    numbers = b.create<graph::SliceOp>(
        {numbers}, {b.attribute("starts", ArrayRef<int64_t>{0}),
                    b.attribute("sizes", ArrayRef<int64_t>{count}),
                    b.attribute("steps", ArrayRef<int64_t>{1})});
  return b.create<graph::ReshapeOp>({numbers}, {},
                                    RankedTensorType::get(dims, element));
}

Value buildTensor(GraphBuilder &builder, const TensorProto &tensor,
                  const ModelFile &file, std::string &error) {
  TypedAttr value = convertTensor(tensor, file, builder.context(), error);
  if (!value)
    return {};
  Value constant = builder.constant(value);
  return hasFourBits(tensor.data_type())
             ? unpackTensor(builder, constant, tensor)
             : constant;
}

} // namespace tinh::onnx
