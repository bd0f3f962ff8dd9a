//===- EmulateThreadsTest.cpp - Threads that share and wait -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EmulatedKernel.h"

#include <functional>
#include <gtest/gtest.h>

using namespace tinh::tests;

namespace {

class EmulateThreadsTest : public testing::Test {
protected:
  void SetUp() override { configure(""); }
  DriverContext context;
};

/// A kernel of one warp: `value`, an expression in `instructions`, for each
/// lane, from its own word %x.
std::string warpKernel(const std::string &instructions,
                       const std::string &declarations) {
  return declarations + R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %from = getelementptr i32, ptr addrspace(1) %in, i64 %i
  %to = getelementptr i32, ptr addrspace(1) %out, i64 %i
  %x = load i32, ptr addrspace(1) %from
)" + instructions +
         R"(
  store i32 %value, ptr addrspace(1) %to
  ret void
}
)";
}

using Words = std::vector<uint32_t>;

/// Runs a kernel of one warp and compares each lane with `expected`.
void checkWarp(
    const std::string &instructions, const std::string &declarations,
    const std::function<uint32_t(const Words &, unsigned)> &expected) {
  Words input;
  for (unsigned lane = 0; lane < 32; ++lane)
    input.push_back(lane * lane * 2654435761u >> 7);
  DeviceBuffer in(input), out(input);
  EmulatedKernel kernel(warpKernel(instructions, declarations), "k");
  for (const char *order : {"order=ascending", "order=descending"}) {
    configure(order);
    ASSERT_EQ(kernel.run(1, 32, 0, {&in, &out}), 0);
    Words got = out.values<uint32_t>();
    for (unsigned lane = 0; lane < 32; ++lane)
      ASSERT_EQ(got[lane], expected(input, lane))
          << instructions << " of lane " << lane << ", " << order;
  }
}

TEST_F(EmulateThreadsTest, ReadsRegisters) {
  DeviceBuffer out(6 * 64 * 4);
  EmulatedKernel kernel(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %g = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %first = mul i32 %b, %n
  %index = add i32 %first, %t
  %i = zext i32 %index to i64
  %to = getelementptr i32, ptr addrspace(1) %out, i64 %i
  %g1 = mul i32 %g, 1000
  %sum = add i32 %g1, %l
  store i32 %sum, ptr addrspace(1) %to
  ret void
}
)",
                        "k");
  ASSERT_EQ(kernel.run(6, 64, 0, {&out}), 0);
  Words got = out.values<uint32_t>();
  for (unsigned i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], 6000 + i % 32);
}

const char kShuffles[] = R"(
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare float @llvm.nvvm.shfl.sync.idx.f32(i32, float, i32, i32)
declare {i32, i1} @llvm.nvvm.shfl.sync.up.i32p(i32, i32, i32, i32)
declare {i32, i1} @llvm.nvvm.shfl.sync.down.i32p(i32, i32, i32, i32)
)";

TEST_F(EmulateThreadsTest, Shuffles) {
  checkWarp("%value = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %x, "
            "i32 5, i32 31)",
            kShuffles,
            [](const Words &x, unsigned lane) { return x[lane ^ 5]; });
  checkWarp("%f = bitcast i32 %x to float\n"
            "%r = call float @llvm.nvvm.shfl.sync.idx.f32(i32 -1, float %f, "
            "i32 3, i32 31)\n%value = bitcast float %r to i32",
            kShuffles, [](const Words &x, unsigned) { return x[3]; });
}

TEST_F(EmulateThreadsTest, ShufflesWithinSegments) {
  const char pick[] = R"(
  %v = extractvalue {i32, i1} %p, 0
  %c = extractvalue {i32, i1} %p, 1
  %value = select i1 %c, i32 %v, i32 77)";
  // Segments of 8 lanes: mask 24 in the upper byte; up stops at its first lane.
  checkWarp("%p = call {i32, i1} @llvm.nvvm.shfl.sync.up.i32p(i32 -1, i32 %x, "
            "i32 2, i32 6144)" +
                std::string(pick),
            kShuffles, [](const Words &x, unsigned lane) {
              return lane % 8 >= 2 ? x[lane - 2] : 77;
            });
  checkWarp("%p = call {i32, i1} @llvm.nvvm.shfl.sync.down.i32p(i32 -1, "
            "i32 %x, i32 3, i32 6175)" +
                std::string(pick),
            kShuffles, [](const Words &x, unsigned lane) {
              return lane % 8 < 5 ? x[lane + 3] : 77;
            });
}

TEST_F(EmulateThreadsTest, Votes) {
  checkWarp("%odd = trunc i32 %x to i1\n%value = call i32 "
            "@llvm.nvvm.vote.ballot.sync(i32 -1, i1 %odd)",
            "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)\n",
            [](const Words &x, unsigned) {
              uint32_t bits = 0;
              for (unsigned i = 0; i < 32; ++i)
                bits |= (x[i] & 1) << i;
              return bits;
            });
}

const char kReverse[] = R"(
@static = internal addrspace(3) global [100 x float] undef, align 4
@dynamic = external addrspace(3) global [0 x float], align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %r = sub i64 63, %i
  %from = getelementptr float, ptr addrspace(1) %in, i64 %i
  %x = load float, ptr addrspace(1) %from
  %mine = getelementptr float, ptr addrspace(3) @static, i64 %i
  store float %x, ptr addrspace(3) %mine
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %other = getelementptr float, ptr addrspace(3) @static, i64 %r
  %y = load float, ptr addrspace(3) %other
  %third = getelementptr float, ptr addrspace(3) @dynamic, i64 %i
  store float %y, ptr addrspace(3) %third
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %same = getelementptr float, ptr addrspace(3) @dynamic, i64 %r
  %z = load float, ptr addrspace(3) %same
  %to = getelementptr float, ptr addrspace(1) %out, i64 %i
  %w = load float, ptr addrspace(3) @dynamic
  %sum = fadd float %z, %w
  store float %sum, ptr addrspace(1) %to
  ret void
}
)";

TEST_F(EmulateThreadsTest, NeedsEachBarrier) {
  std::vector<float> input;
  for (int i = 0; i < 64; ++i)
    input.push_back(float(i));
  DeviceBuffer in(input), out(input);
  EmulatedKernel kernel(kReverse, "k");
  auto isRight = [&](const std::string &settings) {
    configure(settings);
    int code = kernel.run(1, 64, 64 * 4, {&in, &out});
    configure(settings);
    std::vector<float> got = out.values<float>();
    for (int i = 0; i < 64; ++i)
      if (got[i] != float(i) + 63)
        return false;
    return code == 0;
  };
  for (const std::string &schedule : allSchedules())
    EXPECT_TRUE(isRight(schedule)) << schedule;
  for (std::string site : {"0", "1"}) {
    bool caught = false;
    for (const std::string &schedule : allSchedules()) {
      std::string settings = "ignore=k:barrier:" + site + schedule;
      caught |= !isRight("races=0 " + settings);
      EXPECT_FALSE(isRight(settings)) << "nothing orders the accesses";
    }
    EXPECT_TRUE(caught) << "barrier " << site;
  }
  configure("");
}

TEST_F(EmulateThreadsTest, FindsAccessesBehindSharedMemory) {
  DeviceBuffer in(64 * 4), out(64 * 4);
  EmulatedKernel kernel(kReverse, "k");
  EXPECT_EQ(kernel.run(1, 64, 63 * 4, {&in, &out}), 719);
  EXPECT_TRUE(logHas("an access of shared memory at 1276, of which there are "
                     "1276 bytes"));
  configure("");
}

TEST_F(EmulateThreadsTest, FindsBarriersThatNotAllThreadsReach) {
  DeviceBuffer out(64 * 4);
  EmulatedKernel kernel(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %few = icmp ult i32 %t, 40
  br i1 %few, label %wait, label %end
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %end
end:
  ret void
}
)",
                        "k");
  EXPECT_EQ(kernel.run(1, 64, 0, {&out}), 719);
  EXPECT_TRUE(logHas("threads wait for each other: 24 (40 first) have ended; "
                     "40 (0 first) wait for a barrier"));
  configure("");
}

TEST_F(EmulateThreadsTest, FindsWarpsThatPart) {
  DeviceBuffer out(64 * 4);
  EmulatedKernel kernel(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %few = icmp ult i32 %t, 8
  br i1 %few, label %a, label %b
a:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 1, ptr addrspace(1) %out
  ret void
b:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}
)",
                        "k");
  EXPECT_EQ(kernel.run(1, 32, 0, {&out}), 719);
  EXPECT_TRUE(logHas("threads of one warp wait at different barriers"));
  configure("");
}

TEST_F(EmulateThreadsTest, AddsAtomically) {
  DeviceBuffer sums(std::vector<float>(2, 0));
  EmulatedKernel kernel(R"(
@count = internal addrspace(3) global i32 undef, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 0, ptr addrspace(3) @count
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %before = atomicrmw add ptr addrspace(3) @count, i32 1 monotonic
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %all = load i32, ptr addrspace(3) @count
  %x = sitofp i32 %all to float
  %old = atomicrmw fadd ptr addrspace(1) %out, float %x syncscope("device") monotonic
  ret void
}
)",
                        "k");
  ASSERT_EQ(kernel.run(20, 96, 0, {&sums}), 0);
  EXPECT_EQ(sums.values<float>()[0], 20 * 96 * 96);
}

} // namespace
