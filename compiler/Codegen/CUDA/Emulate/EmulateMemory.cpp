//===- EmulateMemory.cpp - A GPU's copies and matrices ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Emulate/EmulateIntrinsics.h"
#include "compiler/Codegen/CUDA/Emulate/EmulatorAbi.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace tinh::emulator;

namespace tinh::cuda {

/// In the address space that all others are part of.
static Value *makeGeneric(IRBuilderBase &b, Value *pointer) {
  return b.CreateAddrSpaceCast(pointer, b.getPtrTy());
}

static Value *emulateCopies(IRBuilderBase &b, CallInst &call, StringRef name,
                            EmulatedSites &sites) {
  Type *nothing = b.getVoidTy();
  if (name == "cp.async.commit.group")
    return callEmulator(b, "tinh_emu_copy_commit", nothing, {});
  if (name == "cp.async.wait.group")
    return callEmulator(b, "tinh_emu_copy_wait", nothing,
                        {b.getInt32(sites.waits++), call.getArgOperand(0)});
  unsigned size = 0; // cp.async.cg.shared.global.16, or with ".s".
  bool partial = name.consume_back(".s");
  if (!(name.consume_front("cp.async.ca.shared.global.") ||
        name.consume_front("cp.async.cg.shared.global.")) ||
      !to_integer(name, size))
    return nullptr;
  Value *bytes = b.getInt32(size);
  return callEmulator(b, "tinh_emu_copy_async", nothing,
                      {makeGeneric(b, call.getArgOperand(0)),
                       makeGeneric(b, call.getArgOperand(1)), bytes,
                       partial ? call.getArgOperand(2) : bytes});
}

/// An array of words in the frame of the function.
static AllocaInst *allocateWords(IRBuilderBase &b, unsigned count) {
  BasicBlock &entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  IRBuilder<> top(&entry, entry.begin());
  return top.CreateAlloca(ArrayType::get(b.getInt32Ty(), count));
}

static void storeWords(IRBuilderBase &b, ArrayRef<Value *> values,
                       Value *words) {
  for (auto [i, value] : enumerate(values))
    b.CreateStore(b.CreateBitCast(value, b.getInt32Ty()),
                  b.CreateConstGEP1_32(b.getInt32Ty(), words, i));
}

/// The words as `type`, one register or a structure of several.
static Value *loadWords(IRBuilderBase &b, Type *type, Value *words) {
  auto *structure = dyn_cast<StructType>(type);
  if (!structure)
    return b.CreateLoad(type, words);
  Value *result = PoisonValue::get(type);
  for (auto [i, element] : enumerate(structure->elements())) {
    Value *address = b.CreateConstGEP1_32(b.getInt32Ty(), words, i);
    result = b.CreateInsertValue(result, b.CreateLoad(element, address), i);
  }
  return result;
}

/// ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3
static Value *emulateLoadMatrix(IRBuilderBase &b, CallInst &call,
                                StringRef name) {
  if (!name.consume_front("ldmatrix.sync.aligned.m8n8.x"))
    return nullptr;
  unsigned count = 0;
  if (name.consumeInteger(10, count))
    return nullptr;
  bool transposed = name.consume_front(".trans");
  if (!name.starts_with(".b16"))
    return nullptr;
  AllocaInst *result = allocateWords(b, count);
  callEmulator(b, "tinh_emu_load_matrix", b.getVoidTy(),
               {makeGeneric(b, call.getArgOperand(0)), b.getInt32(count),
                b.getInt32(transposed), result});
  return loadWords(b, call.getType(), result);
}

/// What tensor cores multiply: bytes of two types, or two factors of one.
static std::optional<Multiply> multiplied(StringRef types) {
  return StringSwitch<std::optional<Multiply>>(types)
      .Case("f16", Multiply::F16)
      .Case("bf16", Multiply::Bf16)
      .Case("tf32", Multiply::Tf32)
      .Case("u8", Multiply::U8U8)
      .Case("u8.s8", Multiply::U8S8)
      .Case("s8.u8", Multiply::S8U8)
      .Case("s8", Multiply::S8S8)
      .Default(std::nullopt);
}

/// mma.m16n8k16.row.col.f32.f32 (of f16), mma.m16n8k8.row.col.tf32,
/// mma.m16n8k32.row.col.u8.s8, …
static Value *emulateMultiply(IRBuilderBase &b, CallInst &call,
                              StringRef name) {
  unsigned depth = 0;
  if (!name.consume_front("mma.m16n8k") || name.consumeInteger(10, depth) ||
      !name.consume_front(".row.col."))
    return nullptr;
  auto kind = multiplied(name == "f32.f32" ? "f16" : name);
  if (!kind)
    return nullptr;
  SmallVector<Value *> operands(call.args());
  AllocaInst *words = allocateWords(b, operands.size());
  AllocaInst *result = allocateWords(b, 4);
  storeWords(b, operands, words);
  callEmulator(b, "tinh_emu_multiply", b.getVoidTy(),
               {b.getInt32(uint32_t(*kind)), b.getInt32(depth), words, result});
  return loadWords(b, call.getType(), result);
}

/// The first operands of such inline PTX are sums, which it also returns.
Value *emulateWarpgroup(IRBuilderBase &b, CallInst &call, StringRef text) {
  auto *type = dyn_cast<StructType>(call.getType());
  if (!type || call.arg_size() < type->getNumElements())
    return nullptr;
  unsigned count = type->getNumElements(), columns = 0;
  SmallVector<Value *> sums(call.arg_begin(), call.arg_begin() + count);
  AllocaInst *words = allocateWords(b, count);
  storeWords(b, sums, words);
  if (text.starts_with("wgmma.wait_group")) // They are there.
    return loadWords(b, type, words);
  StringRef shape = text.substr(text.find(".m64n")), flags = text;
  if (!shape.consume_front(".m64n") || shape.consumeInteger(10, columns) ||
      columns != 2 * count || call.arg_size() != count + 2)
    return nullptr;
  bool isOfFloats = shape.consume_front("k16.f32.");
  if (!isOfFloats && !shape.consume_front("k32.s32."))
    return nullptr;
  StringRef types = shape.take_until(isSpace);
  auto [left, right] = types.split('.');
  auto kind = multiplied(left == right ? left : types);
  // Whether sums are added to; of floats two signs, and which factor lies
  // across.
  flags = text.substr(text.find(", added") + 2);
  if (!kind || !flags.consume_front(isOfFloats ? "added, 1, 1, " : "added;"))
    return nullptr;
  callEmulator(b, "tinh_emu_multiply_warpgroup", b.getVoidTy(),
               {b.getInt32(uint32_t(*kind)), b.getInt32(columns),
                b.getInt32(flags.starts_with("1")),
                b.getInt32(flags.substr(3).starts_with("1")),
                call.getArgOperand(count), call.getArgOperand(count + 1),
                words});
  return loadWords(b, type, words);
}

Value *emulateMemory(IRBuilderBase &b, CallInst &call, StringRef name,
                     EmulatedSites &sites) {
  if (name.starts_with("wgmma.")) // Products are done at once.
    return UndefValue::get(b.getInt32Ty());
  if (name.starts_with("fence."))
    return b.CreateFence(AtomicOrdering::SequentiallyConsistent);
  if (Value *value = emulateCopies(b, call, name, sites))
    return value;
  if (Value *value = emulateLoadMatrix(b, call, name))
    return value;
  return emulateMultiply(b, call, name);
}

} // namespace tinh::cuda
