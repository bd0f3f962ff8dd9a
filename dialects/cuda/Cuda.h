//===- Cuda.h - The cuda dialect: how kernels run on GPUs -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plans of kernels for GPUs, an attribute for each strategy; their
// definitions are in CudaPlans.td.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DIALECTS_CUDA_CUDA_H
#define TINH_DIALECTS_CUDA_CUDA_H

#include "dialects/graph/Graph.h"

#include "dialects/cuda/CudaDialect.h.inc"
#include "dialects/cuda/CudaEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/cuda/CudaAttrs.h.inc"

#endif // TINH_DIALECTS_CUDA_CUDA_H
