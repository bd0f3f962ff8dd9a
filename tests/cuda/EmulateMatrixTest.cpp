//===- EmulateMatrixTest.cpp - Copies and matrix products -------*- C++ -*-===//
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

class EmulateMatrixTest : public testing::Test {
protected:
  void SetUp() override { configure(""); }
  DriverContext context;
};

/// Small whole numbers, which all types have.
float elementOf(unsigned row, unsigned column, unsigned seed) {
  return float(int(row * 7 + column * 3 + seed * 5) % 11 - 5);
}

uint16_t halfBits(float value, bool isBf16) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (isBf16)
    return uint16_t(bits >> 16);
  if (value == 0)
    return 0;
  int exponent = int(bits >> 23 & 255) - 127 + 15;
  return uint16_t(bits >> 16 & 0x8000) | uint16_t(exponent << 10) |
         uint16_t(bits >> 13 & 0x3ff);
}

/// 16 × k times k × 8, plus C.
std::vector<float> product(unsigned depth) {
  std::vector<float> result;
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 8; ++j) {
      float sum = elementOf(i, j, 3);
      for (unsigned k = 0; k < depth; ++k)
        sum += elementOf(i, k, 1) * elementOf(k, j, 2);
      result.push_back(sum);
    }
  return result;
}

/// The registers of all lanes: of A, of B and of C.
std::vector<uint32_t> fragments(unsigned depth, bool isTf32, bool isBf16) {
  std::vector<uint32_t> words;
  unsigned perWord = isTf32 ? 1 : 2, step = 4 * perWord;
  auto word = [&](auto element) {
    uint32_t bits = 0;
    for (unsigned half = 0; half < perWord; ++half) {
      float value = element(half);
      if (isTf32)
        std::memcpy(&bits, &value, 4);
      else
        bits |= uint32_t(halfBits(value, isBf16)) << (16 * half);
    }
    words.push_back(bits);
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned group = lane / 4, first = lane % 4 * perWord;
    for (unsigned k = 0; k < depth; k += step)
      for (unsigned row : {group, group + 8})
        word(
            [&](unsigned half) { return elementOf(row, k + first + half, 1); });
    for (unsigned k = 0; k < depth; k += step)
      word(
          [&](unsigned half) { return elementOf(k + first + half, group, 2); });
    for (unsigned i = 0; i < 4; ++i) {
      float sum = elementOf(group + 8 * (i / 2), lane % 4 * 2 + i % 2, 3);
      words.emplace_back();
      std::memcpy(&words.back(), &sum, 4);
    }
  }
  return words;
}

/// A kernel of one mma whose lanes have their registers side by side.
std::string multiplyKernel(const std::string &name, unsigned factors,
                           const std::string &factorType,
                           const std::string &sum = "float") {
  std::string types, values, loads;
  auto add = [&](unsigned index, const std::string &type) {
    std::string i = std::to_string(index);
    loads += "  %p" + i + " = getelementptr i32, ptr addrspace(1) %base, i64 " +
             i + "\n  %r" + i + " = load " + type + ", ptr addrspace(1) %p" +
             i + "\n";
    types += (index ? ", " : "") + type;
    values += (index ? ", " : "") + type + " %r" + i;
  };
  for (unsigned i = 0; i < factors; ++i)
    add(i, factorType);
  for (unsigned i = 0; i < 4; ++i)
    add(factors + i, sum);
  std::string words = std::to_string(factors + 4), stores;
  std::string sums = "{" + sum + ", " + sum + ", " + sum + ", " + sum + "}";
  for (std::string i : {"0", "1", "2", "3"})
    stores += "  %q" + i + " = getelementptr i32, ptr addrspace(1) %to, i64 " +
              i + "\n  %d" + i + " = extractvalue " + sums + " %d, " + i +
              "\n  store " + sum + " %d" + i + ", ptr addrspace(1) %q" + i +
              "\n";
  return "declare i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
         "declare " +
         sums + " @llvm.nvvm.mma." + name + "(" + types + ")\n" +
         R"(define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %i = zext i32 %l to i64
  %to = getelementptr [4 x float], ptr addrspace(1) %out, i64 %i
  %base = getelementptr [)" +
         words + " x i32], ptr addrspace(1) %in, i64 %i\n" + loads +
         "  %d = call " + sums + " @llvm.nvvm.mma." + name + "(" + values +
         ")\n" + stores + "  ret void\n}\n";
}

void checkMultiply(const std::string &name, unsigned depth, bool isTf32,
                   const std::string &type) {
  bool isBf16 = name.find("bf16") != std::string::npos;
  unsigned factors = depth / (isTf32 ? 4 : 8) * 3;
  DeviceBuffer in(fragments(depth, isTf32, isBf16)), out(32 * 16);
  EmulatedKernel kernel(multiplyKernel(name, factors, type), "k");
  ASSERT_EQ(kernel.run(1, 32, 0, {&in, &out}), 0);
  std::vector<float> got = out.values<float>(), expected = product(depth);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      ASSERT_EQ(got[lane * 4 + i],
                expected[(lane / 4 + 8 * (i / 2)) * 8 + lane % 4 * 2 + i % 2])
          << name << ", lane " << lane << ", register " << i;
}

TEST_F(EmulateMatrixTest, Multiplies) {
  checkMultiply("m16n8k16.row.col.f32.f32", 16, false, "<2 x half>");
  checkMultiply("m16n8k8.row.col.f32.f32", 8, false, "<2 x half>");
  checkMultiply("m16n8k16.row.col.bf16", 16, false, "i32");
  checkMultiply("m16n8k8.row.col.bf16", 8, false, "i32");
  checkMultiply("m16n8k8.row.col.tf32", 8, true, "i32");
  checkMultiply("m16n8k4.row.col.tf32", 4, true, "i32");
}

/// The byte of an element, and what it is if bytes have a sign, or have none.
uint8_t byteOf(unsigned row, unsigned column, unsigned seed) {
  return uint8_t(row * 37 + column * 11 + seed * 91);
}
int valueOf(uint8_t byte, bool isSigned) {
  return isSigned ? int8_t(byte) : byte;
}

/// The same of 16 × 32 bytes by 32 × 8: a lane has four side by side.
void checkMultiplyBytes(const std::string &types, bool isASigned,
                        bool isBSigned) {
  std::vector<uint32_t> words;
  auto word = [&](auto element) {
    words.push_back(element(0) | element(1) << 8 | element(2) << 16 |
                    uint32_t(element(3)) << 24);
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned group = lane / 4, first = lane % 4 * 4;
    for (unsigned k : {first, first + 16})
      for (unsigned row : {group, group + 8})
        word([&](unsigned i) { return byteOf(row, k + i, 1); });
    for (unsigned k : {first, first + 16})
      word([&](unsigned i) { return byteOf(k + i, group, 2); });
    for (unsigned i = 0; i < 4; ++i)
      words.push_back(lane * 1000 + i);
  }
  DeviceBuffer in(words), out(32 * 16);
  EmulatedKernel kernel(
      multiplyKernel("m16n8k32.row.col." + types, 6, "i32", "i32"), "k");
  ASSERT_EQ(kernel.run(1, 32, 0, {&in, &out}), 0);
  std::vector<int> got = out.values<int>();
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
      int sum = int(lane * 1000 + i);
      for (unsigned k = 0; k < 32; ++k)
        sum += valueOf(byteOf(row, k, 1), isASigned) *
               valueOf(byteOf(k, column, 2), isBSigned);
      ASSERT_EQ(got[lane * 4 + i], sum) << types << ", lane " << lane;
    }
}

TEST_F(EmulateMatrixTest, MultipliesBytes) {
  checkMultiplyBytes("u8", false, false);
  checkMultiplyBytes("u8.s8", false, true);
  checkMultiplyBytes("s8.u8", true, false);
  checkMultiplyBytes("s8", true, true);
}

// A and B, whose rows are columns of the factor, by way of asynchronous copies
// and ldmatrix: what it loads is what mma takes.
const char kTile[] = R"(
@shared = external addrspace(3) global [0 x i8], align 128
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare {i32, i32, i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare {i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2LAYOUT.b16.p3(ptr addrspace(3))
declare {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float)
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %a16 = mul i64 %i, 16
  %b8 = mul i64 %i, 8
  %bPlace = add i64 %b8, 512
  %fromA = getelementptr i8, ptr addrspace(1) %a, i64 %a16
  %fromB = getelementptr i8, ptr addrspace(1) %b, i64 %b8
  %toA = getelementptr i8, ptr addrspace(3) @shared, i64 %a16
  %toB = getelementptr i8, ptr addrspace(3) @shared, i64 %bPlace
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %toA, ptr addrspace(1) %fromA)
  call void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3) %toB, ptr addrspace(1) %fromB)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %row = and i64 %i, 15
  %half = lshr i64 %i, 4
  %rowA = mul i64 %row, 32
  %halfA = mul i64 %half, 16
  %offsetA = add i64 %rowA, %halfA
  %loadA = getelementptr i8, ptr addrspace(3) @shared, i64 %offsetA
  %ra = call {i32, i32, i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %loadA)
OFFSETB
  %placeB = add i64 %offsetB, 512
  %loadB = getelementptr i8, ptr addrspace(3) @shared, i64 %placeB
  %rb = call {i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2LAYOUT.b16.p3(ptr addrspace(3) %loadB)
  %w0 = extractvalue {i32, i32, i32, i32} %ra, 0
  %w1 = extractvalue {i32, i32, i32, i32} %ra, 1
  %w2 = extractvalue {i32, i32, i32, i32} %ra, 2
  %w3 = extractvalue {i32, i32, i32, i32} %ra, 3
  %w4 = extractvalue {i32, i32} %rb, 0
  %w5 = extractvalue {i32, i32} %rb, 1
  %h0 = bitcast i32 %w0 to <2 x half>
  %h1 = bitcast i32 %w1 to <2 x half>
  %h2 = bitcast i32 %w2 to <2 x half>
  %h3 = bitcast i32 %w3 to <2 x half>
  %h4 = bitcast i32 %w4 to <2 x half>
  %h5 = bitcast i32 %w5 to <2 x half>
  %d = call {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %h0, <2 x half> %h1, <2 x half> %h2, <2 x half> %h3, <2 x half> %h4, <2 x half> %h5, float 0.0, float 0.0, float 0.0, float 0.0)
  %group = lshr i64 %i, 2
  %pair = and i64 %i, 3
  %first = mul i64 %group, 4
  %place = add i64 %first, %pair
  %next = add i64 %place, 32
  %upper = getelementptr <2 x float>, ptr addrspace(1) %out, i64 %place
  %lower = getelementptr <2 x float>, ptr addrspace(1) %out, i64 %next
  %d0 = extractvalue {float, float, float, float} %d, 0
  %d1 = extractvalue {float, float, float, float} %d, 1
  %d2 = extractvalue {float, float, float, float} %d, 2
  %d3 = extractvalue {float, float, float, float} %d, 3
  %u0 = insertelement <2 x float> poison, float %d0, i32 0
  %u1 = insertelement <2 x float> %u0, float %d1, i32 1
  %l0 = insertelement <2 x float> poison, float %d2, i32 0
  %l1 = insertelement <2 x float> %l0, float %d3, i32 1
  store <2 x float> %u1, ptr addrspace(1) %upper
  store <2 x float> %l1, ptr addrspace(1) %lower
  ret void
}
)";

/// kTile with B as 8 rows of 16 columns, or transposed.
std::string tileKernel(bool transposed) {
  std::string text = kTile;
  auto replace = [&](const std::string &word, const std::string &by) {
    for (size_t at; (at = text.find(word)) != std::string::npos;)
      text.replace(at, word.size(), by);
  };
  replace("LAYOUT", transposed ? ".trans" : "");
  replace("OFFSETB", transposed ? "  %offsetB = mul i64 %row, 16" :
                                R"(  %rowB8 = and i64 %i, 7
  %rowB = mul i64 %rowB8, 32
  %next8 = lshr i64 %row, 3
  %halfB = mul i64 %next8, 16
  %offsetB = add i64 %rowB, %halfB)");
  return text;
}

void checkTile(bool transposed) {
  std::vector<uint16_t> a, b(128);
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned k = 0; k < 16; ++k)
      a.push_back(halfBits(elementOf(i, k, 1), false));
  for (unsigned k = 0; k < 16; ++k)
    for (unsigned j = 0; j < 8; ++j)
      b[transposed ? k * 8 + j : j * 16 + k] =
          halfBits(elementOf(k, j, 2), false);
  std::vector<float> expected = product(16);
  for (unsigned i = 0; i < 128; ++i)
    expected[i] -= elementOf(i / 8, i % 8, 3);
  DeviceBuffer inA(a), inB(b), out(128 * 4);
  EmulatedKernel kernel(tileKernel(transposed), "k");
  auto isRight = [&](const std::string &settings) {
    configure(settings);
    EXPECT_EQ(kernel.run(1, 32, 768, {&inA, &inB, &out}), 0);
    return out.values<float>() == expected;
  };
  bool caught = false;
  for (const std::string &schedule : allSchedules()) {
    EXPECT_TRUE(isRight(schedule)) << schedule;
    caught |= !isRight("ignore=k:wait:0" + schedule);
  }
  EXPECT_TRUE(caught) << "nothing waits for the copies";
  configure("");
}

TEST_F(EmulateMatrixTest, CopiesAndLoadsMatrices) { checkTile(false); }

TEST_F(EmulateMatrixTest, LoadsTransposedMatrices) { checkTile(true); }

TEST_F(EmulateMatrixTest, CopiesAPartAndZeros) {
  DeviceBuffer in(std::vector<float>{1, 2, 3, 4}), out(16);
  EmulatedKernel kernel(R"(
@shared = external addrspace(3) global [0 x i8], align 128
declare void @llvm.nvvm.cp.async.ca.shared.global.16.s(ptr addrspace(3), ptr addrspace(1), i32)
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  call void @llvm.nvvm.cp.async.ca.shared.global.16.s(ptr addrspace(3) @shared, ptr addrspace(1) %in, i32 8)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  %x = load <4 x float>, ptr addrspace(3) @shared
  store <4 x float> %x, ptr addrspace(1) %out
  ret void
}
)",
                        "k");
  ASSERT_EQ(kernel.run(1, 1, 16, {&in, &out}), 0);
  EXPECT_EQ(out.values<float>(), (std::vector<float>{1, 2, 0, 0}));
  EXPECT_EQ(kernel.run(1, 1, 8, {&in, &out}), 719);
  EXPECT_TRUE(logHas("cp.async writes outside of shared memory"));
  configure("");
}

} // namespace
