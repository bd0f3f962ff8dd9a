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
  if (name == "warpsize")
    return b.getInt32(32);
  auto which = StringSwitch<std::optional<Register>>(name)
                   .Case("tid.x", Register::TidX)
                   .Case("tid.y", Register::TidY)
                   .Case("tid.z", Register::TidZ)
                   .Case("ntid.x", Register::NtidX)
                   .Case("ntid.y", Register::NtidY)
                   .Case("ntid.z", Register::NtidZ)
                   .Case("ctaid.x", Register::CtaidX)
                   .Case("ctaid.y", Register::CtaidY)
                   .Case("ctaid.z", Register::CtaidZ)
                   .Case("nctaid.x", Register::NctaidX)
                   .Case("nctaid.y", Register::NctaidY)
                   .Case("nctaid.z", Register::NctaidZ)
                   .Case("laneid", Register::Laneid)
                   .Case("warpid", Register::Warpid)
                   .Default(std::nullopt);
  if (!which)
    return nullptr;
  return callPure(b, "tinh_emu_register", b.getInt32Ty(),
                  {b.getInt32(uint32_t(*which))});
}

/// barrier.cta.sync.aligned.all, barrier.cta.red.and.count, …
static Value *emulateBarrier(IRBuilderBase &b, CallInst &call, StringRef name,
                             EmulatedSites &sites) {
  if (name == "bar.warp.sync")
    return callEmulator(b, "tinh_emu_warp_barrier", b.getVoidTy(),
                        {b.getInt32(sites.barriers++), call.getArgOperand(0)});
  if (!name.consume_front("barrier.cta."))
    return nullptr;
  unsigned next = 1;
  Value *threads = b.getInt32(0);
  if (name.consume_back(".count"))
    threads = call.getArgOperand(next++);
  else if (!name.consume_back(".all"))
    return nullptr;
  name.consume_back(".aligned");
  if (name == "sync")
    return callEmulator(
        b, "tinh_emu_barrier", b.getVoidTy(),
        {b.getInt32(sites.barriers++), call.getArgOperand(0), threads});
  auto vote = StringSwitch<std::optional<BarrierVote>>(name)
                  .Case("red.popc", BarrierVote::Count)
                  .Case("red.and", BarrierVote::And)
                  .Case("red.or", BarrierVote::Or)
                  .Default(std::nullopt);
  if (!vote)
    return nullptr;
  Value *predicate = b.CreateZExt(call.getArgOperand(next), b.getInt32Ty());
  Value *result =
      callEmulator(b, "tinh_emu_barrier_vote", b.getInt32Ty(),
                   {b.getInt32(sites.barriers++), call.getArgOperand(0),
                    threads, b.getInt32(uint32_t(*vote)), predicate});
  return b.CreateTrunc(result, call.getType());
}

static Value *pairWith(IRBuilderBase &b, Type *type, Value *value,
                       Value *predicate) {
  Value *result = b.CreateInsertValue(PoisonValue::get(type), value, 0);
  return b.CreateInsertValue(result, predicate, 1);
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
  return pairWith(b, call.getType(), shuffled, valid);
}

static Value *emulateVote(IRBuilderBase &b, CallInst &call, StringRef name) {
  auto vote = StringSwitch<std::optional<Vote>>(name)
                  .Case("vote.all.sync", Vote::All)
                  .Case("vote.any.sync", Vote::Any)
                  .Case("vote.uni.sync", Vote::Uniform)
                  .Case("vote.ballot.sync", Vote::Ballot)
                  .Default(std::nullopt);
  if (!vote)
    return nullptr;
  Value *result =
      callEmulator(b, "tinh_emu_vote", b.getInt32Ty(),
                   {b.getInt32(uint32_t(*vote)), call.getArgOperand(0),
                    b.CreateZExt(call.getArgOperand(1), b.getInt32Ty())});
  return b.CreateTrunc(result, call.getType());
}

static Value *emulateMatch(IRBuilderBase &b, CallInst &call, StringRef name) {
  if (!name.consume_front("match."))
    return nullptr;
  Value *mask = call.getArgOperand(0);
  Value *lanes =
      callEmulator(b, "tinh_emu_match", b.getInt32Ty(),
                   {mask, b.CreateZExt(call.getArgOperand(1), b.getInt64Ty())});
  if (name.starts_with("any.sync."))
    return lanes;
  Value *all = b.CreateICmpEQ(lanes, mask);
  return pairWith(b, call.getType(), b.CreateSelect(all, lanes, b.getInt32(0)),
                  all);
}

/// redux.sync.add, …: value, mask.
static Value *emulateReduction(IRBuilderBase &b, CallInst &call,
                               StringRef name) {
  if (!name.consume_front("redux.sync."))
    return nullptr;
  auto reduction = StringSwitch<std::optional<Reduction>>(name)
                       .Case("add", Reduction::Add)
                       .Case("min", Reduction::Min)
                       .Case("max", Reduction::Max)
                       .Case("umin", Reduction::Umin)
                       .Case("umax", Reduction::Umax)
                       .Case("and", Reduction::And)
                       .Case("or", Reduction::Or)
                       .Case("xor", Reduction::Xor)
                       .Default(std::nullopt);
  if (!reduction)
    return nullptr;
  return callEmulator(b, "tinh_emu_reduce", b.getInt32Ty(),
                      {b.getInt32(uint32_t(*reduction)), call.getArgOperand(1),
                       call.getArgOperand(0)});
}

Value *emulateThreads(IRBuilderBase &b, CallInst &call, StringRef name,
                      EmulatedSites &sites) {
  if (Value *value = readRegister(b, name))
    return value;
  if (Value *value = emulateBarrier(b, call, name, sites))
    return value;
  if (Value *value = emulateShuffle(b, call, name))
    return value;
  if (Value *value = emulateVote(b, call, name))
    return value;
  if (Value *value = emulateMatch(b, call, name))
    return value;
  return emulateReduction(b, call, name);
}

} // namespace tinh::cuda
