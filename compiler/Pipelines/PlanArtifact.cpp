//===- PlanArtifact.cpp - From a plan to an artifact's tables ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/PlanArtifact.h"

#include "dialects/graph/Graph.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tinh {

static tinh_dtype_t dtypeOf(Type type) {
  if (type.isF64())
    return TINH_DTYPE_F64;
  if (type.isF32())
    return TINH_DTYPE_F32;
  if (type.isF16())
    return TINH_DTYPE_F16;
  if (type.isBF16())
    return TINH_DTYPE_BF16;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return TINH_DTYPE_BOOL;
  case 8:
    return isUnsigned ? TINH_DTYPE_U8 : TINH_DTYPE_I8;
  case 16:
    return isUnsigned ? TINH_DTYPE_U16 : TINH_DTYPE_I16;
  case 32:
    return isUnsigned ? TINH_DTYPE_U32 : TINH_DTYPE_I32;
  default:
    return isUnsigned ? TINH_DTYPE_U64 : TINH_DTYPE_I64;
  }
}

static artifact::Tensor describe(StringRef name, RankedTensorType type) {
  artifact::Tensor result;
  result.name = name.str();
  result.dtype = dtypeOf(type.getElementType());
  result.dims.assign(type.getShape().begin(), type.getShape().end());
  result.size = graph::tensorSize(type);
  return result;
}

static std::vector<artifact::Tensor> describe(ArrayAttr tensors) {
  std::vector<artifact::Tensor> result;
  for (auto tensor : tensors.getAsRange<plan::TensorAttr>())
    result.push_back(describe(tensor.getName(), tensor.getType()));
  return result;
}

static tinh_buffer_ref_t describe(plan::BufferAttr buffer) {
  static constexpr tinh_space_t kSpaces[] = {
      TINH_SPACE_ARENA, TINH_SPACE_WEIGHTS, TINH_SPACE_INPUT,
      TINH_SPACE_OUTPUT};
  return {static_cast<uint32_t>(kSpaces[static_cast<int>(buffer.getSpace())]),
          buffer.getIndex(), static_cast<uint64_t>(buffer.getOffset())};
}

/// The names of the model's nodes in `location`, with a space between them.
static std::string nodeNames(Location location) {
  std::string names;
  location->walk([&](Location inner) {
    if (auto name = dyn_cast<NameLoc>(inner)) {
      if (!names.empty())
        names += ' ';
      names += name.getName().getValue();
    }
    return WalkResult::advance();
  });
  return names;
}

namespace {

/// Adds functions with their kernels, each once, to the contents.
class Describer {
public:
  explicit Describer(artifact::Contents &contents) : contents(contents) {}
  void add(plan::FunctionOp function);

private:
  artifact::Step describeStep(Operation &op);
  uint32_t kernel(plan::DispatchOp dispatch);

  artifact::Contents &contents;
  llvm::StringMap<uint32_t> kernels;
};

uint32_t Describer::kernel(plan::DispatchOp dispatch) {
  auto [known, isNew] =
      kernels.try_emplace(dispatch.getKernel(), contents.kernels.size());
  if (isNew)
    contents.kernels.push_back(
        {dispatch.getKernel().str(), dispatch.getScratch()});
  return known->second;
}

artifact::Step Describer::describeStep(Operation &op) {
  artifact::Step step;
  plan::StepAccess access = plan::accessOf(&op);
  if (auto dispatch = dyn_cast<plan::DispatchOp>(op)) {
    step.kernel = kernel(dispatch);
    step.chunks = dispatch.getChunks();
    step.label = nodeNames(op.getLoc());
  } else {
    step.opcode = TINH_OP_COPY;
    step.size = access.reads[0].getSize();
    step.label = "copy";
  }
  for (plan::BufferAttr buffer :
       llvm::concat<plan::BufferAttr>(access.reads, access.writes))
    step.buffers.push_back(describe(buffer));
  return step;
}

void Describer::add(plan::FunctionOp function) {
  artifact::Function result;
  result.name = function.getSymName().str();
  result.inputs = describe(function.getInputs());
  result.outputs = describe(function.getOutputs());
  result.arenaSize = function.getArena();
  result.unplannedSize = function.getUnplanned();
  result.lowerBoundSize = function.getLowerBound();
  DenseMap<Operation *, int32_t> numbers;
  for (Operation &op : function.getBody().front()) {
    artifact::Step &step = result.steps.emplace_back(describeStep(op));
    if (Operation *after = plan::accessOf(&op).after)
      step.waitFor = numbers.at(after);
    numbers[&op] = result.steps.size() - 1;
  }
  contents.functions.push_back(std::move(result));
}

artifact::Contents emptyContents(ModuleOp module, const cpu::Target &target) {
  artifact::Contents contents;
  if (auto name = module->getAttrOfType<StringAttr>(graph::names::kModel))
    contents.model = name.str();
  contents.cpu = target.name;
  contents.cpuFeatures = target.featureBits;
  return contents;
}

} // namespace

artifact::Contents describeArtifact(ModuleOp module,
                                    const cpu::Target &target) {
  artifact::Contents contents = emptyContents(module, target);
  for (auto weight : module.getOps<plan::WeightOp>()) {
    artifact::Tensor tensor =
        describe(weight.getName(), cast<RankedTensorType>(weight.getType()));
    tensor.offset = weight.getOffset();
    contents.weightsSize =
        std::max(contents.weightsSize, tensor.offset + tensor.size);
    contents.weights.push_back(std::move(tensor));
  }
  Describer describer(contents);
  for (auto function : module.getOps<plan::FunctionOp>())
    if (function.getSymName() != graph::names::kInit)
      describer.add(function);
  return contents;
}

artifact::Contents describeInit(plan::FunctionOp init,
                                const cpu::Target &host) {
  artifact::Contents contents =
      emptyContents(init->getParentOfType<ModuleOp>(), host);
  Describer(contents).add(init);
  return contents;
}

} // namespace tinh
