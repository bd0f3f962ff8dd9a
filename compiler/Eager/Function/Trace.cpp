//===- Trace.cpp - A function as it is being recorded -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/Trace.h"

#include "compiler/Eager/Autograd/Tape.h"
#include "compiler/Eager/Function/TracedViews.h"
#include "tinh/runtime.hpp"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace tinh::eager {

RankedTensorType tensorType(MLIRContext *context, const TensorImpl &tensor) {
  return RankedTensorType::get(toArrayRef(tensor.sizes),
                               elementType(context, tensor.dtype));
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

static OwningOpRef<ModuleOp> emptyModule(MLIRContext *context) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  auto main =
      func::FuncOp::create(UnknownLoc::get(context), graph::names::kMain,
                           FunctionType::get(context, {}, {}));
  main.addEntryBlock();
  module->push_back(main);
  return module;
}

Trace::Trace(MLIRContext *context)
    : module(emptyModule(context)),
      main(module->lookupSymbol<func::FuncOp>(graph::names::kMain)),
      graphBuilder(&main.front(), /*directory=*/"") {}

Trace::~Trace() {
  for (const Ref<TracedMemory> &memory : allMemories)
    memory->trace = nullptr;
}

Ref<TracedMemory> Trace::newMemory(RankedTensorType type, Value value) {
  Ref<TracedMemory> memory = new TracedMemory(this, type);
  memory->value = value;
  allMemories.push_back(memory);
  return memory;
}

Trace::Argument &Trace::addArgument(RankedTensorType type) {
  Argument argument;
  argument.initial = main.front().addArgument(type, UnknownLoc::get(context()));
  argument.memory = newMemory(type, argument.initial);
  functionArguments.push_back(std::move(argument));
  captures.push_back({});
  return functionArguments.back();
}

Ref<TensorImpl> newTensor(tinh_dtype_t dtype, const Dims &sizes) {
  Ref<TensorImpl> tensor = TensorImpl::create();
  tensor->dtype = dtype;
  tensor->sizes = sizes;
  tensor->strides = contiguousStrides(sizes);
  return tensor;
}

static void show(TensorImpl &tensor, const Ref<TracedMemory> &memory) {
  Ref<TracedTensor> traced = new TracedTensor;
  traced->memory = memory;
  traced->sizes = tensor.sizes;
  tensor.traced = Ref<TraceData>(traced.get());
}

Ref<TensorImpl> Trace::addInput(const TensorImpl &tensor) {
  Ref<TensorImpl> input = newTensor(tensor.dtype, tensor.sizes);
  show(*input, addArgument(tensorType(context(), tensor)).memory);
  return input;
}

Ref<TensorImpl> Trace::hold(const TensorImpl &like, Value value) {
  Ref<TensorImpl> tensor = newTensor(like.dtype, like.sizes);
  show(*tensor, newMemory(cast<RankedTensorType>(value.getType()), value));
  return tensor;
}

Ref<TensorImpl> Trace::addGradientOf(size_t index) {
  RankedTensorType type = functionArguments[index].memory->type;
  Argument &argument = addArgument(type);
  argument.gradientOf = index;
  ArrayRef<int64_t> shape = type.getShape();
  Ref<TensorImpl> tensor =
      newTensor(dtypeOf(type.getElementType()),
                Dims(std::span(shape.data(), shape.size())));
  show(*tensor, argument.memory);
  return tensor;
}

const Trace::Argument &
Trace::generator(const std::shared_ptr<Generator::State> &state,
                 uint64_t counter, uint64_t blocks) {
  auto known = llvm::find_if(functionArguments, [&](const Argument &argument) {
    return argument.generator.state == state;
  });
  bool isNew = known == functionArguments.end();
  Type u64 = elementType(context(), TINH_DTYPE_U64);
  Argument &argument =
      isNew ? addArgument(RankedTensorType::get({2}, u64)) : *known;
  if (isNew) {
    argument.generator.state = state;
    argument.firstCounter = counter;
  }
  argument.generator.blocks = counter + blocks - argument.firstCounter;
  return argument;
}

Tensor advance(const UsedGenerator &generator, std::source_location at) {
  Generator::State &state = *generator.state;
  uint64_t words[] = {state.seed, state.counter};
  state.counter += generator.blocks;
  return from_bytes(words, 2, uint64, at);
}

/// Whether the two show the same elements of the same memory in the same order.
static bool isSameView(const TensorImpl &x, const TensorImpl &y) {
  return x.storage.get() == y.storage.get() && x.dtype == y.dtype &&
         x.offset == y.offset && llvm::equal(x.sizes, y.sizes) &&
         llvm::equal(x.strides, y.strides);
}

const TracedTensor &Trace::capture(const TensorImpl &tensor) {
  for (auto [argument, known] : llvm::zip_equal(functionArguments, captures))
    if (argument.captured && isSameView(*argument.captured, tensor))
      return static_cast<TracedTensor &>(*known);
  Ref<TracedTensor> traced = new TracedTensor;
  Argument &argument = addArgument(tensorType(context(), tensor));
  argument.captured = const_cast<TensorImpl *>(&tensor);
  argument.memory->isLeaf = leafOf(tensor) != nullptr;
  traced->memory = argument.memory;
  traced->sizes = tensor.sizes;
  captures.back() = Ref<TraceData>(traced.get());
  return *traced;
}

const TracedTensor &Trace::tracedOf(const TensorImpl &tensor) {
  if (!tensor.traced)
    return capture(tensor);
  auto &traced = static_cast<const TracedTensor &>(*tensor.traced);
  if (traced.memory->trace != this)
    throw Error(TINH_INVALID_ARGUMENT,
                "a tensor that was made while a function, a branch or the body "
                "of a loop was traced is used outside of it, where it has no "
                "value; return it from there instead");
  return traced;
}

/// What makes a view, which is written where it is read.
static Call viewCall(const View &how) {
  switch (how.kind) {
  case View::Reshape:
    return {"reshape", {}};
  case View::Transpose:
    return {"permute", {}};
  case View::Slice:
    return {"slice", {}};
  case View::Broadcast:
    return {"broadcast_to", {}};
  }
  llvm_unreachable("a kind of view");
}

void Trace::allocate(TensorImpl &tensor) {
  show(tensor, newMemory(tensorType(context(), tensor), {}));
}

static Ref<TracedTensor> makeView(const TracedTensor &source, const View &how,
                                  const Dims &sizes) {
  Ref<TracedTensor> view = new TracedTensor;
  view->memory = source.memory;
  view->source = Ref<TraceData>(const_cast<TracedTensor *>(&source));
  view->how = how;
  view->sizes = sizes;
  return view;
}

/// The view `how` of a broadcast, as a broadcast of a view: one that shows no
/// element twice can be written then. Null if there is none.
static Ref<TracedTensor> viewBeforeBroadcast(const TracedTensor &broadcast,
                                             const View &how,
                                             const Dims &sizes) {
  if (how.kind != View::Slice && how.kind != View::Transpose)
    return {};
  auto &source = static_cast<const TracedTensor &>(*broadcast.source);
  Dims ones = Dims::filled(sizes.size() - source.sizes.size(), 1);
  for (int64_t extent : source.sizes)
    ones.push_back(extent);
  View reshape{View::Reshape, {}, {}, {}}, before = how;
  Ref<TracedTensor> aligned = makeView(source, reshape, ones);
  Dims kept = sizes;
  for (uint32_t d = 0; d < sizes.size(); ++d) {
    if (how.kind == View::Transpose) {
      kept[d] = ones[how.permutation[d]];
    } else if (ones[d] == 1) {
      kept[d] = before.steps[d] = 1;
      before.starts[d] = 0;
    }
  }
  Ref<TracedTensor> view = makeView(*aligned, before, kept);
  return makeView(*view, broadcast.how, sizes);
}

void Trace::addView(const TensorImpl &source, const View &how,
                    TensorImpl &view) {
  const TracedTensor &from = tracedOf(source);
  Ref<TracedTensor> traced;
  if (from.source && from.how.kind == View::Broadcast)
    traced = viewBeforeBroadcast(from, how, view.sizes);
  if (!traced)
    traced = makeView(from, how, view.sizes);
  view.traced = Ref<TraceData>(traced.get());
}

void Trace::addConstant(const TensorImpl &source, TensorImpl &constant) {
  const TracedTensor &from = tracedOf(source);
  Ref<TracedTensor> traced =
      makeView(from, View{View::Reshape, {}, {}, {}}, source.sizes);
  traced->isConstant = true;
  constant.traced = Ref<TraceData>(traced.get());
}

/// The place of `call` in the user's code, named by the operation and the
/// modules that it belongs to.
static Location locationOf(MLIRContext *context, const Call &call) {
  return NameLoc::get(StringAttr::get(context, scopedName(call.name)),
                      FileLineColLoc::get(context, call.at.file_name(),
                                          call.at.line(), call.at.column()));
}

Value Trace::add(const Call &call, function_ref<Value(GraphOps &)> build) {
  // What is built may read views, which are added on the way.
  Location before = graphBuilder.location();
  llvm::scope_exit restore([&] { graphBuilder.setLocation(before); });
  graphBuilder.setLocation(locationOf(context(), call));
  GraphOps ops(graphBuilder);
  Value value = build(ops);
  if (value)
    return value;
  fail(call, "cannot be part of a compiled function: ", ops.takeError());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Trace::readMemory(TracedMemory &memory) {
  // What nothing was written to, as tinh::empty gives it, may hold anything.
  if (!memory.value)
    memory.value =
        constant(cast<DenseElementsAttr>(raw().getZeroAttr(memory.type)));
  return memory.value;
}

Value Trace::readTraced(const TracedTensor &tensor) {
  if (!tensor.source)
    return readMemory(*tensor.memory);
  Value source = readTraced(static_cast<TracedTensor &>(*tensor.source));
  if (tensor.shown && tensor.shownOf == source)
    return tensor.shown;
  Value value = add(viewCall(tensor.how), [&](GraphOps &ops) {
    if (tensor.isConstant)
      return ops.create<graph::StopGradientOp>({source});
    return applyView(ops, tensor.how, tensor.sizes, source);
  });
  if (!isNested()) {
    tensor.shownOf = source;
    tensor.shown = value;
  }
  return value;
}

void Trace::writeTraced(const TracedTensor &tensor, Value value) {
  if (!tensor.source) {
    tensor.memory->value = value;
    if (tensor.memory->isLeaf)
      tensor.memory->leafValues.push_back(value);
    return;
  }
  auto &source = static_cast<TracedTensor &>(*tensor.source);
  Value old = readTraced(source);
  writeTraced(source, add(viewCall(tensor.how), [&](GraphOps &ops) {
                return undoView(ops, tensor.how, tensor.sizes, old, value);
              }));
}

bool Trace::isVisible(Value value) const {
  Block *block = value.getParentBlock();
  return block == &const_cast<func::FuncOp &>(main).front() ||
         llvm::is_contained(openBlocks, block);
}

Value Trace::read(const TensorImpl &tensor) {
  return readTraced(tracedOf(tensor));
}

void Trace::write(const TensorImpl &tensor, Value value) {
  writeTraced(tracedOf(tensor), value);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

std::vector<Trace::Change> Trace::record(Block &block,
                                         function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(raw());
  std::vector<Change> before;
  for (const Ref<TracedMemory> &memory : allMemories)
    if (memory->references() > 1) // Some tensor has it.
      before.push_back({memory, readMemory(*memory)});
  size_t numMemories = allMemories.size();
  size_t numArguments = functionArguments.size();
  raw().setInsertionPointToEnd(&block);
  openBlocks.push_back(&block);
  // The function may catch what the body throws, and go on.
  try {
    body();
  } catch (...) {
    leave(before, numMemories, numArguments);
    throw;
  }
  return leave(before, numMemories, numArguments);
}

/// Ends a block: memory holds what it did `before`, as what was captured since
/// then holds what the function is given.
std::vector<Trace::Change>
Trace::leave(ArrayRef<Change> before, size_t numMemories, size_t numArguments) {
  Block *block = openBlocks.pop_back_val();
  for (const Ref<TracedMemory> &memory : allMemories)
    llvm::erase_if(memory->leafValues, [&](Value value) {
      return value.getParentBlock() == block;
    });
  std::vector<Change> changes;
  auto restore = [&](const Ref<TracedMemory> &memory, Value value) {
    if (memory->value != value)
      changes.push_back({memory, std::exchange(memory->value, value)});
  };
  for (const Change &memory : before)
    restore(memory.memory, memory.value);
  for (size_t i = numArguments; i < functionArguments.size(); ++i)
    restore(functionArguments[i].memory, functionArguments[i].initial);
  // What was made within has no value outside.
  for (size_t i = numMemories; i < allMemories.size(); ++i)
    if (llvm::none_of(functionArguments, [&](const Argument &argument) {
          return argument.memory.get() == allMemories[i].get();
        }))
      allMemories[i]->trace = nullptr;
  return changes;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

/// A changed argument must be the only one with its memory: what the others
/// show would have to change with it.
void Trace::checkAliases() const {
  for (const Argument &changed : functionArguments)
    for (const Argument &other : functionArguments)
      if (&changed != &other && changed.isChanged() && changed.captured &&
          other.captured &&
          changed.captured->storage.get() == other.captured->storage.get())
        throw Error(TINH_INVALID_ARGUMENT,
                    "the function changes a tensor that it captures, and "
                    "captures another one that shares its memory; refer to one "
                    "of them, and take views of it within the function");
}

OwningOpRef<ModuleOp>
Trace::finish(std::span<const TensorImpl *const> results) {
  checkAliases();
  SmallVector<Value> values;
  for (const TensorImpl *result : results)
    values.push_back(read(*result));
  for (const Argument &argument : functionArguments)
    if (argument.isChanged())
      values.push_back(argument.memory->value);
  OpBuilder &b = raw();
  func::ReturnOp::create(b, b.getUnknownLoc(), values);
  main.setFunctionType(b.getFunctionType(main.front().getArgumentTypes(),
                                         ValueRange(values).getTypes()));
  size_t inputs = 0, captured = 0, gradients = 0, generators = 0;
  for (auto [i, argument] : llvm::enumerate(functionArguments)) {
    std::string name =
        argument.captured          ? "captured" + std::to_string(captured++)
        : argument.gradientOf      ? "gradient" + std::to_string(gradients++)
        : argument.generator.state ? "generator" + std::to_string(generators++)
                                   : "input" + std::to_string(inputs++);
    main.setArgAttr(i, graph::names::kName, b.getStringAttr(name));
  }
  for (size_t i = 0; i < values.size(); ++i)
    main.setResultAttr(
        i, graph::names::kName,
        b.getStringAttr(i < results.size()
                            ? "output" + std::to_string(i)
                            : "changed" + std::to_string(i - results.size())));
  return std::move(module);
}

} // namespace tinh::eager
