//===- driver_api.h - What tests ask the fake driver ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_DRIVERAPI_H
#define TINH_TESTS_CUDA_DRIVER_DRIVERAPI_H

extern "C" {
/// New settings (settings.h); the log and the numbers of calls begin anew.
void tinh_fake_cuda_configure(const char *settings);
/// The log (log.h), until the next call of this function.
const char *tinh_fake_cuda_log();
/// "leak …" for each kind of object that is still there; the same.
const char *tinh_fake_cuda_leaks();
}

#endif // TINH_TESTS_CUDA_DRIVER_DRIVERAPI_H
