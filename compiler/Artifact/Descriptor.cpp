//===- Descriptor.cpp - The artifact's tables as an object file -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Artifact/Artifact.h"
#include "compiler/Support/MachineCode.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace tinh::artifact {

namespace {

/// Builds constants that have the layout of the structures in tinh/artifact.h.
class DescriptorBuilder {
public:
  DescriptorBuilder(const Contents &contents, TargetMachine &machine)
      : contents(contents), module("descriptor", context) {
    module.setTargetTriple(machine.getTargetTriple());
    module.setDataLayout(machine.createDataLayout());
  }

  Module &build(const WriteOptions &options) {
    std::vector<Constant *> all;
    for (const Kernel &kernel : contents.kernels)
      all.push_back(describe(kernel));
    Constant *kernels = array(all);
    Constant *withoutGpu = null();
    if (contents.withoutGpu)
      withoutGpu =
          hold(describe(*contents.withoutGpu, kernels, null(), null()));
    Constant *init = contents.init ? hold(describe(*contents.init)) : null();
    Constant *descriptor = describe(contents, kernels, init, withoutGpu);
    if (options.linkage == Linkage::Relocatable) {
      exported(structure({linkedNote(), hold(descriptor),
                          options.externalWeights ? null() : linkedWeights()}),
               modelSymbol(contents.model));
      return module;
    }
    exported(descriptor, TINH_ARTIFACT_SYMBOL);
    addNote();
    return module;
  }

private:
  Constant *i32(uint64_t value) {
    return ConstantInt::get(Type::getInt32Ty(context), value, false, true);
  }
  Constant *i64(uint64_t value) {
    return ConstantInt::get(Type::getInt64Ty(context), value, false, true);
  }
  Constant *f64(double value) {
    return ConstantFP::get(Type::getDoubleTy(context), value);
  }
  Constant *null() {
    return ConstantPointerNull::get(PointerType::get(context, 0));
  }
  Constant *structure(ArrayRef<Constant *> fields) {
    return ConstantStruct::getAnon(context, fields);
  }
  Constant *hold(Constant *value) {
    auto *global = new GlobalVariable(module, value->getType(), true,
                                      GlobalValue::PrivateLinkage, value);
    global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    return global;
  }
  Constant *text(StringRef value) {
    Constant *&known = texts[value.str()];
    if (!known)
      known = hold(ConstantDataArray::getString(context, value));
    return known;
  }
  Constant *array(ArrayRef<Constant *> elements) {
    if (elements.empty())
      return null();
    return hold(ConstantArray::get(
        ArrayType::get(elements[0]->getType(), elements.size()), elements));
  }
  /// The function or image of this name.
  Constant *code(StringRef name) {
    auto *type = FunctionType::get(Type::getVoidTy(context), false);
    auto callee = module.getOrInsertFunction(name, type);
    auto *function = cast<llvm::Function>(callee.getCallee());
    function->setVisibility(GlobalValue::HiddenVisibility);
    return function;
  }

  Constant *extents(const Tensor &tensor) {
    std::vector<Constant *> dims;
    for (unsigned i = 0; i < TINH_MAX_RANK; ++i)
      dims.push_back(i64(i < tensor.dims.size() ? tensor.dims[i] : 0));
    return ConstantArray::get(
        ArrayType::get(Type::getInt64Ty(context), TINH_MAX_RANK), dims);
  }

  /// Equal ones once.
  Constant *numbers(const std::vector<int64_t> &values) {
    Constant *&known = arrays[values];
    if (known)
      return known;
    std::vector<Constant *> elements;
    for (int64_t value : values)
      elements.push_back(i64(static_cast<uint64_t>(value)));
    return known = array(elements);
  }

  Constant *describe(const Kernel &kernel) {
    std::vector<Constant *> operands;
    for (const Operand &operand : kernel.operands)
      operands.push_back(structure(
          {i32(operand.dtype), i32(operand.written), i32(operand.dims.size()),
           numbers(operand.dims), numbers(operand.strides)}));
    bool onCpu = kernel.device == TINH_DEVICE_CPU;
    Constant *symbol = code(onCpu ? kernel.name : kernel.image);
    return structure({text(kernel.name), onCpu ? symbol : null(),
                      i64(kernel.scratchSize), i32(operands.size()),
                      array(operands), i32(kernel.device), i32(kernel.threads),
                      onCpu ? null() : symbol,
                      kernel.library ? hold(describe(*kernel.library)) : null(),
                      i64(kernel.operations), i64(kernel.bytes),
                      f64(kernel.estimatedCycles), text(kernel.plan)});
  }

  Constant *fixed(ArrayRef<int64_t> values) {
    std::vector<Constant *> elements;
    for (int64_t value : values)
      elements.push_back(i64(static_cast<uint64_t>(value)));
    return ConstantArray::get(
        ArrayType::get(Type::getInt64Ty(context), elements.size()), elements);
  }

  Constant *describe(const tinh_view_t &view) {
    return structure({i32(view.operand), i32(view.rank), fixed(view.dims),
                      fixed(view.strides)});
  }

  Constant *describe(const tinh_library_call_t &call) {
    return structure(
        {i32(call.kind), i32(call.activation), i32(call.allow_tf32),
         i32(call.reserved), describe(call.left), describe(call.right),
         describe(call.result), describe(call.bias), describe(call.residual),
         fixed(call.low), fixed(call.high), fixed(call.strides),
         fixed(call.dilations)});
  }

  Constant *describe(const Tensor &tensor) {
    return structure({text(tensor.name), i32(tensor.dtype),
                      i32(tensor.dims.size()), extents(tensor),
                      i64(tensor.size),
                      i32(static_cast<uint32_t>(tensor.variable)),
                      outputNumbers(tensor.sizeOutputs)});
  }

  Constant *outputNumbers(const std::vector<int32_t> &numbers) {
    std::vector<Constant *> elements;
    for (int32_t number : numbers)
      elements.push_back(i32(static_cast<uint32_t>(number)));
    return array(elements);
  }

  Constant *describe(const Conversion &conversion) {
    return structure({i32(conversion.kernel), i64(conversion.chunks)});
  }

  Constant *describe(const Variable &variable) {
    return structure({text(variable.name), i32(variable.dtype),
                      i32(variable.dims.size()), extents(variable),
                      i64(variable.size), i64(variable.offset),
                      i64(variable.initialOffset), i32(variable.trainable),
                      i64(variable.storedSize), describe(variable.pack),
                      describe(variable.unpack), i32(variable.device)});
  }

  Constant *describe(const Step &step) {
    std::vector<Constant *> buffers, strides;
    for (const tinh_buffer_ref_t &ref : step.buffers)
      buffers.push_back(
          structure({i32(ref.space), i32(ref.index), i64(ref.offset)}));
    for (const tinh_stride_t &stride : step.strides)
      strides.push_back(structure({i32(stride.buffer), i32(stride.loop),
                                   i64(static_cast<uint64_t>(stride.bytes))}));
    return structure(
        {i32(step.opcode), i32(step.kernel),
         i32(static_cast<uint32_t>(step.waitFor)), i32(buffers.size()),
         array(buffers), i64(step.chunks), i64(step.size), text(step.label),
         i32(step.target), i32(strides.size()), array(strides), i32(step.alone),
         step.collective ? array(describe(*step.collective)) : null()});
  }

  Constant *describe(const tinh_collective_desc_t &collective) {
    return structure({i32(collective.kind), i32(collective.reduction),
                      i32(collective.dtype),
                      i32(collective.communication_dtype), i32(collective.root),
                      i32(collective.num_ranks), i64(collective.count)});
  }

  /// Structures of uint32_t alone, as an array of these.
  template <typename T> Constant *words(const std::vector<T> &values) {
    static_assert(alignof(T) == alignof(uint32_t));
    if (values.empty())
      return null();
    return hold(ConstantDataArray::get(
        context, ArrayRef(reinterpret_cast<const uint32_t *>(values.data()),
                          values.size() * sizeof(T) / sizeof(uint32_t))));
  }

  Constant *describe(const planning::DevicePlan &plan) {
    auto bytes = [&](const std::vector<uint8_t> &values) {
      return hold(ConstantDataArray::get(context, values));
    };
    return structure({bytes(plan.launches), bytes(plan.gates),
                      i32(plan.segments.size()), i32(plan.nodes.size()),
                      i32(plan.edges.size()), words(plan.segments),
                      words(plan.nodes), words(plan.edges)});
  }

  Constant *describe(const Function &function) {
    std::vector<Constant *> inputs, outputs, steps;
    for (const Tensor &tensor : function.inputs)
      inputs.push_back(describe(tensor));
    for (const Tensor &tensor : function.outputs)
      outputs.push_back(describe(tensor));
    for (const Step &step : function.steps)
      steps.push_back(describe(step));
    bool mutates = any_of(function.outputs, [](const Tensor &tensor) {
      return tensor.variable != TINH_NOT_VARIABLE;
    });
    return structure(
        {text(function.name), i32(inputs.size()), i32(outputs.size()),
         array(inputs), array(outputs), i32(steps.size()), i32(mutates),
         array(steps), i64(function.arenaSize), i64(function.unplannedSize),
         i64(function.lowerBoundSize), i64(function.deviceArenaSize),
         i64(function.deviceUnplannedSize), i64(function.deviceLowerBoundSize),
         function.devicePlan ? hold(describe(*function.devicePlan)) : null()});
  }

  Constant *describe(const Program &program, Constant *kernels, Constant *init,
                     Constant *withoutGpu) {
    std::vector<Constant *> functions, variables;
    for (const Function &function : program.functions)
      functions.push_back(describe(function));
    for (const Variable &variable : program.variables)
      variables.push_back(describe(variable));
    return structure(
        {i32(TINH_ARTIFACT_VERSION), i32(contents.kernels.size()),
         text("tinh 0.1.0"), text(contents.model), kernels,
         i32(functions.size()), i32(variables.size()), array(functions),
         array(variables), i64(contents.weightsSize), i64(program.stateSize),
         init, i64(program.deviceStateSize), i64(program.deviceWeightsSize),
         withoutGpu,
         structure({f64(contents.core.operations), f64(contents.core.bytes)})});
  }

  void exported(Constant *value, StringRef name) {
    auto *global =
        new GlobalVariable(module, value->getType(), true,
                           GlobalValue::ExternalLinkage, value, name);
    global->setVisibility(GlobalValue::DefaultVisibility);
  }

  /// Bytes in a section of their own.
  GlobalVariable *place(Constant *bytes, StringRef section, uint64_t alignment,
                        StringRef name) {
    auto *global = new GlobalVariable(module, bytes->getType(), true,
                                      GlobalValue::PrivateLinkage, bytes, name);
    global->setSection(section);
    global->setAlignment(Align(alignment));
    return global;
  }

  /// The note; what is known only after linking stays 0 and is patched then.
  tinh_note_t makeNote() const {
    tinh_note_t note = {};
    note.version = TINH_ARTIFACT_VERSION;
    note.weights_embedded = 1;
    note.cpu_features = contents.cpuFeatures;
    note.weights_size = contents.weightsSize;
    contents.cpu.copy(note.cpu, sizeof(note.cpu) - 1);
    return note;
  }

  void addNote() {
    tinh_note_t note = makeNote();
    struct {
      uint32_t nameSize = sizeof(TINH_NOTE_NAME);
      uint32_t descriptorSize = sizeof(tinh_note_t);
      uint32_t type = TINH_NOTE_TYPE;
      char name[8] = TINH_NOTE_NAME;
    } header;
    std::string bytes(reinterpret_cast<char *>(&header), sizeof(header));
    bytes.append(reinterpret_cast<char *>(&note), sizeof(note));
    appendToUsed(module,
                 {place(ConstantDataArray::getString(context, bytes, false),
                        ".note.tinh", 4, "note")});
  }

  /// A program would merge ELF notes; it reads this through a pointer.
  Constant *linkedNote() {
    tinh_note_t note = makeNote();
    StringRef bytes(reinterpret_cast<char *>(&note), sizeof(note));
    return place(ConstantDataArray::getString(context, bytes, false),
                 kLinkedNote, alignof(tinh_note_t), "note");
  }

  /// Where the weights will be. The section's name lets linkers put it where it
  /// parts no code from its data, whatever its size.
  Constant *linkedWeights() {
    if (contents.weightsSize == 0)
      return null();
    auto *type =
        ArrayType::get(Type::getInt8Ty(context), TINH_BUFFER_ALIGNMENT);
    return place(ConstantAggregateZero::get(type), kLinkedWeights,
                 TINH_BUFFER_ALIGNMENT, "weights");
  }

  const Contents &contents;
  LLVMContext context;
  Module module;
  std::map<std::string, Constant *> texts;
  std::map<std::vector<int64_t>, Constant *> arrays;
};

} // namespace

std::string modelSymbol(StringRef model) {
  std::string symbol = (TINH_MODEL_SYMBOL_PREFIX + model).str();
  for (char &c : symbol)
    c = isAlnum(c) ? c : '_';
  return symbol;
}

Expected<Object> makeDescriptor(const Contents &contents,
                                TargetMachine &machine,
                                const WriteOptions &options) {
  DescriptorBuilder builder(contents, machine);
  Module &module = builder.build(options);
  return emitCode(module, machine, CodeGenFileType::ObjectFile);
}

} // namespace tinh::artifact
