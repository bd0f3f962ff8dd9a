//===- Emulate.cpp - Instructions that a CPU lacks --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Emulate/Emulate.h"

#include "compiler/Codegen/CPU/Emulate/EmulateIntrinsics.h"

#include "tinh/artifact.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace tinh::cpu {

static constexpr StringLiteral kPrefix = "llvm.x86.";

/// TINH_CPU_* that the intrinsic needs; all for one of which no bit tells.
static uint64_t featuresFor(StringRef name) {
  uint64_t lengths = name.ends_with("512") ? 0 : TINH_CPU_AVX512VL;
  if (name.starts_with("avx512.vpdp"))
    return TINH_CPU_AVX512VNNI | lengths;
  if (name.starts_with("avx512bf16."))
    return TINH_CPU_AVX512BF16 | lengths;
  if (name.starts_with("avx512."))
    return TINH_CPU_AVX512F | TINH_CPU_AVX512BW | lengths;
  if (name.starts_with("tile") || name.starts_with("td"))
    return TINH_CPU_AMX_TILE | TINH_CPU_AMX_INT8 | TINH_CPU_AMX_BF16;
  return name.starts_with("avx2.vpdp") ? ~UINT64_C(0) : TINH_CPU_AVX2;
}

namespace {

/// Replaces what a CPU lacks in a module.
class Emulation {
public:
  Emulation(Module &module, uint64_t features)
      : module(module), features(features) {}

  Error run();
  bool hasChanged = false;

private:
  bool isEmulated(const Function &callee) const;
  void collectCalls();
  void collectRoundings();
  void retypeTiles(Function &function);
  Error replaceCall(CallInst &call);
  void replaceRounding(FPTruncInst &rounding);

  Module &module;
  uint64_t features;
  SmallVector<CallInst *> calls;
  SmallVector<FPTruncInst *> roundings; // To bf16, which LLVM has as this.
};

} // namespace

bool Emulation::isEmulated(const Function &callee) const {
  StringRef name = callee.getName();
  if (!name.consume_front(kPrefix))
    return false;
  if (features & TINH_CPU_AVXVNNI && name.starts_with("avx512.vpdp") &&
      !name.ends_with("512"))
    return false;
  return featuresFor(name) & ~features;
}

void Emulation::collectCalls() {
  for (Function &function : module)
    if (function.isDeclaration() && isEmulated(function))
      for (User *user : function.users())
        calls.push_back(cast<CallInst>(user));
}

void Emulation::collectRoundings() {
  if (!(featuresFor("avx512bf16.") & ~features))
    return;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *rounding = dyn_cast<FPTruncInst>(&instruction);
          rounding && rounding->getType()->getScalarType()->isBFloatTy() &&
          rounding->getSrcTy()->getScalarType()->isFloatTy())
        roundings.push_back(rounding);
}

/// Gives tiles, which loops carry and intrinsics return, the type that stands
/// for them.
void Emulation::retypeTiles(Function &function) {
  Type *type = tileType(function.getContext());
  for (Instruction &instruction : instructions(function)) {
    for (Use &operand : instruction.operands())
      if (isa<UndefValue>(operand) && operand->getType()->isX86_AMXTy())
        operand.set(PoisonValue::get(type));
    if (instruction.getType()->isX86_AMXTy())
      instruction.mutateType(type);
  }
}

Error Emulation::replaceCall(CallInst &call) {
  IRBuilder<> b(&call);
  Value *value = emulateVector(b, call);
  if (!value)
    value = emulateTile(b, call);
  if (!value)
    return createStringError("internal error: the kernel '" +
                             call.getFunction()->getName() + "' calls '" +
                             call.getCalledFunction()->getName() +
                             "', which is not emulated");
  if (!call.getType()->isVoidTy())
    call.replaceAllUsesWith(value);
  call.eraseFromParent();
  return Error::success();
}

void Emulation::replaceRounding(FPTruncInst &rounding) {
  IRBuilder<> b(&rounding);
  rounding.replaceAllUsesWith(roundToBf16(b, rounding.getOperand(0)));
  rounding.eraseFromParent();
}

Error Emulation::run() {
  collectCalls();
  collectRoundings();
  if (calls.empty() && roundings.empty())
    return Error::success();
  hasChanged = true;
  if (featuresFor("tile") & ~features)
    for (Function &function : module)
      retypeTiles(function);
  for (CallInst *call : calls)
    if (Error error = replaceCall(*call))
      return error;
  for (FPTruncInst *rounding : roundings)
    replaceRounding(*rounding);
  std::string problem;
  raw_string_ostream stream(problem);
  if (verifyModule(module, &stream))
    return createStringError("internal error: emulation made invalid code: " +
                             problem);
  return Error::success();
}

Expected<bool> emulate(Module &module, uint64_t features) {
  Emulation emulation(module, features);
  if (Error error = emulation.run())
    return error;
  return emulation.hasChanged;
}

} // namespace tinh::cpu
