//===- quantize_for.cpp - Quantisation for samples in files -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "quantize_for.h"

#include "compiler/Export/Export.h"
#include "compiler/Pipelines/ElementTypes.h"
#include "dialects/graph/Graph.h"
#include "inputs.h"
#include "samples.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <deque>

using namespace mlir;

namespace tinh::tools {

namespace {

/// The inputs of a module's @main, as those of an artifact are described.
class ModelInputs {
public:
  explicit ModelInputs(ModuleOp module) {
    auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
    for (BlockArgument argument : main.getArguments()) {
      auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                    graph::names::kName);
      names.push_back(name ? name.str() : "");
      add(cast<RankedTensorType>(argument.getType()));
    }
  }
  const std::vector<tinh_tensor_info_t> &infos() const { return tensors; }

private:
  void add(RankedTensorType type) {
    dims.emplace_back(type.getShape());
    tinh_tensor_info_t info = {};
    info.name = names.back().c_str();
    info.dtype = dtypeOf(type.getElementType());
    info.rank = static_cast<uint32_t>(type.getRank());
    info.dims = dims.back().data();
    info.size = static_cast<uint64_t>(graph::tensorSize(type));
    tensors.push_back(info);
  }

  std::deque<std::string> names;
  std::deque<std::vector<int64_t>> dims;
  std::vector<tinh_tensor_info_t> tensors;
};

} // namespace

OwningOpRef<ModuleOp> quantizeFor(ModuleOp module, const std::string &option,
                                  const std::string &path,
                                  const quantization::QuantizeOptions &options,
                                  const CompileOptions &compile,
                                  quantization::QuantizeReport &report) {
  try {
    ModelInputs inputs(module);
    Dataset data = read_samples(option, path, inputs.infos());
    quantization::Samples samples;
    for (uint64_t i = 0; i < data.num_batches(); ++i)
      samples.push_back(data.batch_at(i));
    return quantization::quantize(module, samples, options, compile, report);
  } catch (const UserError &error) {
    emitError(UnknownLoc::get(module.getContext()), error.what());
    return {};
  }
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
  bool isJson = StringRef(files.output).ends_with(".json");
  return (isJson ? exportJson : exportOnnx)(*quantized, files.output,
                                            {compile.modelDirectory});
}

} // namespace tinh::tools
