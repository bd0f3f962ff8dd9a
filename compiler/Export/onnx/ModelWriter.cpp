//===- ModelWriter.cpp - A module as an ONNX model --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/onnx/ModelWriter.h"

#include "compiler/Import/onnx/Tensors.h"

using namespace mlir;

namespace tinh::onnx {

/// The first operator set with all that is written (RMSNormalization and
/// Attention came last), which ONNX Runtime has run since 1.23, and the version
/// of the file format that came with it.
/// The version of the format that came with an operator set.
static int64_t irVersionOf(int64_t opset) {
  return opset < 24 ? 11 : opset < 26 ? 12 : 13;
}

void setType(::onnx::ValueInfoProto &info, StringRef name, Type type) {
  info.set_name(name.str());
  auto tensor = cast<RankedTensorType>(type);
  auto *proto = info.mutable_type()->mutable_tensor_type();
  proto->set_elem_type(findElementType(tensor.getElementType()));
  auto *shape = proto->mutable_shape(); // a scalar has one, too
  for (int64_t extent : tensor.getShape())
    shape->add_dim()->set_dim_value(extent);
}

/// Constants are written when something reads them.
Tensor ModelWriter::tensor(Value value) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  if (constant && writtenConstants.insert(constant).second)
    addConstant(names.tensor(value), graph::elementsOf(constant.getValue()));
  auto it = renamed.find(value);
  return {it == renamed.end() ? names.tensor(value) : it->second,
          cast<RankedTensorType>(value.getType())};
}

void ModelWriter::describeModel() {
  model.set_producer_name("tinh");
  std::string name = nameOf(main.getLoc());
  model.mutable_graph()->set_name(name.empty() ? "main" : name);
}

/// One element, repeated when the model is loaded.
void ModelWriter::addRepeated(StringRef name, DenseElementsAttr value) {
  Builder b(module.getContext());
  DenseElementsAttr shape = b.getI64TensorAttr(value.getType().getShape());
  ::onnx::NodeProto &node = *model.mutable_graph()->add_node();
  node.set_name(name.str());
  node.set_op_type("ConstantOfShape");
  node.add_input(constant(shape, (name + "/shape").str()).name);
  node.add_output(name.str());
  ::onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name("value");
  attribute.set_type(::onnx::AttributeProto::TENSOR);
  ::onnx::TensorProto &tensor = *attribute.mutable_t();
  tensor.set_data_type(findElementType(value.getElementType()));
  tensor.add_dims(1);
  DenseElementsAttr one =
      value.resizeSplat(RankedTensorType::get(1, value.getElementType()));
  std::string bytes(graph::tensorSize(one.getType()), '\0');
  writeElements(one, MutableArrayRef<char>(bytes.data(), bytes.size()));
  tensor.set_raw_data(bytes);
}

/// Floats of 4 bits, which have a byte each, two to a byte, as files have them.
static DenseElementsAttr packed(DenseElementsAttr value) {
  int64_t count = value.getNumElements();
  SmallVector<uint8_t> bytes(llvm::divideCeil(count, 2), 0);
  for (auto [i, number] : llvm::enumerate(value.getValues<APFloat>()))
    bytes[i / 2] |= number.bitcastToAPInt().getZExtValue() << (i % 2 * 4);
  auto type = RankedTensorType::get(
      static_cast<int64_t>(bytes.size()),
      IntegerType::get(value.getContext(), 8, IntegerType::Unsigned));
  return DenseElementsAttr::get(type, ArrayRef<uint8_t>(bytes));
}

void ModelWriter::addConstant(StringRef name, TypedAttr value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  auto type = cast<RankedTensorType>(value.getType());
  if (dense && dense.isSplat() && isLarge(value))
    return addRepeated(name, dense);
  if (isa<Float4E2M1FNType>(type.getElementType())) {
    if (!dense)
      error = "constant \"" + name.str() +
              "\": floats of 4 bits in another file have a byte each, and ONNX "
              "has two in a byte; a graph.unpack_int4 of bytes is written so";
    else
      value = packed(dense);
  }
  addInitializer(name, type, value);
}

void ModelWriter::addInitializer(StringRef name, RankedTensorType type,
                                 TypedAttr value) {
  ::onnx::TensorProto &tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name.str());
  tensor.set_data_type(findElementType(type.getElementType()));
  for (int64_t extent : type.getShape())
    tensor.add_dims(extent);
  if (!isLarge(value)) {
    auto bytes = smallElements(value, sources);
    if (bytes)
      tensor.set_raw_data(*bytes);
    else
      error = llvm::toString(bytes.takeError());
    return;
  }
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto set = [&](StringRef key, const std::string &text) {
    auto *entry = tensor.add_external_data();
    entry->set_key(key.str());
    entry->set_value(text);
  };
  set("location", weightsName);
  set("offset", std::to_string(weightFile.add(value)));
  set("length", std::to_string(graph::tensorSize(value.getType())));
}

Tensor ModelWriter::constant(TypedAttr value, StringRef wanted) {
  std::string name = names.fresh(wanted);
  addConstant(name, value);
  return {name, cast<RankedTensorType>(value.getType())};
}

Tensor ModelWriter::packedConstant(TypedAttr bytes, RankedTensorType type,
                                   StringRef wanted) {
  std::string name = names.fresh(wanted);
  addInitializer(name, type, bytes);
  return {name, type};
}

Tensor ModelWriter::reshapedConstant(Value of, TypedAttr value,
                                     StringRef wanted) {
  auto [known, isNew] = reshapedConstants.try_emplace({of, value.getType()});
  if (isNew)
    known->second = constant(value, wanted);
  return known->second;
}

/// Whether the node of another op adds it.
static bool isBias(Operation *op) {
  return isa<graph::AddOp>(op) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           Operation *product = operand.getDefiningOp();
           return product && biasOf(product) == op;
         });
}

void ModelWriter::writeOp(Operation *op) {
  if (isa<graph::ConstantOp>(op) || isBias(op) || writeControlFlow(op))
    return;
  if (graph::AddOp sum = biasOf(op)) {
    std::string name = tensor(sum.getY()).name;
    renamed[op->getResult(0)] = name;
  }
  const OpWriter *entry = findWriter(op->getName().getStringRef());
  if (!entry || op->getNumResults() != 1)
    return refusals.add(op, names.node(op),
                        "it has no counterpart; only phases 'graph' and "
                        "'normalised' can be exported");
  NodeWriter writer(*this, op, entry->onnx);
  Tensor result = entry->write(writer);
  if (result.type)
    writer.finish(result);
}

void ModelWriter::writeBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    writeOp(&op);
}

void ModelWriter::addIdentity(StringRef from, StringRef to) {
  ::onnx::NodeProto &node = addNode();
  node.set_name(to.str());
  node.set_op_type("Identity");
  node.add_input(from.str());
  node.add_output(to.str());
}

void ModelWriter::addOutputs() {
  for (const OutputName &output : names.outputs()) {
    Tensor value = tensor(output.value);
    setType(*current->add_output(), output.name, value.type);
    if (output.isCopy)
      addIdentity(value.name, output.name);
  }
}

LogicalResult ModelWriter::build(StringRef weightsFile) {
  weightsName = weightsFile;
  current = model.mutable_graph();
  if (failed(names.assign(main)))
    return failure();
  describeModel();
  for (BlockArgument argument : main.getArguments())
    setType(*current->add_input(), names.tensor(argument), argument.getType());
  writeBlock(main.getBody().front());
  addOutputs();
  model.set_ir_version(irVersionOf(opset));
  model.add_opset_import()->set_version(opset);
  if (failed(refusals.report(module, "ONNX")))
    return failure();
  return error.empty() ? success() : LogicalResult(module.emitError(error));
}

} // namespace tinh::onnx
