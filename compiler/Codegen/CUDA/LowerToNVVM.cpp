//===- LowerToNVVM.cpp - From kernel functions to NVVM ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/LowerToNVVM.h"

#include "compiler/Codegen/CUDA/Pointers.h"
#include "compiler/Codegen/CUDA/Strategies.h"
#include "dialects/graph/Graph.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tinh::cuda {

void registerCodegenDialects(DialectRegistry &registry) {
  registry.insert<CudaDialect, gpu::GPUDialect, NVVM::NVVMDialect>();
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  NVVM::registerConvertGpuToNVVMInterface(registry);
  registerGPUDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

//===----------------------------------------------------------------------===//
// The LLVM and NVVM dialects
//===----------------------------------------------------------------------===//

/// The shared memory of a launch's size, which the conversion declares as a
/// symbol of the module's own, is outside of it.
static void exportSharedMemory(Operation *module) {
  module->walk([](LLVM::GlobalOp global) {
    auto array = dyn_cast<LLVM::LLVMArrayType>(global.getType());
    if (global.getAddrSpace() != NVVM::NVVMMemorySpace::Shared || !array ||
        array.getNumElements() != 0)
      return;
    global.setLinkage(LLVM::Linkage::External);
    global.setAlignment(1024); // Of what the widest permutation repeats.
  });
}

/// Math ops on vectors become ops on each of their elements, as libdevice has
/// functions of these.
static void prepareMath(Operation *module) {
  SmallVector<Operation *> worklist;
  module->walk([&](Operation *op) {
    if (isa_and_present<math::MathDialect>(op->getDialect()) &&
        op->getNumResults() == 1)
      worklist.push_back(op);
  });
  for (Operation *op : worklist) {
    OpBuilder b(op);
    auto element = [&](ValueRange operands, Type type) -> Value {
      if (isa<math::TruncOp>(op))
        return LLVM::FTruncOp::create(b, op->getLoc(), operands);
      OperationState state(op->getLoc(), op->getName(), operands, type,
                           op->getAttrs());
      return b.create(state)->getResult(0);
    };
    Type type = op->getResult(0).getType();
    Value result;
    if (auto vector = dyn_cast<VectorType>(type)) {
      result = ub::PoisonOp::create(b, op->getLoc(), vector);
      for (int64_t i = 0; i < vector.getNumElements(); ++i) {
        SmallVector<Value> operands;
        for (Value operand : op->getOperands())
          operands.push_back(
              vector::ExtractOp::create(b, op->getLoc(), operand, i));
        result = vector::InsertOp::create(
            b, op->getLoc(), element(operands, vector.getElementType()), result,
            i);
      }
    } else if (isa<math::TruncOp>(op)) {
      result = element(op->getOperands(), type);
    } else {
      continue;
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}

/// Functions of libdevice that PTX has instructions for. Square roots are to be
/// rounded as IEEE 754 says: libdevice's function is an approximation unless it
/// is told otherwise. Magnitudes then need no libdevice.
static void callInstructions(Operation *module) {
  module->walk([](LLVM::CallOp call) {
    std::optional<StringRef> callee = call.getCallee();
    OpBuilder b(call);
    Value result;
    if (callee == "__nv_sqrtf" || callee == "__nv_sqrt")
      result = LLVM::SqrtOp::create(b, call.getLoc(), call.getOperand(0));
    else if (callee == "__nv_fabsf" || callee == "__nv_fabs")
      result = LLVM::FAbsOp::create(b, call.getLoc(), call.getOperand(0));
    else
      return;
    call.getResult().replaceAllUsesWith(result);
    call.erase();
  });
}

/// Vector ops that the conversion to NVVM has no patterns for.
static LogicalResult prepareVectors(Operation *module) {
  RewritePatternSet patterns(module->getContext());
  vector::populateVectorStepLoweringPatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

/// Indices fit into 32 bits if all memory does: then they cost half as much.
static unsigned indexBits(gpu::GPUModuleOp module) {
  unsigned bits = 32;
  for (auto function : module.getOps<gpu::GPUFuncOp>())
    for (Type type : function.getArgumentTypes())
      if (cast<MemRefType>(type).getNumElements() >= int64_t(1) << 30)
        bits = 64;
  return bits;
}

static LogicalResult convertToNVVM(ModuleOp module, gpu::GPUModuleOp device) {
  prepareMath(device);
  if (failed(prepareVectors(device)))
    return failure();
  PassManager pm(module.getContext());
  OpPassManager &nested = pm.nest<gpu::GPUModuleOp>();
  nested.addPass(createCSEPass());
  nested.addPass(createCanonicalizerPass());
  nested.addPass(createLoopInvariantCodeMotionPass());
  nested.addPass(createSCFToControlFlowPass());
  ConvertGpuOpsToNVVMOpsOptions options;
  options.indexBitwidth = indexBits(device);
  options.useBarePtrCallConv = true;
  nested.addPass(createConvertGpuOpsToNVVMOps(options));
  nested.addPass(createReconcileUnrealizedCastsPass());
  nested.addPass(createCanonicalizerPass());
  nested.addPass(createCSEPass());
  if (failed(pm.run(module)))
    return failure();
  resolvePointers(module);
  callInstructions(module);
  exportSharedMemory(module);
  return success();
}

FailureOr<OwningOpRef<ModuleOp>> lowerKernelsToNVVM(ModuleOp module,
                                                    const Target &target) {
  OwningOpRef<ModuleOp> result = ModuleOp::create(module.getLoc());
  OpBuilder b = OpBuilder::atBlockEnd(result->getBody());
  auto device = gpu::GPUModuleOp::create(b, module.getLoc(), "device");
  for (auto kernel : module.getOps<func::FuncOp>())
    if (graph::isOnCuda(kernel) && failed(emitKernel(kernel, device, target)))
      return failure();
  if (failed(convertToNVVM(*result, device)))
    return module.emitError("internal error: no NVVM dialect for the kernels");
  result->getBody()->getOperations().splice(result->getBody()->end(),
                                            device.getBody()->getOperations());
  device.erase();
  (*result)->setAttr(graph::names::kDevice,
                     b.getStringAttr(graph::names::kOnCuda));
  for (StringRef name : {graph::names::kCuda, graph::names::kAllowTf32})
    if (Attribute value = module->getAttr(name))
      (*result)->setAttr(name, value);
  return result;
}

} // namespace tinh::cuda
