//===- tinh/nn.h - Layers and models ----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layers with the parameters and formulas of torch.nn, as modules
// (tinh/nn/module.h); docs/nn.md is a tour.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_H
#define TINH_NN_H

#include "tinh/nn/attention.h"
#include "tinh/nn/containers.h"
#include "tinh/nn/conv.h"
#include "tinh/nn/init.h"
#include "tinh/nn/layers.h"
#include "tinh/nn/module.h"
#include "tinh/nn/norms.h"
#include "tinh/nn/pooling.h"
#include "tinh/nn/quantization.h"
#include "tinh/nn/recurrent.h"

#endif // TINH_NN_H
