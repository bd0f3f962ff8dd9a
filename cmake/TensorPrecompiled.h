//===- TensorPrecompiled.h - The headers tensors need ---------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Precompiled once for the sources of compiler/Eager that see no IR, and for
// Planning.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Backend.h"
#include "tinh/autograd.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>
