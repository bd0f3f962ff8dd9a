//===- InitRunner.cpp - Computing the weights -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The function that turns a model's constants into the tensors that its kernels
// read is itself an artifact, in a temporary file, that the runtime runs.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/InitRunner.h"

#include "compiler/Graph/ExternalData.h"
#include "compiler/Support/Files.h"
#include "dialects/graph/Graph.h"
#include "tinh/runtime.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Target/TargetMachine.h"

#include <cstring>
#include <deque>

using namespace mlir;

namespace tinh {

namespace {

/// The bytes of @init's arguments: mapped files and expanded attributes.
class Sources {
public:
  explicit Sources(StringRef directory) : files(directory) {}

  llvm::Expected<const char *> find(TypedAttr source) {
    if (source)
      source = graph::elementsOf(source);
    if (auto file = dyn_cast_or_null<graph::ExternalAttr>(source))
      return find(file);
    if (auto dense = dyn_cast_or_null<DenseElementsAttr>(source))
      return expand(dense);
    return llvm::createStringError("an input of @init has no value");
  }

private:
  llvm::Expected<const char *> find(graph::ExternalAttr source) {
    auto bytes = files.read(source);
    if (!bytes)
      return bytes.takeError();
    return aligned(bytes->data(), bytes->size());
  }

  /// Files need not align their tensors as kernels want them.
  const char *aligned(const char *bytes, uint64_t size) {
    if (reinterpret_cast<uintptr_t>(bytes) % 8 == 0)
      return bytes;
    return expanded.emplace_back(bytes, bytes + size).data();
  }

  llvm::Expected<const char *> expand(DenseElementsAttr dense) {
    bool isBool = dense.getElementType().isInteger(1);
    if (!dense.isSplat() && !isBool)
      return dense.getRawData().data();
    std::vector<char> &bytes = expanded.emplace_back();
    bytes.reserve(graph::tensorSize(dense.getType()));
    if (isBool) {
      for (bool value : dense.getValues<bool>())
        bytes.push_back(value);
    } else {
      ArrayRef<char> element = dense.getRawData();
      for (int64_t i = 0; i < dense.getNumElements(); ++i)
        bytes.insert(bytes.end(), element.begin(), element.end());
    }
    return bytes.data();
  }

  MappedFiles files;
  std::deque<std::vector<char>> expanded;
};

llvm::Error runtimeError(const char *what) {
  return llvm::createStringError(
      llvm::Twine("cannot ") + what +
      " the preparation of the weights: " + tinh_last_error());
}

/// Copies the inputs of @init that are no parameters to their places, if the
/// artifact has any for them.
void copyConstants(plan::FunctionOp init, ArrayRef<tinh_buffer_t> inputs,
                   ArrayRef<artifact::Tensor> places,
                   MutableArrayRef<char> memory) {
  for (auto [input, bytes] :
       llvm::zip_equal(init.getInputs().getAsRange<plan::TensorAttr>(), inputs))
    if (!places.empty() && !isa<graph::ParameterAttr>(input.getValue())) {
      std::memcpy(memory.data() + places.front().offset, bytes.data,
                  bytes.size);
      places = places.drop_front();
    }
}

} // namespace

llvm::Error runInit(plan::FunctionOp init, const artifact::Contents &contents,
                    ArrayRef<artifact::Object> kernels, const cpu::Target &host,
                    StringRef directory, ArrayRef<artifact::Tensor> weights,
                    MutableArrayRef<char> memory) {
  std::unique_ptr<llvm::TargetMachine> machine = cpu::makeTargetMachine(host);
  auto file = artifact::writeToMemory(contents, kernels, *machine);
  if (!file)
    return file.takeError();

  Sources sources(directory);
  std::vector<tinh_buffer_t> inputs, outputs;
  for (auto input : init.getInputs().getAsRange<plan::TensorAttr>()) {
    auto bytes = sources.find(input.getValue());
    if (!bytes)
      return bytes.takeError();
    inputs.push_back(
        {const_cast<char *>(*bytes),
         static_cast<uint64_t>(graph::tensorSize(input.getType()))});
  }
  size_t numResults = init.getOutputs().size();
  for (const artifact::Tensor &weight : weights.take_front(numResults))
    outputs.push_back({memory.data() + weight.offset, weight.size});
  copyConstants(init, inputs, weights.drop_front(numResults), memory);

  tinh_module_t *module = nullptr;
  if (tinh_module_load(file->name().c_str(), &module) != TINH_OK)
    return runtimeError("load");
  llvm::scope_exit unload([&] { tinh_module_release(module); });
  tinh_context_t *context = nullptr;
  if (tinh_context_create(module, nullptr, &context) != TINH_OK)
    return runtimeError("start");
  llvm::scope_exit close([&] { tinh_context_release(context); });
  if (tinh_context_run(context, 0, inputs.data(), inputs.size(), outputs.data(),
                       outputs.size()) != TINH_OK)
    return runtimeError("run");
  return llvm::Error::success();
}

} // namespace tinh
