//===- ExportOnnx.cpp - The graph dialect to ONNX models --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/Export.h"
#include "compiler/Export/GraphNames.h"
#include "compiler/Export/Refusals.h"
#include "compiler/Export/WeightFile.h"
#include "compiler/Export/onnx/NodeWriter.h"
#include "compiler/Import/onnx/Tensors.h"

#include "llvm/Support/Path.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// The first operator set with all that is written (RMSNormalization and
/// Attention came last), which ONNX Runtime has run since 1.23, and the version
/// of the file format that came with it.
constexpr int64_t kOpset = 23, kIrVersion = 11;

/// Where programs map weights, they need them at the begin of a page.
constexpr uint64_t kWeightAlignment = 4096;

void setType(::onnx::ValueInfoProto &info, StringRef name, Type type) {
  info.set_name(name.str());
  auto tensor = cast<RankedTensorType>(type);
  auto *proto = info.mutable_type()->mutable_tensor_type();
  proto->set_elem_type(findElementType(tensor.getElementType()));
  auto *shape = proto->mutable_shape(); // a scalar has one, too
  for (int64_t extent : tensor.getShape())
    shape->add_dim()->set_dim_value(extent);
}

class ModelWriter : public GraphSink {
public:
  ModelWriter(ModuleOp module, func::FuncOp main, MappedFiles &sources)
      : module(module), main(main), sources(sources) {}

  /// Fills `model`. `weightsName` is that of the file of weights.
  LogicalResult build(StringRef weightsName);

  ::onnx::ModelProto model;
  WeightFile weightFile{kWeightAlignment};

  Tensor tensor(Value value) override {
    return {names.tensor(value), cast<RankedTensorType>(value.getType())};
  }
  Tensor constant(TypedAttr value, StringRef wanted) override;
  ::onnx::NodeProto &addNode() override {
    return *model.mutable_graph()->add_node();
  }
  std::string freshName(StringRef wanted) override {
    return names.fresh(wanted);
  }
  void refuse(Operation *op, const Twine &why) override {
    refusals.add(op, names.node(op), why);
  }

private:
  void describeModel();
  void addConstant(StringRef name, TypedAttr value);
  void addRepeated(StringRef name, DenseElementsAttr value);
  void addInitializer(StringRef name, TypedAttr value);
  void writeOp(Operation *op);
  void addOutputs();

  ModuleOp module;
  func::FuncOp main;
  MappedFiles &sources;
  std::string weightsName;
  GraphNames names;
  Refusals refusals;
  std::string error;
};

void ModelWriter::describeModel() {
  model.set_ir_version(kIrVersion);
  model.set_producer_name("tinh");
  model.add_opset_import()->set_version(kOpset);
  std::string name = nameOf(main.getLoc());
  model.mutable_graph()->set_name(name.empty() ? "main" : name);
}

/// One element, repeated when the model is loaded.
void ModelWriter::addRepeated(StringRef name, DenseElementsAttr value) {
  Builder b(module.getContext());
  DenseElementsAttr shape = b.getI64TensorAttr(value.getType().getShape());
  ::onnx::NodeProto &node = addNode();
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

void ModelWriter::addConstant(StringRef name, TypedAttr value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (dense && dense.isSplat() && isLarge(value))
    addRepeated(name, dense);
  else
    addInitializer(name, value);
}

void ModelWriter::addInitializer(StringRef name, TypedAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
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
  set("length", std::to_string(graph::tensorSize(type)));
}

Tensor ModelWriter::constant(TypedAttr value, StringRef wanted) {
  std::string name = names.fresh(wanted);
  addConstant(name, value);
  return {name, cast<RankedTensorType>(value.getType())};
}

void ModelWriter::writeOp(Operation *op) {
  if (auto constant = dyn_cast<graph::ConstantOp>(op))
    return addConstant(names.tensor(constant.getY()), constant.getValue());
  const OpEntry *entry = findWriter(op->getName().getStringRef());
  if (!entry || op->getNumResults() != 1)
    return refusals.add(op, names.node(op),
                        "it has no counterpart; only phases 'graph' and "
                        "'normalised' can be exported");
  NodeWriter writer(*this, op, entry->onnx);
  Tensor result = entry->write(writer);
  if (result.type)
    writer.finish(result);
}

void ModelWriter::addOutputs() {
  ::onnx::GraphProto &graph = *model.mutable_graph();
  for (const OutputName &output : names.outputs()) {
    setType(*graph.add_output(), output.name, output.value.getType());
    if (!output.isCopy)
      continue;
    ::onnx::NodeProto &node = addNode();
    node.set_name(output.name);
    node.set_op_type("Identity");
    node.add_input(names.tensor(output.value));
    node.add_output(output.name);
  }
}

LogicalResult ModelWriter::build(StringRef weights) {
  weightsName = weights;
  if (failed(names.assign(main)))
    return failure();
  describeModel();
  for (BlockArgument argument : main.getArguments())
    setType(*model.mutable_graph()->add_input(), names.tensor(argument),
            argument.getType());
  for (Operation &op : main.getBody().front().without_terminator())
    writeOp(&op);
  addOutputs();
  if (failed(refusals.report(module, "ONNX")))
    return failure();
  return error.empty() ? success() : LogicalResult(module.emitError(error));
}

} // namespace

} // namespace tinh::onnx

namespace tinh {

LogicalResult exportOnnx(ModuleOp module, StringRef path,
                         const ExportOptions &options) {
  func::FuncOp main = findMain(module);
  if (!main)
    return failure();
  std::string weightsPath = (path + ".data").str();
  MappedFiles sources(options.modelDirectory);
  onnx::ModelWriter writer(module, main, sources);
  if (failed(writer.build(llvm::sys::path::filename(weightsPath))))
    return failure();
  if (llvm::Error error =
          writeModel(path, writer.model.SerializeAsString(), weightsPath,
                     /*header=*/"", writer.weightFile, sources))
    return module.emitError(llvm::toString(std::move(error)));
  return success();
}

} // namespace tinh
