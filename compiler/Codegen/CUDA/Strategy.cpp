//===- Strategy.cpp - How the code of a kernel for GPUs is made -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Strategy.h"

#include "compiler/Codegen/CUDA/Library/Libraries.h"
#include "compiler/Codegen/CUDA/Machine.h"
#include "compiler/Codegen/CUDA/Strategies.h"
#include "compiler/Codegen/Kernel/Scatter.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Layout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cuda {

FailureOr<Target> targetOf(ModuleOp module) {
  SmallVector<StringRef> chips;
  if (auto list = module->getAttrOfType<ArrayAttr>(graph::names::kCuda))
    for (Attribute chip : list)
      if (auto name = dyn_cast<StringAttr>(chip))
        chips.push_back(name.getValue());
  auto target = lookupTarget(chips);
  if (!target)
    return module.emitError(llvm::toString(target.takeError()));
  target->allowTf32 = module->hasAttr(graph::names::kAllowTf32);
  return *target;
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// Tells libraries what the kernel is to them. Those of convolutions do not say
/// whether they read what they add before they write.
static void setLibrary(func::FuncOp kernel, const Target &target) {
  graph::LibraryAttr library = describeForLibrary(kernel, target);
  if (!library)
    return;
  kernel->setAttr(graph::names::kLibrary, library);
  if (library.getKind() == graph::LibraryKind::Convolution)
    kernel->removeAttr(graph::names::kInplace);
}

/// Unless the kernel has a plan: then somebody has chosen it.
static LogicalResult choosePlan(func::FuncOp kernel, const Target &target,
                                bool remarks) {
  if (kernel->hasAttr(graph::names::kPlan))
    return success();
  auto chosen = strategies().cheapest(kernel, target, remarks);
  if (!chosen)
    return kernel.emitError("internal error: no strategy computes this kernel");
  kernel->setAttr(graph::names::kPlan, chosen->plan);
  return success();
}

LogicalResult chooseStrategies(ModuleOp module, const Target &target,
                               bool remarks) {
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!graph::isOnCuda(kernel) || kernel.isExternal())
      continue;
    if (failed(choosePlan(kernel, target, remarks)))
      return failure();
    // The thread that writes an element has read it before.
    setInplace(kernel, [&](BlockArgument argument) {
      return isReadAtItsIndex(argument) || isScatteredInto(kernel, argument);
    });
    // What tiles do not pay for no call of a library does.
    if (isWorthTiles(kernel))
      setLibrary(kernel, target);
  }
  return success();
}

LogicalResult checkLimits(const Division &division, const Target &target,
                          EmitError error, int64_t registers) {
  Limits limits = limitsOf(target);
  if (division.scratch > limits.sharedBytes)
    return error() << "a block takes " << division.scratch
                   << " bytes of shared memory, of which " << limits.chip
                   << " has " << limits.sharedBytes;
  if (division.threads * registers > limits.registers)
    return error() << "a block has " << division.threads
                   << " threads that take up to " << registers
                   << " registers each, of which a multiprocessor has "
                   << limits.registers;
  if (division.chunks <= std::numeric_limits<int32_t>::max())
    return success();
  return error() << "a grid has 2147483647 blocks at most, found "
                 << division.chunks;
}

LogicalResult divideKernels(ModuleOp module) {
  if (!module->hasAttr(graph::names::kCuda))
    return success();
  auto target = targetOf(module);
  if (failed(target))
    return failure();
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!graph::isOnCuda(kernel) || !kernel->hasAttr(graph::names::kPlan))
      continue;
    auto division = strategies().divide(kernel, *target);
    if (failed(division))
      return failure();
    setDivision(kernel, *division);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// Operands that share no bytes with one that is written: they can be read
/// through the cache for what is constant.
static bool mayBeWritten(func::FuncOp kernel, unsigned operand) {
  if (operand >= kernel.getNumArguments())
    return true;
  auto pairs = kernel->getAttrOfType<ArrayAttr>(graph::names::kInplace);
  return pairs && llvm::any_of(pairs, [&](Attribute pair) {
           return cast<DenseI64ArrayAttr>(pair)[0] == operand;
         });
}

OpBuilder EmittedKernel::builder() {
  return OpBuilder(function.getBody().front().getTerminator());
}

Buffer EmittedKernel::operand(unsigned i) {
  Buffer buffer{function.getArgument(i), operandStrides(source, i), {}};
  auto alignments =
      source->getAttrOfType<DenseI64ArrayAttr>(graph::names::kAlignments);
  if (alignments && i < alignments.asArrayRef().size())
    buffer.alignment = alignments[i];
  return buffer;
}

void EmittedKernel::bindInputs(Pull &pull) {
  for (BlockArgument argument : source.getArguments())
    pull.buffers[argument] = operand(argument.getArgNumber());
}

LogicalResult EmittedKernel::storeResults(Pull &pull, const Indices &at,
                                          ArrayRef<unsigned> results) {
  SmallVector<LaneValue> values;
  for (unsigned i : results) {
    auto value = pull.at(returnedValues(source)[i], at);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  for (auto [i, value] : llvm::zip_equal(results, values))
    if (failed(pull.store(value, operand(source.getNumArguments() + i), at)))
      return failure();
  return success();
}

LogicalResult EmittedKernel::storeResults(Pull &pull, const Indices &at) {
  return storeResults(
      pull, at,
      llvm::to_vector(llvm::seq<unsigned>(0, source.getNumResults())));
}

Buffer EmittedKernel::sharedBuffer(OpBuilder &b, int64_t offset,
                                   ArrayRef<int64_t> shape, Type element) {
  Location loc = source.getLoc();
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto all = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                             MemRefLayoutAttrInterface(), space);
  SmallVector<int64_t> strides = graph::denseStrides(shape);
  auto flat = flatType(RankedTensorType::get(shape, element), strides);
  auto type = MemRefType::get(flat.getShape(), flat.getElementType(),
                              MemRefLayoutAttrInterface(), space);
  Value memory = gpu::DynamicSharedMemoryOp::create(b, loc, all);
  Value at = arith::ConstantIndexOp::create(b, loc, offset);
  return {memref::ViewOp::create(b, loc, type, memory, at, ValueRange()),
          strides,
          {},
          /*alignment=*/16};
}

void EmittedKernel::barrier(OpBuilder &b) {
  gpu::BarrierOp::create(b, source.getLoc());
}

void EmittedKernel::preferRegisters() {
  constexpr int32_t kEnough = 512;
  int32_t threads = (*function.getKnownBlockSize())[0];
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    Builder(function.getContext())
                        .getI32IntegerAttr(std::max(1, kEnough / threads)));
}

void EmittedKernel::takeRegisters() {
  constexpr int32_t kMost = 240; // Of 255.
  function->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                    Builder(function.getContext()).getI32IntegerAttr(kMost));
}

/// An empty gpu.func of the kernel's name, with its operands as flat memory.
static gpu::GPUFuncOp createFunction(func::FuncOp kernel,
                                     gpu::GPUModuleOp module, int64_t threads) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> types = operandMemory(kernel);
  auto function = gpu::GPUFuncOp::create(b, kernel.getLoc(), kernel.getName(),
                                         b.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  for (unsigned i = 0; i < types.size(); ++i) {
    if (mayBeWritten(kernel, i))
      continue;
    function.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
    function.setArgAttr(i, "llvm.readonly", b.getUnitAttr());
  }
  b.setInsertionPointToEnd(&function.getBody().front());
  gpu::ReturnOp::create(b, kernel.getLoc());
  return function;
}

static EmittedKernel beginKernel(func::FuncOp kernel, gpu::GPUFuncOp function) {
  OpBuilder b(&function.getBody().front(), function.getBody().front().begin());
  return {kernel, function,
          gpu::BlockIdOp::create(b, kernel.getLoc(), gpu::Dimension::x),
          gpu::ThreadIdOp::create(b, kernel.getLoc(), gpu::Dimension::x)};
}

int64_t widestVector(func::FuncOp kernel) {
  constexpr int64_t kWidestAccess = 16;
  int64_t bytes = 2;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(),
                                            kernel.getResultTypes()))
    bytes = std::max(bytes, graph::elementSize(getElementTypeOrSelf(type)));
  return kWidestAccess / bytes;
}

FailureOr<gpu::GPUFuncOp>
emitKernel(func::FuncOp kernel, gpu::GPUModuleOp module, const Target &target) {
  auto division = strategies().divide(kernel, target);
  if (failed(division) || failed(checkDivision(kernel, *division)))
    return failure();
  gpu::GPUFuncOp function = createFunction(kernel, module, division->threads);
  EmittedKernel emitted = beginKernel(kernel, function);
  if (failed(strategies().emit(emitted, target)))
    return failure();
  return function;
}

} // namespace tinh::cuda
