//===- LowerToLLVM.cpp - From kernel functions to machine code --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/LowerToLLVM.h"

#include "compiler/Codegen/CPU/Emulate/Emulate.h"
#include "compiler/Codegen/CPU/Math/MathFunctions.h"
#include "compiler/Codegen/CPU/Rounding.h"
#include "compiler/Codegen/CPU/Strategies.h"
#include "compiler/Support/MachineCode.h"
#include "dialects/graph/Graph.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace tinh::cpu {

void registerCodegenDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                  linalg::LinalgDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
                  ub::UBDialect, vector::VectorDialect, CpuDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

/// exp, tanh, erf … as polynomials on vectors instead of calls for each lane,
/// and conversions to bf16.
static LogicalResult approximateMath(Operation *module, const Target &target) {
  if (failed(skipExactRoundings(module)))
    return failure();
  RewritePatternSet patterns(module->getContext());
  populateMathFunctions(patterns);
  populateMathPolynomialApproximationPatterns(patterns);
  populateBf16Conversions(patterns, target);
  return applyPatternsGreedily(module, std::move(patterns));
}

static LogicalResult convertToLLVM(ModuleOp module, const Target &target) {
  if (failed(approximateMath(module, target)))
    return failure();
  PassManager pm(module.getContext());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createSCFToControlFlowPass());
  // What has an LLVM intrinsic first, then calls of libm for each lane, which
  // are made with vector ops.
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(functions));
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  return pm.run(module);
}

/// Stores a single lane as a scalar. LLVM 22 writes four bytes for a masked
/// store of one lane of vectors that were truncated to i8 or i16.
static void storeSingleLane(LLVM::MaskedStoreOp store) {
  DenseElementsAttr mask;
  if (!matchPattern(store.getMask(), m_Constant(&mask)) ||
      llvm::count(mask.getValues<bool>(), true) != 1)
    return;
  int32_t lane =
      llvm::find(mask.getValues<bool>(), true) - mask.getValues<bool>().begin();
  OpBuilder b(store);
  Location loc = store.getLoc();
  Value index = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(lane));
  Value element =
      LLVM::ExtractElementOp::create(b, loc, store.getValue(), index);
  Value address =
      LLVM::GEPOp::create(b, loc, store.getData().getType(), element.getType(),
                          store.getData(), ArrayRef<LLVM::GEPArg>{lane});
  LLVM::StoreOp::create(b, loc, element, address,
                        graph::elementSize(element.getType()));
  store.erase();
}

/// Gives `body` the ABI of tinh_kernel_fn: a function of its name that reads
/// the operands' addresses from an array.
static void wrapKernel(LLVM::LLVMFuncOp body) {
  MLIRContext *context = body.getContext();
  OpBuilder b(body);
  Location loc = body.getLoc();
  std::string name = body.getName().str();
  body.setName((name + ".body"));
  body.setLinkage(LLVM::Linkage::Internal);
  body.setAlwaysInline(true);
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = b.getI64Type();
  auto wrapper = LLVM::LLVMFuncOp::create(
      b, loc, name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                  {pointer, pointer, i64, i64}));
  Block *entry = wrapper.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  SmallVector<Value> arguments;
  unsigned count = body.getNumArguments() - 3;
  for (unsigned i = 0; i < count; ++i) {
    Value slot =
        LLVM::GEPOp::create(b, loc, pointer, pointer, entry->getArgument(0),
                            ArrayRef<LLVM::GEPArg>{int32_t(i)});
    arguments.push_back(LLVM::LoadOp::create(b, loc, pointer, slot));
  }
  for (unsigned i = 1; i < 4; ++i)
    arguments.push_back(entry->getArgument(i));
  LLVM::CallOp::create(b, loc, body, arguments);
  LLVM::ReturnOp::create(b, loc, ValueRange());
}

FailureOr<OwningOpRef<ModuleOp>> lowerKernelsToLLVM(ModuleOp module,
                                                    const Target &target) {
  OwningOpRef<ModuleOp> result = ModuleOp::create(module.getLoc());
  for (auto kernel : module.getOps<func::FuncOp>())
    if (kernel->hasAttr(graph::names::kPlan) &&
        failed(emitKernel(kernel, *result, target)))
      return failure();
  if (failed(convertToLLVM(*result, target)))
    return module.emitError("internal error: no LLVM dialect for the kernels");
  moveBf16AsBits(*result);
  result->walk(storeSingleLane);
  SmallVector<LLVM::LLVMFuncOp> bodies;
  for (auto function : result->getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal())
      bodies.push_back(function);
  for (LLVM::LLVMFuncOp body : bodies)
    wrapKernel(body);
  return result;
}

/// Says in `ir` what it is code for, and optimises it.
static void optimiseFor(llvm::Module &ir, llvm::TargetMachine &machine,
                        const Target &target) {
  ir.setTargetTriple(machine.getTargetTriple());
  ir.setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : ir) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width",
                       std::to_string(8 * target.vectorBytes));
  }
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false; // Kernels are vector code already.
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  optimise(ir, machine, llvm::OptimizationLevel::O2, tuning);
}

FailureOr<SmallVector<char, 0>> emitObject(ModuleOp llvmModule,
                                           const Target &target) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir =
      translateModuleToLLVMIR(llvmModule, context);
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(target);
  if (!ir || !machine)
    return llvmModule.emitError("no LLVM IR for the kernels");
  optimiseFor(*ir, *machine, target);
  Target executing = executingTarget(target);
  auto hasChanged = emulate(*ir, executing.featureBits);
  if (!hasChanged)
    return llvmModule.emitError(llvm::toString(hasChanged.takeError()));
  if (target.isEmulated() || *hasChanged) {
    machine = makeTargetMachine(executing);
    optimiseFor(*ir, *machine, executing);
  }
  auto object = emitCode(*ir, *machine, llvm::CodeGenFileType::ObjectFile);
  if (!object)
    return llvmModule.emitError(llvm::toString(object.takeError()));
  return std::move(*object);
}

} // namespace tinh::cpu
