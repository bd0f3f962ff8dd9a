//===- samples.h - Samples to calibrate a model with ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_SAMPLES_H
#define TINH_TOOLS_SAMPLES_H

#include "dataset.h"

namespace tinh::tools {

/// Reads samples of all `inputs`: from an .npz file with an array for each,
/// whose first dimension is the samples; from a folder with such a NAME.npy for
/// each; or from a folder of folders, a run in each, whose NAME.npy have the
/// inputs' shapes. Throws UserError if something is missing, of another shape
/// or type, or NaN, or there are no inputs.
Dataset read_samples(const std::string &option, const std::string &path,
                     const std::vector<tinh_tensor_info_t> &inputs);

} // namespace tinh::tools

#endif // TINH_TOOLS_SAMPLES_H
