//===- quantize_for.cpp - Quantisation for samples in files -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "quantize_for.h"

#include "model_job.h"
#include "model_samples.h"

using namespace mlir;

namespace tinh::tools {

OwningOpRef<ModuleOp> quantizeFor(ModuleOp module, const std::string &option,
                                  const std::string &path,
                                  const quantization::QuantizeOptions &options,
                                  const CompileOptions &compile,
                                  quantization::QuantizeReport &report) {
  auto samples = ModelSamples::read(module, option, path);
  if (failed(samples))
    return {};
  return quantization::quantize(module, samples->batches(), options, compile,
                                report);
}

LogicalResult quantizeFile(const QuantizeJob &job,
                           const CompileOptions &compile, MLIRContext &context,
                           quantization::QuantizeReport &report) {
  const CompileJob &files = job.files;
  OwningOpRef<ModuleOp> module =
      readModel(files.model, files.importing, Phase::Graph, context);
  if (!module)
    return failure();
  CompileReport compilation;
  if (failed(annotateModule(*module, Phase::Graph, compile)) ||
      failed(runPhases(*module, Phase::Graph, Phase::Normalised, compile.phases,
                       compilation)))
    return failure();
  auto quantized =
      quantizeFor(*module, job.option, job.data, job.options, compile, report);
  if (!quantized)
    return failure();
  return writeModel(*quantized, files, compile);
}

} // namespace tinh::tools
