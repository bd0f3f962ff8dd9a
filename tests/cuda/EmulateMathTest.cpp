//===- EmulateMathTest.cpp - Arithmetic of emulated kernels -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EmulatedKernel.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tinh::tests;

namespace {

class EmulateMathTest : public testing::Test {
protected:
  void SetUp() override { configure(""); }
  DriverContext context;
};

/// out[0] = `value` of %a, %b, %c.
float compute(const std::string &instructions, const std::string &declarations,
              float a, float b = 0, float c = 0) {
  EmulatedKernel kernel(declarations + R"(
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %pb = getelementptr float, ptr addrspace(1) %in, i64 1
  %pc = getelementptr float, ptr addrspace(1) %in, i64 2
  %a = load float, ptr addrspace(1) %in
  %b = load float, ptr addrspace(1) %pb
  %c = load float, ptr addrspace(1) %pc
)" + instructions + R"(
  store float %value, ptr addrspace(1) %out
  ret void
}
)",
                        "k");
  DeviceBuffer in(std::vector<float>{a, b, c}), out(4);
  EXPECT_EQ(kernel.run(1, 1, 0, {&in, &out}), 0);
  return out.values<float>()[0];
}

float computeUnary(const std::string &intrinsic, float x) {
  return compute("%value = call float @llvm.nvvm." + intrinsic + "(float %a)",
                 "declare float @llvm.nvvm." + intrinsic + "(float)\n", x);
}

TEST_F(EmulateMathTest, HasFunctions) {
  EXPECT_EQ(computeUnary("ex2.approx.ftz.f32", 3), 8);
  EXPECT_EQ(computeUnary("lg2.approx.f", 8), 3);
  EXPECT_EQ(computeUnary("rcp.approx.ftz.f", 4), 0.25f);
  EXPECT_EQ(computeUnary("rsqrt.approx.f", 4), 0.5f);
  EXPECT_EQ(computeUnary("sqrt.rn.f", 2), std::sqrt(2.0f));
  EXPECT_EQ(computeUnary("saturate.f", 2), 1);
  EXPECT_EQ(computeUnary("saturate.f", NAN), 0);
  EXPECT_EQ(computeUnary("floor.f", -1.5f), -2);
  EXPECT_EQ(computeUnary("round.f", 2.5f), 2);
  EXPECT_EQ(compute("%value = call float asm \"rcp.approx.ftz.f32 $0,$1;\", "
                    "\"=f,f\"(float %a)",
                    "", 4),
            0.25f);
  EXPECT_NEAR(computeUnary("tanh.approx.f32", 0.5f), std::tanh(0.5f), 1e-6);
}

TEST_F(EmulateMathTest, RoundsInAllDirections) {
  auto multiply = [](const std::string &rounding, float a, float b, float c) {
    std::string name = "llvm.nvvm.fma." + rounding + ".f";
    return compute(
        "%value = call float @" + name + "(float %a, float %b, float %c)",
        "declare float @" + name + "(float, float, float)\n", a, b, c);
  };
  float a = 1.1f, b = 1.3f, c = 1e-9f;
  float nearest = std::fma(a, b, c);
  float below = multiply("rm", a, b, c), above = multiply("rp", a, b, c);
  EXPECT_EQ(multiply("rn", a, b, c), nearest);
  EXPECT_EQ(std::nextafter(below, 10.0f), above);
  EXPECT_TRUE(nearest == below || nearest == above);
  EXPECT_EQ(multiply("rz", a, b, c), below);
  EXPECT_EQ(multiply("rz", -a, b, -c), -below);
  EXPECT_EQ(multiply("rn.sat", a, b, c), 1);
}

TEST_F(EmulateMathTest, TellsMinimaOfNoNumbers) {
  auto least = [](const std::string &name, float a, float b) {
    return compute(
        "%value = call float @llvm.nvvm." + name + "(float %a, float %b)",
        "declare float @llvm.nvvm." + name + "(float, float)\n", a, b);
  };
  EXPECT_EQ(least("fmin.f", NAN, 3), 3);
  EXPECT_TRUE(std::isnan(least("fmin.nan.f", NAN, 3)));
  EXPECT_EQ(least("fmax.f", 2, 3), 3);
}

TEST_F(EmulateMathTest, Converts) {
  auto convert = [](const std::string &name, float x) {
    float bits = compute("%i = call i32 @llvm.nvvm." + name +
                             "(float %a)\n%value = bitcast i32 %i to float",
                         "declare i32 @llvm.nvvm." + name + "(float)\n", x);
    int32_t result;
    std::memcpy(&result, &bits, 4);
    return result;
  };
  EXPECT_EQ(convert("f2i.rn", 2.5f), 2);
  EXPECT_EQ(convert("f2i.rm", -2.5f), -3);
  EXPECT_EQ(convert("f2i.rz", 1e20f), INT32_MAX);
  EXPECT_EQ(convert("f2tf32.rna", 1.0f + 0x1p-11f), 0x3f802000);
  EXPECT_EQ(convert("f2tf32.rn", 1.0f + 0x1p-11f), 0x3f800000);
  EXPECT_EQ(convert("f2tf32.rz", 1.0f + 0x1p-10f - 0x1p-23f), 0x3f800000);
}

TEST_F(EmulateMathTest, RoundsToBf16) {
  auto narrow = [](float x) {
    return compute("%n = fptrunc float %a to bfloat\n"
                   "%value = fpext bfloat %n to float",
                   "", x);
  };
  EXPECT_EQ(narrow(1.0f + 0x1p-8f), 1.0f);
  EXPECT_EQ(narrow(1.0f + 0x1p-8f + 0x1p-20f), 1.0f + 0x1p-7f);
  EXPECT_EQ(narrow(0x1p-133f), 0x1p-133f) << "a denormal of bf16";
  EXPECT_TRUE(std::isnan(narrow(NAN)));
}

TEST_F(EmulateMathTest, ComputesOnBits) {
  auto bits = [](const std::string &call, const std::string &declaration) {
    float result = compute("%x = bitcast float %a to i32\n" + call +
                               "\n%value = bitcast i32 %i to float",
                           declaration, 1.0f);
    uint32_t word;
    std::memcpy(&word, &result, 4);
    return word;
  };
  EXPECT_EQ(bits("%i = call i32 @llvm.nvvm.mulhi.ui(i32 %x, i32 %x)",
                 "declare i32 @llvm.nvvm.mulhi.ui(i32, i32)\n"),
            uint32_t(uint64_t(0x3f800000) * 0x3f800000 >> 32));
  EXPECT_EQ(bits("%i = call i32 @llvm.nvvm.prmt(i32 %x, i32 287454020, i32 "
                 "17971)",
                 "declare i32 @llvm.nvvm.prmt(i32, i32, i32)\n"),
            0x44223f3fu)
      << "bytes 3, 3, 6 and 4 of 0x112233443f800000";
  EXPECT_EQ(bits("%i = call i32 @llvm.nvvm.sad.ui(i32 %x, i32 -1, i32 1)",
                 "declare i32 @llvm.nvvm.sad.ui(i32, i32, i32)\n"),
            0xc0800000u);
  // Bytes 0, 0, 128 and 63 by 4, 3, 2 and 1, or by -1.
  auto dot = [&](const std::string &types, const std::string &factor) {
    std::string name = "i32 @llvm.nvvm.idp4a." + types;
    return bits("%i = call " + name + "(i32 %x, i32 " + factor + ", i32 1000)",
                "declare " + name + "(i32, i32, i32)\n");
  };
  EXPECT_EQ(dot("u.u", "16909060"), 1000u + 256 + 63);
  EXPECT_EQ(dot("s.u", "16909060"), 1000u - 256 + 63);
  EXPECT_EQ(dot("u.s", "-1"), 1000u - 128 - 63);
  EXPECT_EQ(dot("s.s", "-1"), 1000u + 128 - 63);
}

TEST_F(EmulateMathTest, RefusesWhatItDoesNotKnow) {
  auto refusal = [](const std::string &call, const std::string &declaration) {
    return refusalOf(declaration + "define ptx_kernel void @k() {\n" + call +
                     "\nret void\n}\n");
  };
  EXPECT_EQ(
      refusal("call void @llvm.nvvm.barrier.cluster.wait()",
              "declare void @llvm.nvvm.barrier.cluster.wait()\n"),
      "cannot emulate the kernel 'k': emulators do not know the intrinsic "
      "'llvm.nvvm.barrier.cluster.wait'");
  EXPECT_EQ(refusal("call void asm \"trap;\", \"\"()", ""),
            "cannot emulate the kernel 'k': inline assembly 'trap;'");
  EXPECT_EQ(refusal("%x = call float @__nv_expf(float 1.0)",
                    "declare float @__nv_expf(float)\n"),
            "cannot emulate the kernel 'k': the function '__nv_expf' is not "
            "defined; is libdevice linked?");
  EXPECT_EQ(refusalOf("define void @f() {\nret void\n}\n"),
            "cannot emulate the kernel '<string>': the module has no "
            "ptx_kernel function");
}

} // namespace
