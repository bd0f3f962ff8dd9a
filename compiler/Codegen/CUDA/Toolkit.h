//===- Toolkit.h - The programs of the CUDA toolkit -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_TOOLKIT_H
#define TINH_CODEGEN_CUDA_TOOLKIT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tinh::cuda {

/// Where the parts of the CUDA toolkit lie that code generation needs.
struct Toolkit {
  std::string ptxas, fatbinary, libdevice;
  /// What tells it from others whose code may differ.
  std::string identity() const;
};

/// The toolkit in the folder `path`; if that is empty, in CUDA_HOME, CUDA_PATH
/// or /usr/local/cuda, the first that there is.
llvm::Expected<Toolkit> findToolkit(llvm::StringRef path);

/// The code of kernels for a chip: PTX, then what ptxas makes of it.
struct ChipCode {
  std::string chip; ///< "sm_90a", or "compute_75", whose code stays PTX.
  std::string bytes;

  bool staysPtx() const {
    return llvm::StringRef(chip).starts_with("compute_");
  }
};

/// Makes machine code of the PTX of a chip; fails with what ptxas says.
llvm::Error assemble(const Toolkit &toolkit, ChipCode &code);

/// One fat binary of all of `codes`, compressed.
llvm::Expected<llvm::SmallVector<char, 0>>
makeFatBinary(const Toolkit &toolkit, llvm::ArrayRef<ChipCode> codes);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_TOOLKIT_H
