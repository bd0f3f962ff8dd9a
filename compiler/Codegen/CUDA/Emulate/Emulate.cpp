//===- Emulate.cpp - GPU kernels for the CPU --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x86 takes pointers of all of a GPU's address spaces for plain ones, so loads,
// stores and atomic operations stay as they are. Shared memory becomes a part
// of the block's, which the emulator has; intrinsics become what
// EmulateIntrinsics.h makes of them.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Emulate/Emulate.h"

#include "compiler/Artifact/Artifact.h"
#include "compiler/Codegen/CUDA/Emulate/EmulateIntrinsics.h"
#include "compiler/Codegen/CUDA/Emulate/EmulatorAbi.h"
#include "compiler/Support/MachineCode.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace tinh::cuda {

namespace {

/// Makes the code of a CPU of a module of kernels.
class Emulation {
public:
  Emulation(Module &module, const TargetMachine &machine)
      : module(module), machine(machine) {}

  Error run() {
    if (Error error = findKernels())
      return error;
    retarget();
    announceAccesses();
    placeSharedMemory();
    if (Error error = replaceCalls())
      return error;
    if (Error error = checkDeclarations())
      return error;
    describeImage();
    std::string problem;
    raw_string_ostream stream(problem);
    if (verifyModule(module, &stream))
      return refuse("invalid code: " + problem);
    return Error::success();
  }

private:
  Error refuse(const Twine &reason) const {
    StringRef name = current ? current->getName() : module.getName();
    return createStringError("cannot emulate the kernel '" + name +
                             "': " + reason);
  }
  Error findKernels();
  void retarget();
  void announceAccesses();
  void placeSharedMemory();
  void moveToBlock(GlobalVariable &variable, uint64_t offset);
  Error replaceCalls();
  Error replaceCalls(Function &function);
  Error replaceCall(CallInst &call);
  Value *emulate(CallInst &call, StringRef name);
  Error checkDeclarations() const;
  Function *makeEntry(Function &kernel);
  Constant *describeParameters(Function &kernel);
  Constant *describe(Function &kernel);
  void describeImage();

  Module &module;
  const TargetMachine &machine;
  MapVector<Function *, EmulatedSites> kernels; // And what is counted in each.
  Function *current = nullptr;                  // What calls are replaced in.
  EmulatedSites sites;                          // Of it.
  uint64_t staticShared = 0;
};

} // namespace

Error Emulation::findKernels() {
  for (Function &function : module) {
    if (function.getCallingConv() != CallingConv::PTX_Kernel ||
        function.isDeclaration())
      continue;
    current = &function;
    for (Argument &argument : function.args())
      if (argument.hasByValAttr())
        return refuse("it has parameters in memory");
    kernels.insert({&function, {}});
  }
  if (kernels.empty())
    return refuse("the module has no ptx_kernel function");
  return Error::success();
}

/// Takes everything that is said for a GPU alone out of the module.
void Emulation::retarget() {
  StripDebugInfo(module);
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  for (StringRef name : {"nvvm.annotations", "nvvmir.version"})
    if (NamedMDNode *node = module.getNamedMetadata(name))
      module.eraseNamedMetadata(node);
  for (StringRef name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *list = module.getNamedGlobal(name))
      list->eraseFromParent();
  for (Function &function : module) {
    if (function.isIntrinsic())
      continue;
    function.setCallingConv(CallingConv::C);
    function.setDSOLocal(false);
    for (StringRef name : {"target-cpu", "target-features"})
      function.removeFnAttr(name);
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.setLinkage(GlobalValue::InternalLinkage);
    function.setVisibility(GlobalValue::DefaultVisibility);
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallBase>(&instruction))
        call->setCallingConv(CallingConv::C);
  }
}

/// Tells the emulator what is loaded from and stored to shared memory, so that
/// it can find races.
void Emulation::announceAccesses() {
  SmallVector<Instruction *> accesses;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      const Value *pointer = getLoadStorePointerOperand(&instruction);
      if (pointer && !instruction.isAtomic() &&
          pointer->getType()->getPointerAddressSpace() ==
              NVPTXAS::ADDRESS_SPACE_SHARED)
        accesses.push_back(&instruction);
    }
  for (Instruction *access : accesses) {
    bool isLoad = isa<LoadInst>(access);
    IRBuilder<> b(isLoad ? access : access->getNextNode());
    TypeSize size =
        module.getDataLayout().getTypeStoreSize(getLoadStoreType(access));
    callEmulator(b, isLoad ? "tinh_emu_shared_read" : "tinh_emu_shared_wrote",
                 b.getVoidTy(),
                 {b.CreateAddrSpaceCast(getLoadStorePointerOperand(access),
                                        b.getPtrTy()),
                  b.getInt32(size.getFixedValue())});
  }
}

/// Replaces a variable in shared memory by a place in the block's.
void Emulation::moveToBlock(GlobalVariable &variable, uint64_t offset) {
  convertUsersOfConstantsToInstructions({&variable});
  DenseMap<Function *, Value *> addresses;
  for (Use &use : make_early_inc_range(variable.uses())) {
    Function *function = cast<Instruction>(use.getUser())->getFunction();
    Value *&address = addresses[function];
    if (!address) {
      IRBuilder<> b(&*function->getEntryBlock().getFirstInsertionPt());
      Value *block = callPure(b, "tinh_emu_shared", b.getPtrTy(), {});
      address = b.CreateAddrSpaceCast(
          b.CreateConstGEP1_64(b.getInt8Ty(), block, offset),
          variable.getType());
    }
    use.set(address);
  }
  variable.eraseFromParent();
}

void Emulation::placeSharedMemory() {
  // What is declared alone is dynamic memory, and lies behind the rest.
  SmallVector<GlobalVariable *> fixed, dynamic;
  for (GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() == NVPTXAS::ADDRESS_SPACE_SHARED)
      (variable.isDeclaration() ? dynamic : fixed).push_back(&variable);
  const DataLayout &layout = module.getDataLayout();
  for (GlobalVariable *variable : fixed) {
    uint64_t offset =
        alignTo(staticShared, variable->getAlign().valueOrOne().value());
    staticShared = offset + layout.getTypeAllocSize(variable->getValueType());
    moveToBlock(*variable, offset);
  }
  staticShared = alignTo(staticShared, emulator::kSharedAlignment);
  for (GlobalVariable *variable : dynamic)
    moveToBlock(*variable, staticShared);
}

Value *Emulation::emulate(CallInst &call, StringRef name) {
  IRBuilder<> b(&call);
  if (Value *value = emulateThreads(b, call, name, sites))
    return value;
  if (Value *value = emulateMemory(b, call, name, sites))
    return value;
  return emulateMath(b, call, name);
}

Error Emulation::replaceCall(CallInst &call) {
  Value *value = nullptr;
  if (auto *code = dyn_cast<InlineAsm>(call.getCalledOperand())) {
    IRBuilder<> b(&call);
    value = emulateAssembly(b, call, code->getAsmString());
    if (!value)
      return refuse("inline assembly '" + code->getAsmString() + "'");
  } else if (Function *callee = call.getCalledFunction()) {
    StringRef name = callee->getName();
    if (!name.consume_front("llvm.nvvm."))
      return Error::success();
    value = emulate(call, name);
    if (!value)
      return refuse("emulators do not know the intrinsic '" +
                    callee->getName() + "'");
  } else {
    return refuse("an indirect call");
  }
  if (!call.getType()->isVoidTy())
    call.replaceAllUsesWith(value);
  call.eraseFromParent();
  return Error::success();
}

Error Emulation::replaceCalls(Function &function) {
  SmallVector<CallInst *> calls;
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<CallInst>(&instruction))
      calls.push_back(call);
  current = &function;
  sites = {};
  for (CallInst *call : calls)
    if (Error error = replaceCall(*call))
      return error;
  if (auto kernel = kernels.find(&function); kernel != kernels.end())
    kernel->second = sites;
  else if (sites.barriers || sites.waits)
    return refuse("a function that is no kernel has barriers");
  return Error::success();
}

Error Emulation::replaceCalls() {
  for (Function &function : module)
    if (Error error = replaceCalls(function))
      return error;
  current = kernels.front().first;
  return Error::success();
}

/// What is left must be LLVM's own or the emulator's.
Error Emulation::checkDeclarations() const {
  for (const Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !function.use_empty() && !function.getName().starts_with("tinh_emu_"))
      return refuse("the function '" + function.getName() +
                    "' is not defined; is libdevice linked?");
  return Error::success();
}

/// A function that calls the kernel with parameters from memory.
Function *Emulation::makeEntry(Function &kernel) {
  LLVMContext &context = module.getContext();
  IRBuilder<> b(context);
  Function *entry = Function::Create(
      FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, /*isVarArg=*/false),
      GlobalValue::InternalLinkage, "entry", module);
  entry->addFnAttr("target-cpu", machine.getTargetCPU());
  entry->addFnAttr("target-features", machine.getTargetFeatureString());
  b.SetInsertPoint(BasicBlock::Create(context, "", entry));
  SmallVector<Value *> values;
  for (Argument &argument : kernel.args()) {
    Value *slot = b.CreateConstGEP1_32(b.getPtrTy(), entry->getArg(0),
                                       argument.getArgNo());
    Value *address = b.CreateLoad(b.getPtrTy(), slot);
    values.push_back(b.CreateLoad(argument.getType(), address));
  }
  b.CreateCall(&kernel, values);
  b.CreateRetVoid();
  return entry;
}

static GlobalVariable *makeConstant(Module &module, Constant *value,
                                    const Twine &name, bool isExported) {
  return new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                            isExported ? GlobalValue::ExternalLinkage
                                       : GlobalValue::InternalLinkage,
                            value, name);
}

Constant *Emulation::describeParameters(Function &kernel) {
  IRBuilder<> b(module.getContext());
  const DataLayout &layout = module.getDataLayout();
  SmallVector<Constant *> list;
  for (Argument &argument : kernel.args())
    list.push_back(ConstantStruct::getAnon(
        {b.getInt32(layout.getTypeStoreSize(argument.getType())),
         b.getInt32(argument.getType()->isPointerTy())}));
  auto *type = StructType::get(b.getInt32Ty(), b.getInt32Ty());
  return makeConstant(
      module, ConstantArray::get(ArrayType::get(type, list.size()), list),
      "parameters", /*isExported=*/false);
}

/// An emulator::Kernel.
Constant *Emulation::describe(Function &kernel) {
  IRBuilder<> b(module.getContext());
  Constant *name =
      ConstantDataArray::getString(module.getContext(), kernel.getName());
  const EmulatedSites &counted = kernels[&kernel];
  return ConstantStruct::getAnon(
      {makeConstant(module, name, "name", /*isExported=*/false),
       describeParameters(kernel), makeEntry(kernel),
       b.getInt32(kernel.arg_size()), b.getInt32(counted.barriers),
       b.getInt32(counted.waits), b.getInt32(staticShared)});
}

/// Adds the emulator::Image.
void Emulation::describeImage() {
  IRBuilder<> b(module.getContext());
  SmallVector<Constant *> list;
  for (Function *kernel : llvm::make_first_range(kernels))
    list.push_back(describe(*kernel));
  auto *type = ArrayType::get(list.front()->getType(), list.size());
  Constant *image = ConstantStruct::getAnon(
      {b.getInt32(emulator::kImageVersion), b.getInt32(list.size()),
       makeConstant(module, ConstantArray::get(type, list), "kernels",
                    /*isExported=*/false)});
  makeConstant(module, image, emulator::kImageSymbol, /*isExported=*/true);
}

Expected<SmallVector<char, 0>> emulateDevice(std::unique_ptr<Module> device,
                                             const cpu::Target &target) {
  // Its bf16 is rounded as on a GPU.
  cpu::Target rounding = cpu::executingTarget(target);
  rounding.features += rounding.features.empty() ? "" : ",";
  rounding.features += "-avx512bf16,-avxneconvert,-avx512fp16";
  std::unique_ptr<TargetMachine> machine = cpu::makeTargetMachine(rounding);
  if (!machine)
    return createStringError("this LLVM cannot generate x86-64 code");
  machine->Options.AllowFPOpFusion = FPOpFusion::Standard;
  if (Error error = Emulation(*device, *machine).run())
    return error;
  // Kernels of tests run for less time than it takes to compile them well:
  // lists of instructions as long as an unrolled tile's take LLVM's schedulers
  // seconds.
  machine->setOptLevel(CodeGenOptLevel::None);
  optimise(*device, *machine, OptimizationLevel::O1);
  auto object = emitCode(*device, *machine, CodeGenFileType::ObjectFile);
  if (!object)
    return object.takeError();
  return artifact::linkLibrary(*object);
}

} // namespace tinh::cuda
