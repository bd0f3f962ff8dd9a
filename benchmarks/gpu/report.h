//===- report.h - Comparisons, and the results of all models ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_BENCHMARKS_GPU_REPORT_H
#define TINH_BENCHMARKS_GPU_REPORT_H

#include <nlohmann/json.hpp>
#include <string>

namespace tinh::benchmarks {

using Json = nlohmann::ordered_json;

/// The largest error of the tensors in the files of two folders: the norm of
/// the difference from what is expected, as a part of the norm of that. Throws
/// tools::UserError if the files are not the same, or the expected values
/// cannot tell right from wrong.
Json compare_folders(const std::string &got, const std::string &expected);

/// What a run of benchmarks/gpu.sh has left in a folder of results, for the
/// models of a bundle. `ok` says whether all was right.
Json collect_results(const std::string &bundle, const std::string &results);

} // namespace tinh::benchmarks

#endif // TINH_BENCHMARKS_GPU_REPORT_H
