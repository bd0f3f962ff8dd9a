//===- EagerModel.cpp - A model run one op at a time ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/EagerModel.h"

#include "compiler/Codegen/Passes.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Support/Files.h"
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

/// Builds the function of one op: a dispatch, or a copy of a weight, whose
/// operands are the function's arguments or weights.
class OpFunction {
public:
  explicit OpFunction(OpBuilder &builder) : builder(builder) {}
  void readWeight(plan::WeightOp weight) {
    reads.push_back(weight.getBuffer());
  }
  void read(Type type) { add(plan::Space::Input, type, inputs, reads); }
  void write(Type type) { add(plan::Space::Output, type, outputs, writes); }

  void dispatch(StringRef name, graph::DispatchOp op, Operation *kernel) {
    OpBuilder::InsertionGuard guard(builder);
    create(name, op.getLoc());
    auto integer = [&](StringRef attribute) {
      return kernel->getAttrOfType<IntegerAttr>(attribute).getInt();
    };
    plan::DispatchOp::create(
        builder, op.getLoc(), builder.getType<plan::StepType>(), op.getKernel(),
        /*after=*/Value(), integer(graph::names::kChunks),
        integer(graph::names::kScratch), builder.getArrayAttr(reads),
        builder.getArrayAttr(writes), SmallVector<int64_t>(writes.size(), -1));
  }
  void copy(StringRef name, Location location) {
    OpBuilder::InsertionGuard guard(builder);
    create(name, location);
    plan::CopyOp::create(builder, location, builder.getType<plan::StepType>(),
                         /*after=*/Value(), cast<plan::BufferAttr>(reads[0]),
                         cast<plan::BufferAttr>(writes[0]));
  }

private:
  /// What follows is built in the function.
  void create(StringRef name, Location location) {
    auto function = plan::FunctionOp::create(builder, location, name,
                                             builder.getArrayAttr(inputs),
                                             builder.getArrayAttr(outputs));
    builder.setInsertionPointToStart(&function.getBody().front());
  }

  void add(plan::Space space, Type type, SmallVectorImpl<Attribute> &tensors,
           SmallVectorImpl<Attribute> &buffers) {
    buffers.push_back(plan::BufferAttr::get(builder.getContext(), space,
                                            tensors.size(), 0,
                                            graph::tensorSize(type)));
    // Shapes do not matter here, and may have more dimensions than the
    // runtime describes.
    auto tensor = cast<RankedTensorType>(type);
    tensors.push_back(plan::TensorAttr::get(
        builder.getStringAttr(""), tensor.clone(tensor.getNumElements())));
  }

  OpBuilder &builder;
  SmallVector<Attribute> inputs, outputs, reads, writes;
};

} // namespace

/// Takes a module from phase Kernels to Plan: each dispatch becomes a function
/// of its own; weights are read in place.
class EagerModel::Planner {
public:
  Planner(EagerModel &model, ModuleOp module)
      : model(model), main(module.lookupSymbol<func::FuncOp>(kMain)),
        symbols(module), builder(main) {
    for (auto weight : module.getOps<plan::WeightOp>())
      weights[weight.getName()] = weight;
  }
  void run();

private:
  static constexpr StringRef kMain = graph::names::kMain;

  uint32_t number(Value value);
  std::string nextName() { return "op" + std::to_string(model.calls.size()); }
  void planDispatch(graph::DispatchOp dispatch);
  void planResult(Value value);
  void markDead();

  EagerModel &model;
  func::FuncOp main;
  SymbolTable symbols;
  OpBuilder builder;
  llvm::StringMap<plan::WeightOp> weights;
  llvm::DenseMap<Value, uint32_t> numbers;
};

uint32_t EagerModel::Planner::number(Value value) {
  auto [entry, isNew] = numbers.try_emplace(value, model.sizes.size());
  if (isNew)
    model.sizes.push_back(graph::tensorSize(value.getType()));
  return entry->second;
}

void EagerModel::Planner::planDispatch(graph::DispatchOp dispatch) {
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
    model.allocated += model.sizes[call.outputs.back()];
  }
  function.dispatch(nextName(), dispatch, symbols.lookup(dispatch.getKernel()));
  model.calls.push_back(std::move(call));
}

/// A result that is a constant is copied from the weights.
void EagerModel::Planner::planResult(Value value) {
  Value source = root(value);
  auto weight = source.getDefiningOp<graph::WeightOp>();
  if (weight && !numbers.contains(source)) {
    OpFunction function(builder);
    function.readWeight(weights.lookup(weight.getName()));
    function.write(weight.getType());
    function.copy(nextName(), weight.getLoc());
    model.calls.push_back({{}, {number(source)}, {}});
  }
  model.results.push_back(number(source));
}

/// A value dies with the last call that reads it, if the model does not
/// return it.
void EagerModel::Planner::markDead() {
  std::vector<char> live(model.sizes.size(), false);
  for (uint32_t value : model.results)
    live[value] = true;
  for (Call &call : llvm::reverse(model.calls))
    for (auto *values : {&call.outputs, &call.inputs})
      for (uint32_t value : *values)
        if (!live[value]) {
          live[value] = true;
          call.dead.push_back(value);
        }
}

void EagerModel::Planner::run() {
  for (BlockArgument argument : main.getArguments())
    number(argument);
  model.numInputs = model.sizes.size();
  for (auto dispatch : main.getOps<graph::DispatchOp>())
    planDispatch(dispatch);
  for (Value value : main.getBody().front().getTerminator()->getOperands())
    planResult(value);
  markDead();
  main.erase();
}

std::unique_ptr<EagerModel> EagerModel::create(ModuleOp module,
                                               const CompileOptions &options,
                                               uint32_t threads) {
  auto refuse = [](Operation *op) {
    if (!graph::isControlFlow(op))
      return WalkResult::advance();
    op->emitError("branches and loops cannot be run op by op");
    return WalkResult::interrupt();
  };
  if (module.walk<WalkOrder::PreOrder>(refuse).wasInterrupted())
    return nullptr;
  std::unique_ptr<EagerModel> model(new EagerModel);
  if (failed(codegen::planInit(module)))
    return nullptr;
  Planner(*model, module).run();
  if (model->calls.empty())
    return model; // All results are inputs.
  if (failed(verifyPhase(module, Phase::Plan))) {
    module.emitError(kInternalError + "this was planned op by op");
    return nullptr;
  }
  if (options.phases.before)
    options.phases.before(module, Phase::Plan);
  ScratchFile file("tinh-eager");
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
