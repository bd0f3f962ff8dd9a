//===- EmulateVectorsTest.cpp - Products of vectors -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Intrinsics against loops over elements, emulated and, where this machine has
// the instruction, as it computes them.
//
//===----------------------------------------------------------------------===//
#include "EmulateModel.h"
#include "IrFunction.h"

#include "compiler/Codegen/CPU/Emulate/Emulate.h"
#include "tinh/artifact.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace tinh;
using namespace tinh::tests;

namespace {

/// @f(out, x0, x1 …) of addresses: the intrinsic of vectors of these types.
std::string vectorFunction(const std::string &intrinsic,
                           const std::string &result,
                           const std::vector<std::string> &types) {
  std::string loads, parameters = "ptr %out", arguments, declared;
  for (size_t i = 0; i < types.size(); ++i) {
    std::string n = std::to_string(i), comma = i ? ", " : "";
    parameters += ", ptr %p" + n;
    loads +=
        "  %x" + n + " = load " + types[i] + ", ptr %p" + n + ", align 1\n";
    arguments += comma + types[i] + " %x" + n;
    declared += comma + types[i];
  }
  return "declare " + result + " @llvm.x86." + intrinsic + "(" + declared +
         ")\ndefine void @f(" + parameters + ") {\n" + loads + "  %y = call " +
         result + " @llvm.x86." + intrinsic + "(" + arguments + ")\n  store " +
         result + " %y, ptr %out, align 1\n  ret void\n}\n";
}

std::string vectorOf(int bits, const std::string &element) {
  int width = element == "float" || element == "i32" ? 32
              : element == "i8"                      ? 8
                                                     : 16;
  return "<" + std::to_string(bits / width) + " x " + element + ">";
}

template <typename Left, typename Right>
Values<int32_t> sums(const Values<Left> &x, const Values<Right> &y,
                     size_t group) {
  Values<int32_t> result(x.size() / group);
  for (size_t i = 0; i < x.size(); ++i)
    result[i / group] =
        static_cast<int32_t>(static_cast<uint32_t>(result[i / group]) +
                             int32_t(x[i]) * int32_t(y[i]));
  return result;
}

template <typename Left, typename Right>
Values<int32_t> addSums(Values<int32_t> start, const Values<Left> &x,
                        const Values<Right> &y) {
  Values<int32_t> added = sums(x, y, x.size() / start.size());
  for (size_t i = 0; i < start.size(); ++i)
    start[i] = static_cast<int32_t>(static_cast<uint32_t>(start[i]) +
                                    static_cast<uint32_t>(added[i]));
  return start;
}

TEST(EmulateVectorsTest, Vpermps) {
  std::string f32 = vectorOf(512, "float");
  for (Way way : waysFor(TINH_CPU_AVX512F | TINH_CPU_AVX512BW)) {
    IrFunction f(vectorFunction("avx512.permvar.sf.512", f32,
                                {f32, vectorOf(512, "i32")}),
                 way);
    auto x = integers<int32_t>(16), places = integers<int32_t>(16);
    Values<int32_t> out(16);
    f(out.data(), x.data(), places.data());
    for (size_t i = 0; i < 16; ++i)
      ASSERT_EQ(out[i], x[places[i] & 15]);
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

template <typename Left, typename Right>
void checkIntegerProducts(const std::string &name, const std::string &element,
                          uint64_t feature) {
  for (int bits : {128, 256, 512}) {
    std::string i32 = vectorOf(bits, "i32"), type = vectorOf(bits, element);
    std::string ir = vectorFunction(
        "avx512." + name + "." + std::to_string(bits), i32, {i32, type, type});
    uint64_t needed = bits == 512 ? feature : feature | TINH_CPU_AVX512VL;
    for (Way way : waysFor(needed)) {
      IrFunction f(ir, way);
      for (int i = 0; i < 100; ++i) {
        auto start = integers<int32_t>(bits / 32);
        auto x = integers<Left>(bits / 8 / sizeof(Left));
        auto y = integers<Right>(bits / 8 / sizeof(Right));
        Values<int32_t> out(start.size());
        f(out.data(), start.data(), x.data(), y.data());
        ASSERT_EQ(out, addSums(start, x, y)) << ir;
      }
    }
  }
}

TEST(EmulateVectorsTest, Vpdpbusd) {
  checkIntegerProducts<uint8_t, int8_t>("vpdpbusd", "i8", TINH_CPU_AVX512VNNI);
}

TEST(EmulateVectorsTest, Vpdpwssd) {
  checkIntegerProducts<int16_t, int16_t>("vpdpwssd", "i16",
                                         TINH_CPU_AVX512VNNI);
}

TEST(EmulateVectorsTest, Vpmaddwd) {
  std::string i16 = vectorOf(512, "i16");
  for (Way way : waysFor(TINH_CPU_AVX512BW)) {
    IrFunction f(
        vectorFunction("avx512.pmaddw.d.512", vectorOf(512, "i32"), {i16, i16}),
        way);
    for (int i = 0; i < 100; ++i) {
      auto x = integers<int16_t>(32), y = integers<int16_t>(32);
      Values<int32_t> out(16);
      f(out.data(), x.data(), y.data());
      ASSERT_EQ(out, sums(x, y, 2));
    }
  }
}

TEST(EmulateVectorsTest, VpmaddubswSaturates) {
  std::string i8 = vectorOf(512, "i8");
  for (Way way : waysFor(TINH_CPU_AVX512BW)) {
    IrFunction f(
        vectorFunction("avx512.pmaddubs.w.512", vectorOf(512, "i16"), {i8, i8}),
        way);
    for (int i = 0; i < 100; ++i) {
      auto x = integers<uint8_t>(64);
      auto y = integers<int8_t>(64);
      Values<int16_t> out(32), expected;
      f(out.data(), x.data(), y.data());
      for (int32_t sum : sums(x, y, 2))
        expected.push_back(std::clamp(sum, INT16_MIN, INT16_MAX));
      ASSERT_EQ(out, expected);
    }
  }
}

Values<float> addBf16Sums(Values<float> start, const Values<uint16_t> &x,
                          const Values<uint16_t> &y) {
  for (size_t i = 0; i < start.size(); ++i)
    for (size_t element : {2 * i + 1, 2 * i})
      start[i] = addProduct(start[i], x[element], y[element]);
  return start;
}

TEST(EmulateVectorsTest, Vdpbf16ps) {
  for (int bits : {128, 256, 512}) {
    std::string f32 = vectorOf(bits, "float"), bf16 = vectorOf(bits, "bfloat");
    std::string ir = vectorFunction(
        "avx512bf16.dpbf16ps." + std::to_string(bits), f32, {f32, bf16, bf16});
    for (Way way : waysFor(TINH_CPU_AVX512BF16 | TINH_CPU_AVX512VL)) {
      IrFunction f(ir, way);
      for (int i = 0; i < 100; ++i) {
        auto start = floats(bits / 32);
        auto x = bf16s(bits / 16), y = bf16s(bits / 16);
        Values<float> out(start.size());
        f(out.data(), start.data(), x.data(), y.data());
        ASSERT_EQ(bitsOf(out), bitsOf(addBf16Sums(start, x, y))) << ir;
      }
    }
  }
}

uint16_t roundToBf16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(flush(x));
  if (std::isnan(x))
    return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

TEST(EmulateVectorsTest, Vcvtneps2bf16) {
  for (int lanes : {8, 16}) {
    std::string n = std::to_string(lanes);
    std::string ir =
        vectorFunction("avx512bf16.cvtneps2bf16." + std::to_string(32 * lanes),
                       "<" + n + " x bfloat>", {"<" + n + " x float>"});
    for (Way way : waysFor(TINH_CPU_AVX512BF16 | TINH_CPU_AVX512VL)) {
      IrFunction f(ir, way);
      for (int i = 0; i < 100; ++i) {
        auto x = floats(lanes);
        x[0] = NAN;
        x[1] = -INFINITY;
        x[2] = std::numeric_limits<float>::max();
        Values<uint16_t> out(lanes), expected;
        f(out.data(), x.data());
        for (float value : x)
          expected.push_back(roundToBf16(value));
        ASSERT_EQ(out, expected);
      }
    }
  }
}

// What LLVM has no intrinsic for, of any width.
TEST(EmulateVectorsTest, CastToBf16) {
  for (std::string type : {"float", "<8 x float>", "<16 x float>"}) {
    int lanes = type == "float" ? 1 : type == "<8 x float>" ? 8 : 16;
    std::string to = type;
    to.replace(to.find("float"), 5, "bfloat");
    std::string ir = "define void @f(ptr %out, ptr %x) {\n  %a = load " + type +
                     ", ptr %x, align 1\n  %r = fptrunc " + type + " %a to " +
                     to + "\n  store " + to +
                     " %r, ptr %out, align 1\n  ret void\n}\n";
    for (Way way : waysFor(TINH_CPU_AVX512BF16 | TINH_CPU_AVX512VL)) {
      IrFunction f(ir, way);
      auto x = floats(lanes);
      Values<uint16_t> out(lanes), expected;
      f(out.data(), x.data());
      for (float value : x)
        expected.push_back(roundToBf16(value));
      ASSERT_EQ(out, expected) << ir;
    }
  }
}

//===----------------------------------------------------------------------===//
// What is replaced
//===----------------------------------------------------------------------===//

bool isReplaced(const std::string &ir, uint64_t features) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(ir, diagnostic, context);
  return cantFail(cpu::emulate(*module, features));
}

TEST(EmulateVectorsTest, ReplacesWhatTheCpuLacks) {
  auto product = [](int bits) {
    std::string i32 = vectorOf(bits, "i32"), i8 = vectorOf(bits, "i8");
    return vectorFunction("avx512.vpdpbusd." + std::to_string(bits), i32,
                          {i32, i8, i8});
  };
  EXPECT_FALSE(isReplaced(product(512), TINH_CPU_AVX512VNNI));
  EXPECT_TRUE(isReplaced(product(512), TINH_CPU_AVXVNNI));
  EXPECT_TRUE(isReplaced(product(256), TINH_CPU_AVX512VNNI));
  EXPECT_FALSE(isReplaced(product(256), TINH_CPU_AVXVNNI));
  EXPECT_FALSE(
      isReplaced(product(256), TINH_CPU_AVX512VNNI | TINH_CPU_AVX512VL));
  std::string i8 = vectorOf(256, "i8"), i16 = vectorOf(256, "i16");
  EXPECT_FALSE(isReplaced(vectorFunction("avx2.pmadd.ub.sw", i16, {i8, i8}),
                          TINH_CPU_AVX2));
}

TEST(EmulateVectorsTest, NamesWhatItDoesNotKnow) {
  std::string i32 = vectorOf(128, "i32"), i8 = vectorOf(128, "i8");
  IrFunction f(vectorFunction("avx2.vpdpbssd.128", i32, {i32, i8, i8}),
               Way::Emulated);
  EXPECT_EQ(f.problem, "internal error: the kernel 'f' calls "
                       "'llvm.x86.avx2.vpdpbssd.128', which is not emulated");
}

} // namespace
