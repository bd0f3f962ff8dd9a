//===- EmulateMath.cpp - NVVM's arithmetic on a CPU -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The GPU's approximations become LLVM's functions of the same kind, which are
// closer to the true values; denormals are kept where `ftz` would flush them.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Emulate/EmulateIntrinsics.h"
#include "compiler/Codegen/CUDA/Emulate/EmulatorAbi.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;

namespace tinh::cuda {

namespace {

/// A name such as "fma.rn.ftz.sat.f", taken apart.
struct MathName {
  StringRef operation;
  StringRef rounding; // "rn", "rz", "rm", "rp" or empty.
  bool saturate = false, relu = false, nan = false, known = true;
};

} // namespace

static MathName parse(StringRef name) {
  MathName result;
  SmallVector<StringRef> words;
  name.split(words, '.');
  result.operation = words.front();
  for (StringRef word : ArrayRef(words).drop_front()) {
    if (StringSwitch<bool>(word)
            .Cases({"rn", "rna", "rz", "rm", "rp"}, true)
            .Default(false))
      result.rounding = word;
    else if (word == "sat")
      result.saturate = true;
    else if (word == "relu")
      result.relu = true;
    else if (word == "nan")
      result.nan = true;
    else if (!StringSwitch<bool>(word) // Types, which the call has, and so on.
                  .Cases({"ftz", "approx", "full", "f", "d"}, true)
                  .Cases({"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"}, true)
                  .Cases({"v2f16", "v2bf16", "i", "ui", "ll", "ull"}, true)
                  .Default(false))
      result.known = false;
  }
  return result;
}

static Value *clampToUnit(IRBuilderBase &b, Value *x) {
  Type *type = x->getType(); // What is no number becomes 0.
  return b.CreateMinNum(b.CreateMaxNum(x, ConstantFP::get(type, 0.0)),
                        ConstantFP::get(type, 1.0));
}

static Value *finish(IRBuilderBase &b, const MathName &name, Value *x) {
  if (name.saturate)
    return clampToUnit(b, x);
  if (name.relu)
    return b.CreateMaximum(x, ConstantFP::get(x->getType(), 0.0));
  return x;
}

/// a / b, …, rounded to the nearest.
static Value *nearest(IRBuilderBase &b, StringRef operation,
                      ArrayRef<Value *> x) {
  Value *one = ConstantFP::get(x[0]->getType(), 1.0);
  auto unary = [&](Intrinsic::ID id) {
    return b.CreateUnaryIntrinsic(id, x[0]);
  };
  if (operation == "add")
    return b.CreateFAdd(x[0], x[1]);
  if (operation == "sub")
    return b.CreateFSub(x[0], x[1]);
  if (operation == "mul")
    return b.CreateFMul(x[0], x[1]);
  if (operation == "fma")
    return b.CreateIntrinsic(x[0]->getType(), Intrinsic::fma, x);
  if (operation == "div")
    return b.CreateFDiv(x[0], x[1]);
  if (operation == "rcp")
    return b.CreateFDiv(one, x[0]);
  if (operation == "sqrt")
    return unary(Intrinsic::sqrt);
  if (operation == "rsqrt")
    return b.CreateFDiv(one, unary(Intrinsic::sqrt));
  return nullptr;
}

/// The same in another direction.
static Value *directed(IRBuilderBase &b, const MathName &name,
                       ArrayRef<Value *> x) {
  using namespace emulator;
  Type *type = x[0]->getType();
  auto operation = StringSwitch<std::optional<Rounded>>(name.operation)
                       .Case("add", Rounded::Add)
                       .Case("mul", Rounded::Multiply)
                       .Case("fma", Rounded::Fma)
                       .Cases({"div", "rcp"}, Rounded::Divide)
                       .Case("sqrt", Rounded::Sqrt)
                       .Default(std::nullopt);
  if (!operation || !(type->isFloatTy() || type->isDoubleTy()))
    return nullptr;
  Rounding rounding = name.rounding == "rz"   ? Rounding::Zero
                      : name.rounding == "rm" ? Rounding::Down
                                              : Rounding::Up;
  SmallVector<Value *> values(x);
  if (name.operation == "rcp")
    values.insert(values.begin(), ConstantFP::get(type, 1.0));
  values.resize(3, ConstantFP::get(type, 0.0));
  return callPure(
      b, type->isFloatTy() ? "tinh_emu_rounded_f32" : "tinh_emu_rounded_f64",
      type,
      {b.getInt32(uint32_t(*operation)), b.getInt32(uint32_t(rounding)),
       values[0], values[1], values[2]});
}

static Value *roundInDirection(IRBuilderBase &b, StringRef rounding, Value *x) {
  Intrinsic::ID id = StringSwitch<Intrinsic::ID>(rounding)
                         .Case("rn", Intrinsic::roundeven)
                         .Case("rm", Intrinsic::floor)
                         .Case("rp", Intrinsic::ceil)
                         .Default(Intrinsic::trunc);
  return b.CreateUnaryIntrinsic(id, x);
}

/// f2i, d2ull, …: what is too large becomes the largest.
static Value *convertToInteger(IRBuilderBase &b, const MathName &name,
                               CallInst &call) {
  bool isUnsigned = name.operation.substr(2).starts_with("u");
  Value *x = roundInDirection(b, name.rounding, call.getArgOperand(0));
  return b.CreateIntrinsic(isUnsigned ? Intrinsic::fptoui_sat
                                      : Intrinsic::fptosi_sat,
                           {call.getType(), x->getType()}, {x});
}

/// f32 with the mantissa of tf32, 10 bits; "rna" rounds halves away from zero.
static Value *convertToTf32(IRBuilderBase &b, const MathName &name, Value *x) {
  Value *bits = b.CreateBitCast(x, b.getInt32Ty());
  Value *increment = b.getInt32(0x1000);
  if (name.rounding == "rn")
    increment =
        b.CreateAdd(b.getInt32(0xfff), b.CreateAnd(b.CreateLShr(bits, 13), 1));
  Value *rounded = name.rounding == "rz" ? bits : b.CreateAdd(bits, increment);
  Value *isFinite =
      b.CreateICmpULT(b.CreateAnd(bits, 0x7fffffff), b.getInt32(0x7f800000));
  return b.CreateAnd(b.CreateSelect(isFinite, rounded, bits), ~0x1fffu);
}

static Value *convert(IRBuilderBase &b, const MathName &name, CallInst &call) {
  Type *type = call.getType();
  Value *x = call.getArgOperand(0);
  StringRef op = name.operation;
  if (StringSwitch<bool>(op)
          .Cases({"f2i", "f2ui", "f2ll", "f2ull"}, true)
          .Cases({"d2i", "d2ui", "d2ll", "d2ull"}, true)
          .Default(false))
    return convertToInteger(b, name, call);
  if (op == "f2tf32")
    return finish(b, name, convertToTf32(b, name, x));
  if (name.rounding != "rn")
    return nullptr;
  if (StringSwitch<bool>(op)
          .Cases({"i2f", "ll2f", "i2d", "ll2d"}, true)
          .Default(false))
    return b.CreateSIToFP(x, type);
  if (StringSwitch<bool>(op)
          .Cases({"ui2f", "ull2f", "ui2d", "ull2d"}, true)
          .Default(false))
    return b.CreateUIToFP(x, type);
  if (op == "d2f" || op == "f2bf16" || op == "f2f16")
    return finish(b, name, b.CreateFPTrunc(x, type));
  if (op == "f2h")
    return b.CreateBitCast(b.CreateFPTrunc(x, b.getHalfTy()), type);
  if (op == "ff2f16x2" || op == "ff2bf16x2") {
    Type *element = cast<VectorType>(type)->getElementType();
    Value *result = PoisonValue::get(type); // The first operand is the upper.
    for (unsigned i : {0, 1})
      result = b.CreateInsertElement(
          result, b.CreateFPTrunc(call.getArgOperand(1 - i), element), i);
    return finish(b, name, result);
  }
  return nullptr;
}

/// The upper half of a product.
static Value *multiplyHigh(IRBuilderBase &b, StringRef type, CallInst &call) {
  unsigned bits = call.getType()->getIntegerBitWidth();
  Type *wide = b.getIntNTy(2 * bits);
  bool isSigned = !type.starts_with("u");
  Value *x = b.CreateIntCast(call.getArgOperand(0), wide, isSigned);
  Value *y = b.CreateIntCast(call.getArgOperand(1), wide, isSigned);
  return b.CreateTrunc(b.CreateLShr(b.CreateMul(x, y), bits), call.getType());
}

/// |a - b| + c
static Value *sumOfDifferences(IRBuilderBase &b, StringRef type,
                               CallInst &call) {
  Value *x = call.getArgOperand(0), *y = call.getArgOperand(1);
  bool isSigned = !type.starts_with("u");
  Value *less = isSigned ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y);
  Value *distance = b.CreateSelect(less, b.CreateSub(y, x), b.CreateSub(x, y));
  return b.CreateAdd(distance, call.getArgOperand(2));
}

/// c and the products of four bytes of a by those of b, whose types `types`
/// names: "u.s".
static Value *sumOfProducts(IRBuilderBase &b, StringRef types, CallInst &call) {
  auto [ofA, ofB] = types.split('.');
  auto byteOf = [&](unsigned operand, unsigned i, bool isSigned) {
    Value *word = b.CreateLShr(call.getArgOperand(operand), 8 * i);
    return b.CreateIntCast(b.CreateTrunc(word, b.getInt8Ty()), b.getInt32Ty(),
                           isSigned);
  };
  Value *sum = call.getArgOperand(2);
  for (unsigned i = 0; i < 4; ++i)
    sum = b.CreateAdd(
        sum, b.CreateMul(byteOf(0, i, ofA == "s"), byteOf(1, i, ofB == "s")));
  return sum;
}

static Value *emulateIntegers(IRBuilderBase &b, CallInst &call,
                              StringRef name) {
  auto [operation, rest] = name.split('.');
  Value *x = call.getArgOperand(0);
  if (name == "prmt")
    return callPure(b, "tinh_emu_permute", b.getInt32Ty(),
                    {x, call.getArgOperand(1), call.getArgOperand(2)});
  if (operation == "mulhi")
    return multiplyHigh(b, rest, call);
  if (operation == "sad")
    return sumOfDifferences(b, rest, call);
  if (operation == "idp4a")
    return sumOfProducts(b, rest, call);
  if (operation == "bitcast")
    return b.CreateBitCast(x, call.getType());
  if (name == "d2i.lo" || name == "d2i.hi") {
    Value *bits = b.CreateBitCast(x, b.getInt64Ty());
    return b.CreateTrunc(rest == "hi" ? b.CreateLShr(bits, 32) : bits,
                         call.getType());
  }
  if (name == "lohi.i2d") {
    Value *high = b.CreateZExt(call.getArgOperand(1), b.getInt64Ty());
    Value *low = b.CreateZExt(x, b.getInt64Ty());
    return b.CreateBitCast(b.CreateOr(b.CreateShl(high, 32), low),
                           call.getType());
  }
  return nullptr;
}

/// Functions of one number, and the smaller or larger of two.
static Value *emulateFunction(IRBuilderBase &b, const MathName &name,
                              ArrayRef<Value *> x) {
  if (name.operation == "fmin")
    return name.nan ? b.CreateMinimum(x[0], x[1]) : b.CreateMinNum(x[0], x[1]);
  if (name.operation == "fmax")
    return name.nan ? b.CreateMaximum(x[0], x[1]) : b.CreateMaxNum(x[0], x[1]);
  if (name.operation == "saturate")
    return clampToUnit(b, x[0]);
  if (name.operation == "neg")
    return b.CreateFNeg(x[0]);
  Intrinsic::ID id = StringSwitch<Intrinsic::ID>(name.operation)
                         .Case("ex2", Intrinsic::exp2)
                         .Case("lg2", Intrinsic::log2)
                         .Case("sin", Intrinsic::sin)
                         .Case("cos", Intrinsic::cos)
                         .Case("tanh", Intrinsic::tanh)
                         .Case("fabs", Intrinsic::fabs)
                         .Case("floor", Intrinsic::floor)
                         .Case("ceil", Intrinsic::ceil)
                         .Case("trunc", Intrinsic::trunc)
                         .Case("round", Intrinsic::roundeven)
                         .Default(Intrinsic::not_intrinsic);
  return id ? b.CreateUnaryIntrinsic(id, x[0]) : nullptr;
}

Value *emulateMath(IRBuilderBase &b, CallInst &call, StringRef name) {
  if (call.arg_empty())
    return nullptr;
  if (Value *value = emulateIntegers(b, call, name))
    return value;
  MathName parsed = parse(name);
  if (!parsed.known)
    return nullptr;
  if (Value *value = convert(b, parsed, call))
    return value;
  if (!call.getType()->isFPOrFPVectorTy())
    return nullptr;
  SmallVector<Value *> operands(call.args());
  Value *value = nullptr;
  if (parsed.rounding.empty() || parsed.rounding == "rn") {
    value = nearest(b, parsed.operation, operands);
    if (!value)
      value = emulateFunction(b, parsed, operands);
  } else {
    value = directed(b, parsed, operands);
  }
  return value ? finish(b, parsed, value) : nullptr;
}

/// What libdevice computes in twice the width, low and high: a · b + c of one
/// width, or the sum or difference of two numbers of the other one, which is
/// how it reduces large arguments of trigonometric functions.
static Value *computeWide(IRBuilderBase &b, CallInst &call, StringRef text) {
  bool multiplies = text.contains("mad.lo.cc.u32") && text.contains("madc.hi");
  bool subtracts = text.contains("subc.cc.u32");
  unsigned count = call.arg_size();
  auto *type = dyn_cast<StructType>(call.getType());
  auto isInteger = [](Type *t) { return t->isIntegerTy(); };
  if (!type || type->getNumElements() != 2 ||
      !all_of(type->elements(), isInteger) ||
      (multiplies ? count != 2 && count != 3 : count != 4))
    return nullptr;
  unsigned bits = type->getElementType(0)->getIntegerBitWidth();
  Type *narrow = b.getIntNTy(bits), *wide = b.getIntNTy(2 * bits);
  auto operand = [&](unsigned i) {
    return b.CreateZExt(call.getArgOperand(i), wide);
  };
  auto pair = [&](unsigned i) {
    return b.CreateOr(operand(i), b.CreateShl(operand(i + 1), bits));
  };
  Value *value = nullptr;
  if (multiplies)
    value = b.CreateMul(operand(0), operand(1));
  else
    value = subtracts ? b.CreateSub(pair(0), pair(2))
                      : b.CreateAdd(pair(0), pair(2));
  if (count == 3)
    value = b.CreateAdd(value, operand(2));
  Value *result = b.CreateInsertValue(PoisonValue::get(type),
                                      b.CreateTrunc(value, narrow), 0);
  Value *high = b.CreateTrunc(b.CreateLShr(value, bits), narrow);
  return b.CreateInsertValue(result, high, 1);
}

Value *emulateAssembly(IRBuilderBase &b, CallInst &call, StringRef text) {
  for (StringRef carry : {"madc.hi", "addc.cc.u32", "subc.cc.u32"})
    if (text.contains(carry))
      return computeWide(b, call, text);
  if (text.contains("wgmma."))
    return emulateWarpgroup(b, call, text);
  auto [name, operands] = text.trim().split(' ');
  std::string expected = "$0";
  for (unsigned i = 1; i <= call.arg_size(); ++i)
    expected += ",$" + std::to_string(i);
  std::string found;
  for (char c : operands)
    if (c != ' ')
      found += c;
  if (found != expected + ";")
    return nullptr;
  return emulateMath(b, call, name);
}

} // namespace tinh::cuda
