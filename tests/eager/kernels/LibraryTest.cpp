//===- LibraryTest.cpp - Finding and compiling kernels ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/eager/kernels/KernelsTesting.h"

#include "tinh/runtime.hpp"

#include <filesystem>
#include <thread>
#include <unistd.h>

using namespace tinh::eager;

namespace {

/// A folder that is removed with the test.
struct Folder {
  Folder()
      : path(std::filesystem::temp_directory_path() /
             ("tinh-library-test-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  size_t files() const {
    return std::distance(std::filesystem::directory_iterator(path), {});
  }

  std::filesystem::path path;
};

/// 1 + 2 of `library`.
float add(KernelLibrary &library) {
  float a = 1, b = 2, y = 0;
  RowSizes<3> sizes{1, {{0, 1}, {0, 1}, {0, 1}}};
  void *buffers[] = {&sizes, &a, &b, &y};
  library.elementwise(ElementwiseOp::Add, TINH_DTYPE_F32)(buffers, nullptr, 0,
                                                          1);
  return y;
}

} // namespace

TEST(LibraryTest, findsTheSameKernelAgain) {
  KernelLibrary library("x86-64-v3", "");
  Kernel &kernel = library.elementwise(ElementwiseOp::Add, TINH_DTYPE_F32);
  EXPECT_EQ(&kernel, &library.elementwise(ElementwiseOp::Add, TINH_DTYPE_F32));
  EXPECT_NE(&kernel, &library.elementwise(ElementwiseOp::Add, TINH_DTYPE_F64));
  EXPECT_NE(&kernel, &library.elementwise(ElementwiseOp::Sub, TINH_DTYPE_F32));
  EXPECT_FALSE(kernel.isCompiled());
  EXPECT_EQ(kernel.code(), kernel.code());
  EXPECT_TRUE(kernel.isCompiled());
}

TEST(LibraryTest, keepsCode) {
  Folder folder;
  {
    KernelLibrary library("x86-64-v3", folder.path);
    EXPECT_EQ(3, add(library));
  }
  size_t files = folder.files();
  EXPECT_GE(files, 1u);
  KernelLibrary library("x86-64-v3", folder.path);
  EXPECT_EQ(3, add(library));
  EXPECT_EQ(files, folder.files());
}

/// Several threads need the same kernels for the first time.
TEST(LibraryTest, compilesOnAnyThread) {
  KernelLibrary library("x86-64-v3", "");
  const ElementwiseOp ops[] = {ElementwiseOp::Add, ElementwiseOp::Max,
                               ElementwiseOp::Relu, ElementwiseOp::Abs};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (size_t j = 0; j < 4; ++j)
        library.elementwise(ops[(i / 2 + j) % 4], TINH_DTYPE_F32).code();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(3, add(library));
}

TEST(LibraryTest, refusesWhatIsNoCpu) {
  try {
    KernelLibrary library("pentium-66", "");
    FAIL();
  } catch (const tinh::Error &error) {
    EXPECT_NE(std::string(error.what()).find("pentium-66"), std::string::npos)
        << error.what();
  }
}
