//===- EagerModel.cpp - A model run one op at a time ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/EagerModel.h"

#include "compiler/Artifact/Files.h"
#include "compiler/Codegen/Passes.h"
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/ScopeExit.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;

namespace tinh {

static Value root(Value value) {
  while (auto view = value.getDefiningOp<graph::ReshapeOp>())
    value = view.getX();
  return value;
}

namespace {

/// Builds the function of one op: a dispatch whose operands are the function's
/// arguments or weights.
class OpFunction {
public:
  explicit OpFunction(OpBuilder &builder) : builder(builder) {}
  void readWeight(plan::WeightOp weight) {
    reads.push_back(weight.getBuffer());
  }
  void read(Type type) { add(plan::Space::Input, type, inputs, reads); }
  void write(Type type) { add(plan::Space::Output, type, outputs, writes); }

  void create(StringRef name, graph::DispatchOp dispatch, Operation *kernel) {
    auto function = plan::FunctionOp::create(builder, dispatch.getLoc(), name,
                                             builder.getArrayAttr(inputs),
                                             builder.getArrayAttr(outputs));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    auto integer = [&](StringRef attribute) {
      return kernel->getAttrOfType<IntegerAttr>(attribute).getInt();
    };
    plan::DispatchOp::create(
        builder, dispatch.getLoc(), builder.getType<plan::StepType>(),
        dispatch.getKernel(), /*after=*/Value(), integer(graph::names::kChunks),
        integer(graph::names::kScratch), builder.getArrayAttr(reads),
        builder.getArrayAttr(writes), SmallVector<int64_t>(writes.size(), -1));
  }

private:
  void add(plan::Space space, Type type, SmallVectorImpl<Attribute> &tensors,
           SmallVectorImpl<Attribute> &buffers) {
    buffers.push_back(plan::BufferAttr::get(builder.getContext(), space,
                                            tensors.size(), 0,
                                            graph::tensorSize(type)));
    tensors.push_back(plan::TensorAttr::get(builder.getStringAttr(""),
                                            cast<RankedTensorType>(type)));
  }

  OpBuilder &builder;
  SmallVector<Attribute> inputs, outputs, reads, writes;
};

} // namespace

/// Takes the module from phase Kernels to Plan: each dispatch becomes a
/// function of its own; weights are read in place.
LogicalResult EagerModel::plan(ModuleOp module) {
  if (failed(codegen::planInit(module)))
    return failure();
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  SymbolTable symbols(module);
  OpBuilder builder(main);
  llvm::StringMap<plan::WeightOp> weights;
  for (auto weight : module.getOps<plan::WeightOp>())
    weights[weight.getName()] = weight;
  llvm::DenseMap<Value, uint32_t> numbers;
  auto number = [&](Value value) {
    auto [entry, isNew] = numbers.try_emplace(value, sizes.size());
    if (isNew)
      sizes.push_back(graph::tensorSize(value.getType()));
    return entry->second;
  };
  for (BlockArgument argument : main.getArguments())
    number(argument);
  numInputs = sizes.size();

  for (auto dispatch : main.getOps<graph::DispatchOp>()) {
    OpFunction function(builder);
    Call call;
    for (Value input : dispatch.getInputs()) {
      Value source = root(input);
      if (auto weight = source.getDefiningOp<graph::WeightOp>()) {
        function.readWeight(weights.lookup(weight.getName()));
        continue;
      }
      function.read(input.getType());
      call.inputs.push_back(number(source));
    }
    for (Value output : dispatch.getOutputs()) {
      function.write(output.getType());
      call.outputs.push_back(number(output));
      allocated += sizes[call.outputs.back()];
    }
    function.create("op" + std::to_string(calls.size()), dispatch,
                    symbols.lookup(dispatch.getKernel()));
    calls.push_back(std::move(call));
  }
  for (Value value : main.getBody().front().getTerminator()->getOperands()) {
    if (root(value).getDefiningOp<graph::WeightOp>())
      return emitError(UnknownLoc::get(module.getContext()),
                       "a result of the model is a constant, which "
                       "eager execution does not support");
    results.push_back(number(root(value)));
  }
  // A value dies with the last call that reads it, if the model does not
  // return it.
  std::vector<char> live(sizes.size(), false);
  for (uint32_t value : results)
    live[value] = true;
  for (Call &call : llvm::reverse(calls))
    for (auto *values : {&call.outputs, &call.inputs})
      for (uint32_t value : *values)
        if (!live[value]) {
          live[value] = true;
          call.dead.push_back(value);
        }
  main.erase();
  return verifyPhase(module, Phase::Plan);
}

std::unique_ptr<EagerModel> EagerModel::create(ModuleOp module,
                                               const CompileOptions &options,
                                               uint32_t threads) {
  std::unique_ptr<EagerModel> model(new EagerModel);
  if (failed(model->plan(module)))
    return nullptr;
  artifact::ScratchFile file("tinh-eager");
  CompileReport report;
  CompileOptions embedded = options;
  embedded.weights = CompileOptions::Weights::Embedded;
  if (failed(writeArtifact(module, file.name, embedded, report)))
    return nullptr;
  tinh_context_options_t runtime;
  tinh_context_options_init(&runtime);
  runtime.threads = threads;
  if (tinh_module_load(file.name.c_str(), &model->loaded) != TINH_OK ||
      tinh_context_create(model->loaded, &runtime, &model->context) !=
          TINH_OK) {
    emitError(UnknownLoc::get(module.getContext()), tinh_last_error());
    return nullptr;
  }
  return model;
}

EagerModel::~EagerModel() {
  if (context)
    tinh_context_release(context);
  if (loaded)
    tinh_module_release(loaded);
}

bool EagerModel::run(const std::vector<tinh_buffer_t> &inputs,
                     const std::vector<tinh_buffer_t> &outputs) {
  std::vector<void *> memory(sizes.size(), nullptr);
  llvm::scope_exit release([&] {
    for (size_t i = numInputs; i < memory.size(); ++i)
      std::free(memory[i]);
  });
  for (size_t i = 0; i < inputs.size(); ++i)
    memory[i] = inputs[i].data;
  std::vector<tinh_buffer_t> read, written;
  for (auto [i, call] : llvm::enumerate(calls)) {
    read.clear();
    written.clear();
    for (uint32_t value : call.inputs)
      read.push_back({memory[value], sizes[value]});
    for (uint32_t value : call.outputs) {
      size_t size = (sizes[value] + 63) / 64 * 64;
      memory[value] = std::aligned_alloc(64, std::max<size_t>(size, 64));
      written.push_back({memory[value], sizes[value]});
    }
    if (tinh_context_run(context, i, read.data(), read.size(), written.data(),
                         written.size()) != TINH_OK)
      return false;
    for (uint32_t value : call.dead)
      if (value >= numInputs) {
        std::free(memory[value]);
        memory[value] = nullptr;
      }
  }
  for (auto [i, value] : llvm::enumerate(results))
    std::memcpy(outputs[i].data, memory[value], outputs[i].size);
  return true;
}

} // namespace tinh
