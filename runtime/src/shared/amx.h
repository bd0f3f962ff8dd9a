//===- amx.h - The permission to use AMX ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_AMX_H
#define TINH_RUNTIME_AMX_H

#include <sys/syscall.h>
#include <unistd.h>

namespace tinh::runtime {

/// Asks Linux to let the threads of this process use AMX's tiles, which are too
/// large for it to save unasked. Whether they may.
inline bool request_amx() {
#if defined(SYS_arch_prctl)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

} // namespace tinh::runtime

#endif // TINH_RUNTIME_AMX_H
