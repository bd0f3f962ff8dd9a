//===- driver_test.cpp - The fake driver finds what is wrong ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "driver_api.h"
#include "runtime/src/cuda/driver/driver.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <thread>
#include <vector>

namespace tinh::runtime::cuda {
#define TINH_DECLARE(name, parameters) extern "C" CUresult name parameters;
TINH_CUDA_DRIVER_FUNCTIONS(TINH_DECLARE)
} // namespace tinh::runtime::cuda

using namespace tinh::runtime::cuda;

namespace {

constexpr unsigned kThreads = 64, kBlocks = 3, kCount = kThreads * kBlocks;
constexpr size_t kBytes = kCount * sizeof(float);
constexpr CUresult kCaptureUnsupported = 900;

bool logHas(const std::string &text) {
  return std::string(tinh_fake_cuda_log()).find(text) != std::string::npos;
}

class FakeDriverTest : public testing::Test {
protected:
  void SetUp() override {
    start("");
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), kSuccess);
    ASSERT_EQ(cuCtxPushCurrent_v2(context), kSuccess);
    std::ifstream file(REVERSE_IMAGE, std::ios::binary);
    image.assign(std::istreambuf_iterator<char>(file), {});
    ASSERT_EQ(cuModuleLoadData(&module, image.data()), kSuccess);
    ASSERT_EQ(cuModuleGetFunction(&function, module, "reverse"), kSuccess);
    ASSERT_EQ(cuStreamCreate(&stream, kStreamNonBlocking), kSuccess);
    ASSERT_EQ(cuMemAlloc_v2(&x, kBytes), kSuccess);
    ASSERT_EQ(cuMemAlloc_v2(&y, kBytes), kSuccess);
    void *memory;
    ASSERT_EQ(cuMemHostAlloc(&memory, kBytes, kHostAllocPortable), kSuccess);
    host = static_cast<float *>(memory);
    for (unsigned i = 0; i < kCount; ++i)
      host[i] = float(i);
  }
  void TearDown() override {
    start("");
    for (CUstream each : {stream, other})
      if (each) {
        EXPECT_EQ(cuStreamDestroy_v2(each), kSuccess);
      }
    EXPECT_EQ(cuMemFree_v2(x), kSuccess);
    EXPECT_EQ(cuMemFree_v2(y), kSuccess);
    EXPECT_EQ(cuMemFreeHost(host), kSuccess);
    EXPECT_EQ(cuModuleUnload(module), kSuccess);
    EXPECT_EQ(cuCtxPopCurrent_v2(&context), kSuccess);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), kSuccess);
    EXPECT_STREQ(tinh_fake_cuda_leaks(), "");
  }
  static void start(const std::string &settings) {
    tinh_fake_cuda_configure(settings.c_str());
  }

  CUresult launch(CUdeviceptr from, CUdeviceptr to, CUstream where,
                  int64_t offset = 0, unsigned shared = kThreads * 4) {
    void *parameters[] = {&from, &to, &offset};
    return cuLaunchKernel(function, kBlocks, 1, 1, kThreads, 1, 1, shared,
                          where, parameters, nullptr);
  }
  void clear(CUdeviceptr address) {
    EXPECT_EQ(cuMemsetD8_v2(address, 0, kBytes), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(nullptr), kSuccess);
  }
  CUresult copyIn(CUstream where) {
    return cuMemcpyAsync(x, reinterpret_cast<CUdeviceptr>(host), kBytes, where);
  }
  /// What lies at `address`.
  std::vector<float> read(CUdeviceptr address) {
    std::vector<float> values(kCount);
    EXPECT_EQ(cuMemcpyDtoH_v2(values.data(), address, kBytes), kSuccess);
    return values;
  }
  bool isReversed(CUdeviceptr address) {
    std::vector<float> values = read(address);
    for (unsigned i = 0; i < kCount; ++i)
      if (values[i] !=
          float(i / kThreads * kThreads + kThreads - 1 - i % kThreads))
        return false;
    return true;
  }

  CUcontext context = nullptr;
  std::vector<char> image;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUstream stream = nullptr, other = nullptr;
  CUdeviceptr x = 0, y = 0;
  float *host = nullptr;
};

TEST_F(FakeDriverTest, RunsKernels) {
  for (const char *settings : {"", "order=descending", "threads=1"}) {
    start(settings);
    clear(y);
    EXPECT_EQ(copyIn(stream), kSuccess);
    EXPECT_EQ(launch(x, y, stream), kSuccess);
    EXPECT_FALSE(logHas("runs kernel")) << "nothing has waited for it";
    EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
    EXPECT_TRUE(isReversed(y)) << settings;
    EXPECT_FALSE(logHas("misuse"));
  }
}

TEST_F(FakeDriverTest, ReadsTheHostLate) {
  EXPECT_EQ(copyIn(stream), kSuccess);
  host[5] = -1;
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_EQ(read(x)[5], -1);
}

TEST_F(FakeDriverTest, CopiesToTheGpuAreOnTheirWay) {
  clear(x);
  start("");
  EXPECT_EQ(cuMemcpyHtoD_v2(x, host, kBytes), kSuccess);
  host[kCount - 1] = -1; // It has been read.
  EXPECT_EQ(launch(x, y, stream), kSuccess);
  start("schedule=newest");
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_FALSE(isReversed(y)) << "nothing orders the stream behind the copy";
  EXPECT_EQ(launch(x, y, stream), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(nullptr), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
}

TEST_F(FakeDriverTest, WaitsForPageableMemory) {
  std::vector<float> pageable(kCount, 7);
  start("");
  EXPECT_EQ(cuMemcpyAsync(x, reinterpret_cast<CUdeviceptr>(pageable.data()),
                          kBytes, stream),
            kSuccess);
  EXPECT_TRUE(logHas("synchronises a copy of memory that is not pinned"));
}

TEST_F(FakeDriverTest, ShowsStreamsThatAreNotOrdered) {
  ASSERT_EQ(cuStreamCreate(&other, kStreamNonBlocking), kSuccess);
  CUevent event;
  ASSERT_EQ(cuEventCreate(&event, kEventDisableTiming), kSuccess);
  for (bool ordered : {false, true}) {
    start("schedule=newest");
    clear(x);
    EXPECT_EQ(copyIn(stream), kSuccess);
    EXPECT_EQ(cuEventRecord(event, stream), kSuccess);
    if (ordered) {
      EXPECT_EQ(cuStreamWaitEvent(other, event, 0), kSuccess);
    }
    EXPECT_EQ(launch(x, y, other), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(other), kSuccess);
    EXPECT_EQ(isReversed(y), ordered);
    EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  }
  EXPECT_EQ(cuEventDestroy_v2(event), kSuccess);
}

TEST_F(FakeDriverTest, ShowsGraphNodesThatAreNotOrdered) {
  for (bool ordered : {false, true}) {
    start("schedule=newest");
    clear(x);
    CUgraph graph;
    CUgraphNode copy, kernel;
    CUgraphExec exec;
    ASSERT_EQ(cuGraphCreate(&graph, 0), kSuccess);
    Memcpy3D in{};
    in.srcMemoryType = kMemoryHost;
    in.srcHost = host;
    in.dstMemoryType = kMemoryDevice;
    in.dstDevice = x;
    in.WidthInBytes = kBytes;
    in.Height = in.Depth = 1;
    ASSERT_EQ(cuGraphAddMemcpyNode(&copy, graph, nullptr, 0, &in, context),
              kSuccess);
    int64_t offset = 0;
    void *parameters[] = {&x, &y, &offset};
    KernelNodeParams node{function,   kBlocks, 1,       1,
                          kThreads,   1,       1,       kThreads * 4,
                          parameters, nullptr, nullptr, nullptr};
    ASSERT_EQ(cuGraphAddKernelNode_v2(&kernel, graph, &copy, ordered, &node),
              kSuccess);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), kSuccess);
    EXPECT_EQ(cuGraphDestroy(graph), kSuccess);
    EXPECT_EQ(cuGraphLaunch(exec, stream), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
    EXPECT_EQ(isReversed(y), ordered);
    EXPECT_EQ(cuGraphExecDestroy(exec), kSuccess);
  }
}

TEST_F(FakeDriverTest, ShowsThatABarrierIsNeeded) {
  bool wrong = false;
  for (const char *order : {"ascending", "descending"}) {
    start(std::string("ignore=reverse:barrier:0 order=") + order);
    EXPECT_EQ(copyIn(stream), kSuccess);
    EXPECT_EQ(launch(x, y, stream), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
    wrong |= !isReversed(y);
  }
  EXPECT_TRUE(wrong);
}

TEST_F(FakeDriverTest, FailsAsItIsTold) {
  start("fail=cuMemAlloc_v2:2:2");
  CUdeviceptr first, second;
  EXPECT_EQ(cuMemAlloc_v2(&first, 100), kSuccess);
  EXPECT_EQ(cuMemAlloc_v2(&second, 100), kOutOfMemory);
  EXPECT_STREQ(tinh_fake_cuda_leaks(),
               "leak 3 allocations of device memory\n"
               "leak 1 allocations of host memory\nleak 1 contexts\n"
               "leak 1 modules\nleak 1 streams\n");
  EXPECT_EQ(cuMemFree_v2(first), kSuccess);
  start("memory=2000");
  EXPECT_EQ(cuMemAlloc_v2(&first, 2000), kOutOfMemory);
}

TEST_F(FakeDriverTest, FindsAccessesOfOtherMemory) {
  EXPECT_EQ(cuMemcpyHtoD_v2(x + 4, host, kBytes), kInvalidValue);
  EXPECT_TRUE(logHas("misuse copy host to device 768: the destination is not "
                     "within an allocation"));
  std::vector<int64_t> offsets = {-1};
#ifndef TINH_FAKE_CUDA_NO_SIGNALS
  offsets.push_back(1); // Into a page that cannot be accessed.
#endif
  for (int64_t offset : offsets) {
    start("");
    EXPECT_EQ(launch(x, y, stream, offset), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(stream), 719);
    EXPECT_TRUE(logHas("misuse")) << offset;
    EXPECT_EQ(launch(x, y, stream), 719) << "nothing works after that";
    start("");
    EXPECT_EQ(cuMemFree_v2(y), offset == -1 ? kInvalidValue : kSuccess)
        << "what lies beside it was written";
    ASSERT_EQ(cuMemAlloc_v2(&y, kBytes), kSuccess);
  }
#ifndef TINH_FAKE_CUDA_NO_SIGNALS
  // No kernel is refused for addresses that it may not read.
  for (CUdeviceptr nothing : {CUdeviceptr(0), x + kBytes}) {
    start("");
    EXPECT_EQ(launch(nothing, y, stream), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(stream), 719);
  }
#endif
  start("");
  EXPECT_EQ(launch(x + 2 * kBytes, y, stream), kInvalidValue);
  EXPECT_EQ(launch(x, y, stream, 0, /*shared=*/8), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(stream), 719);
  EXPECT_TRUE(logHas("memory behind the 8 bytes of shared memory was written"));
}

TEST_F(FakeDriverTest, FindsWrongLaunchesAndHandles) {
  EXPECT_EQ(launch(x, y, stream, 0, /*shared=*/64 << 10), kInvalidValue);
  EXPECT_EQ(cuFuncSetAttribute(function, kMaxDynamicSharedSize, 64 << 10),
            kSuccess);
  EXPECT_EQ(launch(x, y, stream, 0, /*shared=*/64 << 10), kSuccess);
  EXPECT_EQ(cuEventSynchronize(reinterpret_cast<CUevent>(&context)), 400);
  EXPECT_TRUE(logHas("misuse there is no such event"));
  EXPECT_EQ(cuMemFree_v2(x + 256), kInvalidValue);
  EXPECT_TRUE(logHas("misuse memory is freed that is not allocated"));
}

TEST_F(FakeDriverTest, NeedsAContext) {
  EXPECT_EQ(cuCtxPopCurrent_v2(&context), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(stream), 201);
  EXPECT_EQ(cuCtxPushCurrent_v2(context), kSuccess);
}

TEST_F(FakeDriverTest, RecordsKernelsWithoutCode) {
  CUmodule fat;
  EXPECT_EQ(cuModuleLoadData(&fat, "no ELF file"), kNoBinaryForGpu);
  start("record=1");
  CUfunction kernel;
  ASSERT_EQ(cuModuleLoadData(&fat, "no ELF file"), kSuccess);
  ASSERT_EQ(cuModuleGetFunction(&kernel, fat, "any"), kSuccess);
  EXPECT_EQ(
      cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr),
      kSuccess);
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_TRUE(logHas("runs kernel any"));
  EXPECT_EQ(cuModuleUnload(fat), kSuccess);
}

TEST_F(FakeDriverTest, CapturesStreams) {
  clear(y);
  start("");
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, kCaptureRelaxed), kSuccess);
  EXPECT_EQ(copyIn(stream), kSuccess);
  EXPECT_EQ(launch(x, y, stream), kSuccess);
  CUgraph captured = nullptr, graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream, &captured), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_FALSE(logHas("runs ")) << "it was captured alone";
  ASSERT_EQ(cuGraphCreate(&graph, 0), kSuccess);
  CUgraphNode node;
  ASSERT_EQ(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, captured),
            kSuccess);
  EXPECT_EQ(cuGraphDestroy(captured), kSuccess) << "the node has its own";
  CUgraphExec exec;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), kSuccess);
  EXPECT_EQ(cuGraphLaunch(exec, stream), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_TRUE(isReversed(y));
  EXPECT_FALSE(logHas("misuse"));
  EXPECT_EQ(cuGraphExecDestroy(exec), kSuccess);
  EXPECT_EQ(cuGraphDestroy(graph), kSuccess);
}

TEST_F(FakeDriverTest, KnowsWhatCapturesForbid) {
  CUgraph graph = nullptr;
  EXPECT_NE(cuStreamEndCapture(stream, &graph), kSuccess) << "none has begun";
  EXPECT_NE(cuStreamBeginCapture_v2(nullptr, kCaptureRelaxed), kSuccess);
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, kCaptureRelaxed), kSuccess);
  EXPECT_NE(cuStreamBeginCapture_v2(stream, kCaptureRelaxed), kSuccess);
  CUdeviceptr memory = 0;
  for (auto forbidden :
       {+[](CUstream s, CUdeviceptr *) { return cuStreamSynchronize(s); },
        +[](CUstream, CUdeviceptr *m) { return cuMemAlloc_v2(m, 16); },
        +[](CUstream, CUdeviceptr *m) { return cuMemcpyDtoH_v2(m, *m, 1); }}) {
    start("");
    EXPECT_EQ(forbidden(stream, &memory), kCaptureUnsupported);
    EXPECT_TRUE(logHas("while a stream is captured"));
  }
  CUresult result = kSuccess;
  std::thread([&] {
    EXPECT_EQ(cuCtxPushCurrent_v2(context), kSuccess);
    result = cuStreamEndCapture(stream, &graph);
    EXPECT_EQ(cuCtxPopCurrent_v2(&context), kSuccess);
  }).join();
  EXPECT_NE(result, kSuccess) << "another thread has begun it";
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), kSuccess);
  EXPECT_EQ(cuGraphDestroy(graph), kSuccess);
}

} // namespace
