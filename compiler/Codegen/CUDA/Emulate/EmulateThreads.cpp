//===- EmulateThreads.cpp - What threads of a GPU share ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Emulate/EmulateIntrinsics.h"
#include "compiler/Codegen/CUDA/Emulate/EmulatorAbi.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace tinh::emulator;

namespace tinh::cuda {

static CallInst *callFunction(IRBuilderBase &b, StringRef name, Type *result,
                              ArrayRef<Value *> arguments) {
  SmallVector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  Module *module = b.GetInsertBlock()->getModule();
  FunctionCallee callee = module->getOrInsertFunction(
      name, FunctionType::get(result, types, /*isVarArg=*/false));
  cast<Function>(callee.getCallee())->setDoesNotThrow();
  return b.CreateCall(callee, arguments);
}

CallInst *callEmulator(IRBuilderBase &b, StringRef name, Type *result,
                       ArrayRef<Value *> arguments) {
  CallInst *call = callFunction(b, name, result, arguments);
  call->setConvergent();
  return call;
}

CallInst *callPure(IRBuilderBase &b, StringRef name, Type *result,
                   ArrayRef<Value *> arguments) {
  CallInst *call = callFunction(b, name, result, arguments);
  Function *function = call->getCalledFunction();
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  function->setSpeculatable();
  return call;
}

static Value *readRegister(IRBuilderBase &b, StringRef name) {
  if (!name.consume_front("read.ptx.sreg."))
    return nullptr;
  auto which = StringSwitch<std::optional<Register>>(name)
                   .Case("tid.x", Register::TidX)
                   .Case("ntid.x", Register::NtidX)
                   .Case("ctaid.x", Register::CtaidX)
                   .Case("nctaid.x", Register::NctaidX)
                   .Case("laneid", Register::Laneid)
                   .Default(std::nullopt);
  if (!which)
    return nullptr;
  return callPure(b, "tinh_emu_register", b.getInt32Ty(),
                  {b.getInt32(uint32_t(*which))});
}

static Value *emulateBarrier(IRBuilderBase &b, CallInst &call, StringRef name,
                             EmulatedSites &sites) {
  if (name != "barrier.cta.sync.aligned.all")
    return nullptr;
  return callEmulator(b, "tinh_emu_barrier", b.getVoidTy(),
                      {b.getInt32(sites.barriers++), call.getArgOperand(0)});
}

/// shfl.sync.bfly.f32p, …: mask, value, lane, clamp.
static Value *emulateShuffle(IRBuilderBase &b, CallInst &call, StringRef name) {
  if (!name.consume_front("shfl.sync."))
    return nullptr;
  auto mode = StringSwitch<std::optional<Shuffle>>(name.split('.').first)
                  .Case("up", Shuffle::Up)
                  .Case("down", Shuffle::Down)
                  .Case("bfly", Shuffle::Butterfly)
                  .Case("idx", Shuffle::Index)
                  .Default(std::nullopt);
  if (!mode)
    return nullptr;
  Value *value = call.getArgOperand(1);
  Value *both =
      callEmulator(b, "tinh_emu_shuffle", b.getInt64Ty(),
                   {b.getInt32(uint32_t(*mode)), call.getArgOperand(0),
                    b.CreateBitCast(value, b.getInt32Ty()),
                    call.getArgOperand(2), call.getArgOperand(3)});
  Value *shuffled =
      b.CreateBitCast(b.CreateTrunc(both, b.getInt32Ty()), value->getType());
  if (!name.ends_with("p"))
    return shuffled;
  Value *valid = b.CreateTrunc(b.CreateLShr(both, 32), b.getInt1Ty());
  Value *result =
      b.CreateInsertValue(PoisonValue::get(call.getType()), shuffled, 0);
  return b.CreateInsertValue(result, valid, 1);
}

static Value *emulateBallot(IRBuilderBase &b, CallInst &call, StringRef name) {
  if (name != "vote.ballot.sync")
    return nullptr;
  return callEmulator(b, "tinh_emu_ballot", b.getInt32Ty(),
                      {call.getArgOperand(0),
                       b.CreateZExt(call.getArgOperand(1), b.getInt32Ty())});
}

Value *emulateThreads(IRBuilderBase &b, CallInst &call, StringRef name,
                      EmulatedSites &sites) {
  if (Value *value = readRegister(b, name))
    return value;
  if (Value *value = emulateBarrier(b, call, name, sites))
    return value;
  if (Value *value = emulateShuffle(b, call, name))
    return value;
  return emulateBallot(b, call, name);
}

} // namespace tinh::cuda
