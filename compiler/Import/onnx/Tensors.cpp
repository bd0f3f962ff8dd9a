//===- Tensors.cpp - ONNX tensors as attributes -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/Tensors.h"

#include "compiler/Graph/ExternalData.h"
#include "compiler/Graph/GraphBuilder.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

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
  case TensorProto::FLOAT8E8M0:
    return Float8E8M0FNUType::get(context);
  case TensorProto::FLOAT4E2M1:
    return Float4E2M1FNType::get(context);
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

int packedBits(int dataType) {
  return dataType == TensorProto::FLOAT4E2M1 ? 4 : integerBits(dataType);
}

int integerBits(int dataType) {
  switch (dataType) {
  case TensorProto::INT4:
  case TensorProto::UINT4:
    return 4;
  case TensorProto::INT2:
  case TensorProto::UINT2:
    return 2;
  }
  return 0;
}

Type valueElementType(int dataType, MLIRContext *context) {
  if (integerBits(dataType) == 0)
    return convertElementType(dataType, context);
  bool isSigned =
      dataType == TensorProto::INT4 || dataType == TensorProto::INT2;
  return convertElementType(isSigned ? TensorProto::INT8 : TensorProto::UINT8,
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
    if (int bits = packedBits(tensor.data_type()))
      error += ", as bytes hold " + std::to_string(8 / bits) + " elements of " +
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
  int bits = packedBits(tensor.data_type());
  Type element = convertElementType(
      bits ? TensorProto::UINT8 : tensor.data_type(), context);
  if (!element)
    return fail("element type " + elementTypeName(tensor.data_type()) +
                " is not supported");
  SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  auto count = countElements(dims);
  if (!count)
    return fail("the shape " + formatShape(dims) +
                " is negative or beyond any memory");
  if (bits)
    dims = {llvm::divideCeilSigned(*count, 8 / bits)};
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

Value truncateToBits(GraphOps &b, Value x, int dataType) {
  Type element = valueElementType(dataType, b.graph.context());
  Type i32 = b.graph.raw().getI32Type();
  int bits = integerBits(dataType);
  // As integers first: what a byte cannot hold of a float is cut off, too.
  Value whole = b.cast(x, i32);
  if (element.isUnsignedInteger())
    return b.cast(
        b.create<graph::AndOp>(
            {whole, b.scalar(i32, static_cast<double>((1 << bits) - 1))}),
        element);
  Value distance = b.scalar(i32, 32 - bits);
  Value high = b.create<graph::ShiftLeftOp>({whole, distance});
  return b.cast(b.create<graph::ShiftRightOp>({high, distance}), element);
}

/// The numbers in `bytes`, in the tensor's shape; the last of them may be none.
static Value unpackTensor(GraphBuilder &builder, Value bytes,
                          const TensorProto &tensor) {
  GraphOps b(builder);
  SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  int64_t count = *countElements(dims);
  int bits = packedBits(tensor.data_type());
  int64_t size = b.shape(bytes)[0], all = size * 8 / bits;
  Value numbers;
  if (bits == 4) {
    Type element = valueElementType(tensor.data_type(), builder.context());
    numbers =
        b.create<graph::UnpackInt4Op>({bytes}, {b.attr("axis", int64_t(0))},
                                      RankedTensorType::get(all, element));
  } else {
    Type i32 = builder.raw().getI32Type();
    Value distances = b.constantFloats(i32, 4, {0, 2, 4, 6});
    Value parts = b.create<graph::ShiftRightOp>(
        {b.reshape(b.cast(bytes, i32), {size, 1}), distances});
    numbers = b.reshape(truncateToBits(b, parts, tensor.data_type()), all);
  }
  if (count != all)
    numbers = b.sliceAxis(numbers, 0, 0, count);
  return b.reshape(numbers, dims);
}

Value buildTensor(GraphBuilder &builder, const TensorProto &tensor,
                  const ModelFile &file, std::string &error) {
  TypedAttr value = convertTensor(tensor, file, builder.context(), error);
  if (!value)
    return {};
  Value constant = builder.constant(value);
  return packedBits(tensor.data_type())
             ? unpackTensor(builder, constant, tensor)
             : constant;
}

} // namespace tinh::onnx
