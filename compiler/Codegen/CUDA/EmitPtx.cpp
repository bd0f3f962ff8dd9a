//===- EmitPtx.cpp - From NVVM to code for GPUs -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/EmitPtx.h"

#include "compiler/Codegen/CUDA/Chips.h"
#include "compiler/Codegen/CUDA/Emulate/Emulate.h"
#include "compiler/Support/MachineCode.h"
#include "tinh/artifact.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
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
