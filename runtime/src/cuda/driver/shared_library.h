//===- shared_library.h - Functions of libraries, by name -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CUDA driver, cuBLASLt and cuDNN are loaded when they are first asked for.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_SHARED_LIBRARY_H
#define TINH_RUNTIME_CUDA_SHARED_LIBRARY_H

#include <string>

namespace tinh::runtime::cuda {

class SharedLibrary {
public:
  /// Throws NOT_FOUND.
  explicit SharedLibrary(std::string file);

  /// Throws INCOMPATIBLE if it has none of this name.
  template <typename Function> Function *find(const char *name) const {
    return reinterpret_cast<Function *>(symbol(name));
  }

  const std::string file;

private:
  void *symbol(const char *name) const;

  void *handle; ///< Never closed, as libraries of CUDA want it.
};

/// For lists of functions: a member called like the function, which it is found
/// for in the member `library`.
#define TINH_FOUND_FUNCTION(result, name, parameters)                          \
  result(*name) parameters = library.find<result parameters>(#name);

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_SHARED_LIBRARY_H
