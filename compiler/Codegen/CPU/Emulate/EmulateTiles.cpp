//===- EmulateTiles.cpp - Tiles in memory -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile is a value of 1024 bytes, so that it goes through loops as one of AMX
// does. What computes with tiles is a function for each instruction, which
// keeps its operands on the stack.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Emulate/EmulateIntrinsics.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace tinh::cpu {

static constexpr unsigned kRows = 16, kRowLanes = 16;

static Type *rowType(LLVMContext &context) {
  return FixedVectorType::get(Type::getInt32Ty(context), kRowLanes);
}

Type *tileType(LLVMContext &context) {
  return FixedVectorType::get(Type::getInt32Ty(context), kRows * kRowLanes);
}

//===----------------------------------------------------------------------===//
// Functions and their loops
//===----------------------------------------------------------------------===//

/// Emits `body` for each i below `count`, of any integer type and not 0.
static void forEach(IRBuilderBase &b, Value *count,
                    function_ref<void(Value *)> body) {
  Instruction *next = &*b.GetInsertPoint();
  auto [end, i] = SplitBlockAndInsertSimpleForLoop(
      b.CreateZExt(count, b.getInt64Ty()), next->getIterator());
  b.SetInsertPoint(end);
  body(i);
  b.SetInsertPoint(next);
}

/// A place for a tile, which has `value`.
static Value *keepTile(IRBuilderBase &b, Value *value) {
  Type *type = ArrayType::get(rowType(b.getContext()), kRows);
  AllocaInst *place = b.CreateAlloca(type);
  place->setAlignment(Align(64));
  b.CreateAlignedStore(value, place, Align(64));
  return place;
}

static Value *rowOf(IRBuilderBase &b, Value *place, Value *row) {
  return b.CreateGEP(rowType(b.getContext()), place, row);
}

/// Code of a function, with a place for the first tile of its arguments, or for
/// zeros.
using TileBody = function_ref<void(IRBuilderBase &, Function &, Value *)>;

/// Defines `function` as `body`; what it returns is the tile in the place.
static void defineTileFunction(Function &function, TileBody body) {
  function.addFnAttr(Attribute::NoInline);
  IRBuilder<> b(BasicBlock::Create(function.getContext(), "", &function));
  Type *type = tileType(function.getContext());
  Value *first = Constant::getNullValue(type);
  auto *tile = llvm::find_if(function.args(), [&](Argument &argument) {
    return argument.getType() == type;
  });
  Value *place = keepTile(b, tile == function.arg_end() ? first : tile);
  if (function.getReturnType()->isVoidTy()) {
    b.SetInsertPoint(b.CreateRetVoid());
  } else {
    auto *result = b.CreateAlignedLoad(type, place, Align(64));
    b.CreateRet(result);
    b.SetInsertPoint(result);
  }
  body(b, function, place);
}

/// Calls the function that stands for the intrinsic that `call` calls.
static Value *callTileFunction(IRBuilderBase &b, CallInst &call,
                               TileBody body) {
  SmallVector<Value *> arguments(call.args());
  SmallVector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  Module &module = *call.getModule();
  std::string name = ("emulated." + call.getCalledFunction()->getName()).str();
  Function *function = module.getFunction(name);
  if (!function) {
    function = Function::Create(
        FunctionType::get(call.getType(), types, /*isVarArg=*/false),
        GlobalValue::InternalLinkage, name, module);
    defineTileFunction(*function, body);
  }
  return b.CreateCall(function, arguments);
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// The lanes that rows of so many bytes have.
static Value *lanesBelow(IRBuilderBase &b, Value *bytes) {
  Type *type = b.getInt16Ty();
  SmallVector<Constant *> lanes;
  for (unsigned lane = 0; lane < kRowLanes; ++lane)
    lanes.push_back(ConstantInt::get(type, 4 * lane));
  return b.CreateICmpULT(ConstantVector::get(lanes),
                         b.CreateVectorSplat(kRowLanes, bytes));
}

/// For each of `rows`, the place of it and its address in memory.
static void forEachRow(IRBuilderBase &b, Function &function, Value *place,
                       function_ref<void(Value *, Value *)> body) {
  Value *memory = function.getArg(2), *stride = function.getArg(3);
  forEach(b, function.getArg(0), [&](Value *row) {
    body(rowOf(b, place, row),
         b.CreateGEP(b.getInt8Ty(), memory, b.CreateMul(row, stride)));
  });
}

/// tile(rows, bytes, memory, stride)
static void emitTileLoad(IRBuilderBase &b, Function &function, Value *place) {
  Type *type = rowType(b.getContext());
  Value *mask = lanesBelow(b, function.getArg(1));
  forEachRow(b, function, place, [&](Value *row, Value *memory) {
    b.CreateStore(b.CreateMaskedLoad(type, memory, Align(1), mask,
                                     Constant::getNullValue(type)),
                  row);
  });
}

/// (rows, bytes, memory, stride, tile)
static void emitTileStore(IRBuilderBase &b, Function &function, Value *place) {
  Type *type = rowType(b.getContext());
  Value *mask = lanesBelow(b, function.getArg(1));
  forEachRow(b, function, place, [&](Value *row, Value *memory) {
    b.CreateMaskedStore(b.CreateLoad(type, row), memory, Align(1), mask);
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Emits `step` for each four bytes of row `row` of the left factor, in all
/// lanes, and the row of the right one that belongs to it.
static void forEachStep(IRBuilderBase &b, Function &function, Value *left,
                        Value *right, Value *row,
                        function_ref<void(Value *, Value *)> step) {
  Type *type = rowType(b.getContext());
  forEach(b, b.CreateLShr(function.getArg(2), 2), [&](Value *k) {
    Value *element = b.CreateGEP(b.getInt32Ty(), rowOf(b, left, row), k);
    step(b.CreateVectorSplat(kRowLanes, b.CreateLoad(b.getInt32Ty(), element)),
         b.CreateLoad(type, rowOf(b, right, k)));
  });
}

/// tile(rows, bytes of its rows, bytes of rows of the left factor, sum, left,
/// right) of integers. Lanes that no row has are zeros in `right`.
static void emitIntegerProduct(IRBuilderBase &b, Function &function,
                               Value *place, Signs signs) {
  Type *type = rowType(b.getContext());
  Value *left = keepTile(b, function.getArg(4));
  Value *right = keepTile(b, function.getArg(5));
  forEach(b, function.getArg(0), [&](Value *row) {
    Value *sums = rowOf(b, place, row);
    forEachStep(b, function, left, right, row, [&](Value *x, Value *y) {
      b.CreateStore(addProducts(b, b.CreateLoad(type, sums), x, y, 8, signs),
                    sums);
    });
  });
}

/// The same of bf16. The first and the second of pairs have sums of their own,
/// which are added to the tile in the end.
static void emitBf16Product(IRBuilderBase &b, Function &function,
                            Value *place) {
  Type *type = rowType(b.getContext())->getWithNewType(b.getFloatTy());
  Value *left = keepTile(b, function.getArg(4));
  Value *right = keepTile(b, function.getArg(5));
  Value *sums[] = {b.CreateAlloca(type), b.CreateAlloca(type)};
  auto add = [&](Value *x, Value *y) {
    return flushDenormals(b, b.CreateFAdd(x, y));
  };
  forEach(b, function.getArg(0), [&](Value *row) {
    for (Value *sum : sums)
      b.CreateStore(Constant::getNullValue(type), sum);
    forEachStep(b, function, left, right, row, [&](Value *x, Value *y) {
      for (unsigned i : {0, 1})
        b.CreateStore(addBf16Product(b, x, y, b.CreateLoad(type, sums[i]), i),
                      sums[i]);
    });
    Value *result = rowOf(b, place, row);
    Value *pairs =
        add(b.CreateLoad(type, sums[0]), b.CreateLoad(type, sums[1]));
    b.CreateStore(add(flushDenormals(b, b.CreateLoad(type, result)), pairs),
                  result);
  });
}

//===----------------------------------------------------------------------===//
// Intrinsics
//===----------------------------------------------------------------------===//

static std::optional<Signs> signsOf(Intrinsic::ID id) {
  switch (id) {
  case Intrinsic::x86_tdpbssd_internal:
    return Signs{true, true};
  case Intrinsic::x86_tdpbsud_internal:
    return Signs{true, false};
  case Intrinsic::x86_tdpbusd_internal:
    return Signs{false, true};
  case Intrinsic::x86_tdpbuud_internal:
    return Signs{false, false};
  default:
    return std::nullopt;
  }
}

Value *emulateTile(IRBuilderBase &b, CallInst &call) {
  Intrinsic::ID id = call.getIntrinsicID();
  if (std::optional<Signs> signs = signsOf(id))
    return callTileFunction(
        b, call, [&](IRBuilderBase &b, Function &function, Value *place) {
          emitIntegerProduct(b, function, place, *signs);
        });
  switch (id) {
  case Intrinsic::x86_tilezero_internal:
    return Constant::getNullValue(tileType(b.getContext()));
  case Intrinsic::x86_tileloadd64_internal:
  case Intrinsic::x86_tileloaddt164_internal:
    return callTileFunction(b, call, emitTileLoad);
  case Intrinsic::x86_tilestored64_internal:
    return callTileFunction(b, call, emitTileStore);
  case Intrinsic::x86_tdpbf16ps_internal:
    return callTileFunction(b, call, emitBf16Product);
  default:
    return nullptr;
  }
}

} // namespace tinh::cpu
