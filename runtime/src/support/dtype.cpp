//===- dtype.cpp - Element types --------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names and sizes of the element types.
//
//===----------------------------------------------------------------------===//
#include "tinh/runtime.h"

namespace {

struct DtypeInfo {
  const char *name;
  size_t size;
};

/// By tinh_dtype_t.
constexpr DtypeInfo kDtypes[] = {
    {"bool", 1},       {"i8", 1},        {"u8", 1},         {"i16", 2},
    {"u16", 2},        {"i32", 4},       {"u32", 4},        {"i64", 8},
    {"u64", 8},        {"f16", 2},       {"bf16", 2},       {"f32", 4},
    {"f64", 8},        {"f8e4m3fn", 1},  {"f8e4m3fnuz", 1}, {"f8e5m2", 1},
    {"f8e5m2fnuz", 1}, {"f8e8m0fnu", 1}, {"f4e2m1fn", 1}};

constexpr size_t kNumDtypes = sizeof kDtypes / sizeof kDtypes[0];

} // namespace

const char *tinh_dtype_name(tinh_dtype_t dtype) {
  return size_t(dtype) < kNumDtypes ? kDtypes[dtype].name : "?";
}

size_t tinh_dtype_size(tinh_dtype_t dtype) {
  return size_t(dtype) < kNumDtypes ? kDtypes[dtype].size : 0;
}
