//===- EmulatedKernel.cpp - Kernels on the fake driver ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EmulatedKernel.h"

#include "compiler/Codegen/CUDA/Emulate/Emulate.h"
#include "tests/cuda/driver/driver_api.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

namespace tinh::runtime::cuda {
#define TINH_DECLARE(name, parameters) extern "C" CUresult name parameters;
TINH_CUDA_DRIVER_FUNCTIONS(TINH_DECLARE)
} // namespace tinh::runtime::cuda

using namespace tinh::runtime::cuda;

namespace tinh::tests {

DeviceBuffer::DeviceBuffer(size_t bytes) : bytes(bytes) {
  EXPECT_EQ(cuMemAlloc_v2(&address, bytes), kSuccess);
}

DeviceBuffer::~DeviceBuffer() { EXPECT_EQ(cuMemFree_v2(address), kSuccess); }

void DeviceBuffer::write(const void *from) {
  EXPECT_EQ(cuMemcpyHtoD_v2(address, from, bytes), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(nullptr), kSuccess);
}

void DeviceBuffer::read(void *to) const {
  EXPECT_EQ(cuMemcpyDtoH_v2(to, address, bytes), kSuccess);
}

static llvm::Expected<llvm::SmallVector<char, 0>>
emulate(const std::string &ir) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(
      "target triple = \"nvptx64-nvidia-cuda\"\n" + ir, diagnostic, context);
  if (!module)
    return llvm::createStringError("line " +
                                   llvm::Twine(diagnostic.getLineNo() - 1) +
                                   ": " + diagnostic.getMessage());
  auto target = cpu::lookupTarget("x86-64-v3");
  if (!target)
    return target.takeError();
  return cuda::emulateDevice(std::move(module), *target);
}

EmulatedKernel::EmulatedKernel(const std::string &ir, const std::string &name) {
  auto image = emulate(ir);
  if (!image) {
    ADD_FAILURE() << llvm::toString(image.takeError());
    return;
  }
  EXPECT_EQ(cuModuleLoadData(&module, image->data()), kSuccess)
      << tinh_fake_cuda_log();
  EXPECT_EQ(cuModuleGetFunction(&function, module, name.c_str()), kSuccess);
  EXPECT_EQ(cuStreamCreate(&stream, kStreamNonBlocking), kSuccess);
}

EmulatedKernel::~EmulatedKernel() {
  if (stream) {
    EXPECT_EQ(cuStreamDestroy_v2(stream), kSuccess);
  }
  if (module) {
    EXPECT_EQ(cuModuleUnload(module), kSuccess);
  }
}

int EmulatedKernel::run(unsigned blocks, unsigned threads, unsigned shared,
                        std::vector<const DeviceBuffer *> buffers) {
  if (!function)
    return -1;
  std::vector<void *> parameters;
  for (const DeviceBuffer *buffer : buffers)
    parameters.push_back(const_cast<CUdeviceptr *>(&buffer->address));
  CUresult result = cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1,
                                   shared, stream, parameters.data(), nullptr);
  return result ? result : cuStreamSynchronize(stream);
}

std::string refusalOf(const std::string &ir) {
  auto image = emulate(ir);
  return image ? "" : llvm::toString(image.takeError());
}

DriverContext::DriverContext() {
  CUcontext context;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), kSuccess);
  EXPECT_EQ(cuCtxPushCurrent_v2(context), kSuccess);
}

DriverContext::~DriverContext() {
  EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), kSuccess);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), kSuccess);
  EXPECT_STREQ(tinh_fake_cuda_leaks(), "");
}

void configure(const std::string &settings) {
  tinh_fake_cuda_configure(settings.c_str());
}

bool logHas(const std::string &text) {
  return std::string(tinh_fake_cuda_log()).find(text) != std::string::npos;
}

const std::vector<std::string> &allSchedules() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list;
    for (std::string order : {" order=ascending", " order=descending"})
      for (std::string poison : {" poison=ff", " poison=7f", " poison=fe"})
        for (std::string copies : {" copies=late", " copies=early"})
          list.push_back(order + poison + copies);
    return list;
  }();
  return all;
}

} // namespace tinh::tests
