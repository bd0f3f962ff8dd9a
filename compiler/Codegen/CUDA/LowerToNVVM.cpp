//===- LowerToNVVM.cpp - From kernel functions to code for GPUs -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/LowerToNVVM.h"

#include "compiler/Codegen/CUDA/Contraction/Contraction.h"
#include "compiler/Codegen/CUDA/Emulate/Emulate.h"
#include "compiler/Codegen/CUDA/Pointers.h"
#include "compiler/Codegen/CUDA/Strategies.h"
#include "compiler/Support/MachineCode.h"
#include "dialects/graph/Graph.h"
#include "tinh/artifact.h"

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
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/IPO/Internalize.h"

#include <map>

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

/// Square roots are to be rounded as IEEE 754 says: libdevice's function is an
/// approximation unless it is told otherwise.
static void roundSquareRoots(Operation *module) {
  module->walk([](LLVM::CallOp call) {
    if (call.getCallee() != "__nv_sqrtf" && call.getCallee() != "__nv_sqrt")
      return;
    OpBuilder b(call);
    call.getResult().replaceAllUsesWith(
        LLVM::SqrtOp::create(b, call.getLoc(), call.getOperand(0)));
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
  roundSquareRoots(module);
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

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

/// Links what the module calls of CUDA's library of math functions.
static llvm::Error linkLibdevice(llvm::Module &module, StringRef path) {
  bool calls = llvm::any_of(module, [](const llvm::Function &function) {
    return function.isDeclaration() && function.getName().starts_with("__nv_");
  });
  if (!calls)
    return llvm::Error::success();
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> library =
      llvm::getLazyIRFileModule(path, diagnostic, module.getContext());
  if (!library)
    return fail("cannot read '" + path + "': " + diagnostic.getMessage());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  bool failed = llvm::Linker::linkModules(
      module, std::move(library), llvm::Linker::LinkOnlyNeeded,
      [](llvm::Module &linked, const llvm::StringSet<> &names) {
        llvm::internalizeModule(linked, [&](const llvm::GlobalValue &value) {
          return !value.hasName() || !names.contains(value.getName());
        });
      });
  return failed ? fail("cannot link '" + path + "'") : llvm::Error::success();
}

/// Nothing may be left that only a linker could find: ptxas would take it.
static llvm::Error checkNoExterns(const llvm::Module &module) {
  std::vector<std::string> names;
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic())
      names.push_back(function.getName().str());
  if (names.empty())
    return llvm::Error::success();
  return fail("the code for GPUs calls what CUDA's library does not have: " +
              llvm::join(names, ", "));
}

/// LLVM IR of all of the modules, in one.
static llvm::Expected<std::unique_ptr<llvm::Module>>
translate(ArrayRef<ModuleOp> nvvmModules, llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> result;
  for (ModuleOp nvvmModule : nvvmModules) {
    std::unique_ptr<llvm::Module> module =
        translateModuleToLLVMIR(nvvmModule, context);
    if (!module)
      return fail("no LLVM IR for the kernel");
    if (!result)
      result = std::move(module);
    else if (llvm::Linker::linkModules(*result, std::move(module)))
      return fail("the kernels cannot be put into one module");
  }
  return result;
}

/// The optimised device code of `nvvmModules`, for the chip of `machine`. What
/// it calls of CUDA's library is linked if there is a toolkit.
static llvm::Expected<std::unique_ptr<llvm::Module>>
makeDeviceModule(ArrayRef<ModuleOp> nvvmModules, llvm::LLVMContext &context,
                 llvm::TargetMachine &machine, const Toolkit *toolkit) {
  auto translated = translate(nvvmModules, context);
  if (!translated)
    return translated.takeError();
  std::unique_ptr<llvm::Module> module = std::move(*translated);
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  if (toolkit)
    if (llvm::Error error = linkLibdevice(*module, toolkit->libdevice))
      return error;
  optimise(*module, machine, llvm::OptimizationLevel::O3);
  return module;
}

//===----------------------------------------------------------------------===//
// Code for chips
//===----------------------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
findMachine(StringRef chip) {
  if (std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(chip))
    return machine;
  return fail("this LLVM cannot generate code for " + chip);
}

llvm::Expected<std::string> emitPtx(ArrayRef<ModuleOp> nvvmModules,
                                    StringRef chip, const Toolkit &toolkit) {
  auto machine = findMachine(chip);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto module = makeDeviceModule(nvvmModules, context, **machine, &toolkit);
  if (!module)
    return module.takeError();
  if (llvm::Error error = checkNoExterns(**module))
    return error;
  auto ptx = emitCode(**module, **machine, llvm::CodeGenFileType::AssemblyFile);
  if (!ptx)
    return ptx.takeError();
  return std::string(ptx->begin(), ptx->end());
}

StringRef codeLevel(ArrayRef<ModuleOp> nvvmModules, StringRef chip) {
  bool asks = llvm::any_of(nvvmModules, [](ModuleOp nvvmModule) {
    return nvvmModule
        .walk([](LLVM::CallIntrinsicOp call) {
          return call.getIntrin() == kReflect ? WalkResult::interrupt()
                                              : WalkResult::advance();
        })
        .wasInterrupted();
  });
  if (asks && chip == kWithWarpgroups)
    return machineOf(chip);
  unsigned number = 0;
  (void)chip.drop_front(chip.find('_') + 1).consumeInteger(10, number);
  return asks && number >= 80 ? "sm_80" : "sm_75";
}

llvm::Expected<std::vector<ChipCode>>
emitPtxForChips(ArrayRef<ModuleOp> nvvmModules, const Target &target,
                const Toolkit &toolkit) {
  std::map<StringRef, std::string> ptx;
  std::vector<ChipCode> codes;
  for (const std::string &chip : target.chips) {
    StringRef level = codeLevel(nvvmModules, chip);
    std::string &text = ptx[level];
    if (text.empty()) {
      auto emitted = emitPtx(nvvmModules, level, toolkit);
      if (!emitted)
        return emitted.takeError();
      text = std::move(*emitted);
    }
    codes.push_back({machineOf(chip).str(), text});
  }
  return codes;
}

/// The shared object that an emulator runs.
static llvm::Expected<SmallVector<char, 0>>
compileForEmulator(ArrayRef<ModuleOp> nvvmModules, const Target &target,
                   const Toolkit *toolkit, const cpu::Target &cpu) {
  auto machine = findMachine(emulatedLevel(target.chips[0]));
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto module = makeDeviceModule(nvvmModules, context, **machine, toolkit);
  if (!module)
    return module.takeError();
  return emulateDevice(std::move(*module), cpu);
}

/// An object with a tinh_image_t of these bytes as the hidden symbol `name`.
static llvm::Expected<SmallVector<char, 0>>
wrapImage(ArrayRef<char> bytes, StringRef name, llvm::TargetMachine &machine) {
  llvm::LLVMContext context;
  llvm::Module module("image", context);
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  auto *i64 = llvm::Type::getInt64Ty(context);
  static_assert(sizeof(tinh_image_t) == 16);
  llvm::Constant *image = llvm::ConstantStruct::getAnon(
      {llvm::ConstantInt::get(i64, bytes.size()),
       llvm::ConstantInt::get(i64, 0),
       llvm::ConstantDataArray::getString(
           context, StringRef(bytes.data(), bytes.size()), /*AddNull=*/false)});
  auto *global =
      new llvm::GlobalVariable(module, image->getType(), true,
                               llvm::GlobalValue::ExternalLinkage, image, name);
  global->setVisibility(llvm::GlobalValue::HiddenVisibility);
  global->setAlignment(llvm::Align(16));
  return emitCode(module, machine, llvm::CodeGenFileType::ObjectFile);
}

llvm::Expected<SmallVector<char, 0>> packImage(ArrayRef<ChipCode> codes,
                                               StringRef name,
                                               const Toolkit &toolkit,
                                               const cpu::Target &cpu) {
  auto binary = makeFatBinary(toolkit, codes);
  if (!binary)
    return binary.takeError();
  return wrapImage(*binary, name, *cpu::makeTargetMachine(cpu));
}

llvm::Expected<SmallVector<char, 0>>
emitEmulatedImage(ArrayRef<ModuleOp> nvvmModules, StringRef name,
                  const Target &target, const std::optional<Toolkit> &toolkit,
                  const cpu::Target &cpu) {
  auto object = compileForEmulator(nvvmModules, target,
                                   toolkit ? &*toolkit : nullptr, cpu);
  if (!object)
    return object.takeError();
  return wrapImage(*object, name, *cpu::makeTargetMachine(cpu));
}

} // namespace tinh::cuda
