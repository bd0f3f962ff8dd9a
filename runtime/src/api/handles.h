//===- handles.h - What the handles of the C API are ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_HANDLES_H
#define TINH_RUNTIME_HANDLES_H

#include "files/tensor_file.h"
#include "run/context.h"

struct tinh_module {
  std::shared_ptr<const tinh::runtime::Module> module;
};

struct tinh_context {
  std::shared_ptr<tinh::runtime::Context> context;
};

struct tinh_future {
  std::shared_ptr<tinh::runtime::Future> future;
};

struct tinh_safetensors {
  tinh::runtime::TensorFile file;
};

#endif // TINH_RUNTIME_HANDLES_H
