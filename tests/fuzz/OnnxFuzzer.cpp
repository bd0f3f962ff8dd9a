//===- OnnxFuzzer.cpp - ONNX models -----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CompileInput.h"
#include "mutation.h"

#include "compiler/Import/onnx/onnx.pb.h"

using namespace tinh;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::compileInput({reinterpret_cast<const char *>(data), size}, ".onnx",
                     Phase::Graph, Phase::Plan);
  return 0;
}

namespace {

template <typename T> using Repeated = google::protobuf::RepeatedField<T>;
using Strings = google::protobuf::RepeatedPtrField<std::string>;

/// Changes a model at one place.
class Mutator {
public:
  Mutator(onnx::ModelProto &model, fuzz::Random &random)
      : model(model), random(random) {
    collect(*model.mutable_graph());
    for (onnx::FunctionProto &function : *model.mutable_functions())
      for (onnx::NodeProto &node : *function.mutable_node())
        collect(node);
  }

  void run() {
    switch (random.below(10)) {
    case 0:
      return changeOpset();
    case 1:
    case 2:
      return tensors.empty() ? run() : change(*random.any(tensors));
    case 3:
      return infos.empty() ? run() : change(*random.any(infos));
    case 4:
      return changeNodes(*random.any(graphs));
    default:
      return nodes.empty() ? changeOpset() : change(*random.any(nodes));
    }
  }

private:
  void collect(onnx::GraphProto &graph);
  void collect(onnx::NodeProto &node);
  void changeOpset();
  void changeNodes(onnx::GraphProto &graph);
  void change(onnx::NodeProto &node);
  void change(onnx::AttributeProto &attribute);
  void change(onnx::TensorProto &tensor);
  void change(onnx::ValueInfoProto &info);
  void changeEdge(Strings &edges);
  template <typename T> void change(Repeated<T> &numbers);
  void changeBytes(std::string &bytes);

  onnx::ModelProto &model;
  fuzz::Random &random;
  std::vector<onnx::GraphProto *> graphs;
  std::vector<onnx::NodeProto *> nodes;
  std::vector<onnx::TensorProto *> tensors;
  std::vector<onnx::ValueInfoProto *> infos;
  std::vector<std::string> values{""}; ///< Names of what flows on edges.
};

} // namespace

void Mutator::collect(onnx::GraphProto &graph) {
  graphs.push_back(&graph);
  for (onnx::TensorProto &tensor : *graph.mutable_initializer()) {
    tensors.push_back(&tensor);
    values.push_back(tensor.name());
  }
  for (auto *list : {graph.mutable_input(), graph.mutable_output(),
                     graph.mutable_value_info()})
    for (onnx::ValueInfoProto &info : *list) {
      infos.push_back(&info);
      values.push_back(info.name());
    }
  for (onnx::NodeProto &node : *graph.mutable_node())
    collect(node);
}

void Mutator::collect(onnx::NodeProto &node) {
  nodes.push_back(&node);
  values.insert(values.end(), node.output().begin(), node.output().end());
  for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    if (attribute.has_t())
      tensors.push_back(attribute.mutable_t());
    if (attribute.has_g())
      collect(*attribute.mutable_g());
    for (onnx::GraphProto &graph : *attribute.mutable_graphs())
      collect(graph);
  }
}

void Mutator::changeOpset() {
  if (model.opset_import_size() == 0)
    model.add_opset_import();
  auto &opset = *model.mutable_opset_import(
      static_cast<int>(random.below(model.opset_import_size())));
  opset.set_version(random.one_in(4)
                        ? random.number()
                        : static_cast<int64_t>(1 + random.below(28)));
}

void Mutator::changeNodes(onnx::GraphProto &graph) {
  auto &list = *graph.mutable_node();
  if (list.empty())
    return;
  int at = static_cast<int>(random.below(list.size())),
      other = static_cast<int>(random.below(list.size()));
  switch (random.below(3)) {
  case 0:
    list.DeleteSubrange(at, 1);
    break;
  case 1:
    list.SwapElements(at, other);
    break;
  default: {
    // The copy takes the place of the output; its results are new.
    onnx::NodeProto copy = *random.any(nodes);
    for (std::string &output : *copy.mutable_output())
      output += "'";
    *list.Add() = copy;
  }
  }
}

void Mutator::changeEdge(Strings &edges) {
  if (edges.empty() || random.one_in(6))
    *edges.Add() = random.any(values);
  else if (random.one_in(6))
    edges.RemoveLast();
  else
    edges[static_cast<int>(random.below(edges.size()))] = random.any(values);
}

void Mutator::change(onnx::NodeProto &node) {
  auto &attributes = *node.mutable_attribute();
  switch (random.below(8)) {
  case 0:
    return changeEdge(*node.mutable_input());
  case 1:
    return random.one_in(4) ? changeEdge(*node.mutable_output())
                            : changeEdge(*node.mutable_input());
  case 2:
    node.set_op_type(random.any(nodes)->op_type());
    return;
  case 3:
    if (!attributes.empty())
      attributes.DeleteSubrange(
          static_cast<int>(random.below(attributes.size())), 1);
    return;
  case 4: {
    const onnx::NodeProto &other = *random.any(nodes);
    if (other.attribute_size() > 0)
      *attributes.Add() = onnx::AttributeProto(other.attribute(
          static_cast<int>(random.below(other.attribute_size()))));
    return;
  }
  default:
    if (!attributes.empty())
      change(attributes[static_cast<int>(random.below(attributes.size()))]);
  }
}

template <typename T> void Mutator::change(Repeated<T> &numbers) {
  auto number = static_cast<T>(random.number());
  if (numbers.empty() || random.one_in(5))
    numbers.Add(number);
  else if (random.one_in(5))
    numbers.RemoveLast();
  else
    numbers[static_cast<int>(random.below(numbers.size()))] = number;
}

void Mutator::changeBytes(std::string &bytes) {
  switch (random.below(4)) {
  case 0:
    bytes.resize(random.below(bytes.size() + 1));
    break;
  case 1:
    bytes += bytes;
    break;
  default:
    if (!bytes.empty())
      random.any(bytes) = static_cast<char>(random.number());
  }
}

void Mutator::change(onnx::AttributeProto &attribute) {
  if (random.one_in(10))
    return attribute.set_type(
        static_cast<onnx::AttributeProto::AttributeType>(random.below(15)));
  if (attribute.ints_size() > 0)
    return change(*attribute.mutable_ints());
  if (attribute.floats_size() > 0)
    return change(*attribute.mutable_floats());
  if (attribute.has_i())
    return attribute.set_i(random.number());
  if (attribute.has_f())
    return attribute.set_f(static_cast<float>(random.number()) / 3);
  if (attribute.has_s())
    return changeBytes(*attribute.mutable_s());
  if (attribute.strings_size() > 0)
    return changeBytes(*attribute.mutable_strings(
        static_cast<int>(random.below(attribute.strings_size()))));
  if (attribute.has_t())
    return change(*attribute.mutable_t());
}

void Mutator::change(onnx::TensorProto &tensor) {
  switch (random.below(5)) {
  case 0:
    return change(*tensor.mutable_dims());
  case 1:
    return tensor.set_data_type(static_cast<int>(random.below(30)));
  default:
    if (tensor.int64_data_size() > 0)
      return change(*tensor.mutable_int64_data());
    if (tensor.int32_data_size() > 0)
      return change(*tensor.mutable_int32_data());
    if (tensor.float_data_size() > 0)
      return change(*tensor.mutable_float_data());
    return changeBytes(*tensor.mutable_raw_data());
  }
}

void Mutator::change(onnx::ValueInfoProto &info) {
  auto &type = *info.mutable_type()->mutable_tensor_type();
  auto &dims = *type.mutable_shape()->mutable_dim();
  switch (random.below(5)) {
  case 0:
    return type.set_elem_type(static_cast<int>(random.below(30)));
  case 1:
    dims.Add()->set_dim_value(random.number());
    return;
  case 2:
    if (!dims.empty())
      dims.RemoveLast();
    return;
  case 3:
    info.set_name(random.any(values));
    return;
  default:
    if (!dims.empty())
      dims[static_cast<int>(random.below(dims.size()))].set_dim_value(
          random.number());
  }
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t max_size, unsigned seed) {
  fuzz::Random random(seed);
  onnx::ModelProto model;
  if (random.one_in(20) || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, max_size);
  do
    Mutator(model, random).run();
  while (random.one_in(2));
  return fuzz::give(model.SerializeAsString(), data, size, max_size);
}

/// Puts the nodes, constants and inputs of a second model behind those of the
/// first: ops that no test has together.
extern "C" size_t LLVMFuzzerCustomCrossOver(
    const uint8_t *first, size_t first_size, const uint8_t *second,
    size_t second_size, uint8_t *out, size_t max_out_size, unsigned int seed) {
  onnx::ModelProto model, other;
  if (!model.ParseFromArray(first, static_cast<int>(first_size)) ||
      !other.ParseFromArray(second, static_cast<int>(second_size)))
    return 0;
  onnx::GraphProto *graph = model.mutable_graph();
  graph->MergeFrom(other.graph());
  std::string content = model.SerializeAsString();
  if (content.size() > max_out_size)
    return 0;
  std::copy(content.begin(), content.end(), out);
  return content.size();
}
