//===- npz.h - Reading NumPy's .npz files -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_NPZ_H
#define TINH_TOOLS_NPZ_H

#include "npy.h"

#include <map>

namespace tinh::tools {

/// The arrays of a file that numpy.savez or savez_compressed has written, by
/// name. False, with a message that names the file, if it cannot be read.
bool read_npz(const std::string &path, std::map<std::string, NpyArray> *out,
              std::string *out_message);

} // namespace tinh::tools

#endif // TINH_TOOLS_NPZ_H
