//===- tinh/compiler.h - Compile a model into a library ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler for programs that embed it. What graph-compile does is one call:
//
//   tinh::CompileRequest request;
//   request.model = "model.onnx";
//   request.output = "model.so";
//   tinh::CompileResult result = tinh::compileModel(request);
//   if (!result.succeeded())
//     for (const std::string &message : result.messages)
//       std::cerr << message << '\n';
//
// The header needs the standard library alone, and the program nothing of LLVM.
// tinh/runtime.h loads and runs what was compiled.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_H
#define TINH_COMPILER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tinh {

/// Where an artifact's weights are.
enum class WeightsPlacement {
  Automatic, ///< External from 1 GiB on.
  Embedded,  ///< In the artifact.
  External   ///< In a file beside it.
};

/// Each of several ranks trains on a part of the batch (docs/data-parallel.md).
struct DataParallelRequest {
  /// Batch norms normalise by the batches of all ranks.
  bool syncBatchNorm = false;
  /// Of how many ranks each has a part of the optimizer's state (ZeRO, stage
  /// 1); 0: all have all of it, and there may be any number.
  std::int64_t shardOptimizer = 0;
  /// The communication dtype, as which gradients of f32 are sent: "bf16";
  /// empty: as they are.
  std::string communicationDtype = {};
};

/// What a model is trained by; docs/training.md has the names.
struct TrainingRequest {
  /// Names with options: "cross_entropy,label_smoothing=0.1", "adam,lr=0.001".
  /// Empty: those that the model's file gives.
  std::string loss, optimizer;
  /// Patterns, such as "fc*", of the names of the weights that are trained;
  /// none: all.
  std::vector<std::string> trainable;
  /// Knowledge distillation: a teacher to learn from, too, with options:
  /// "teacher.onnx,temperature=4". Empty: none.
  std::string distill = {};
  /// Train the scales of quantised tensors, too.
  bool learnScales = false;
  /// What the loss is multiplied by for gradients in f16: a power of two,
  /// "1024", or "dynamic" with options, "dynamic,growth_interval=1000". Empty:
  /// what the model's file gives, or dynamic; in other precisions nothing.
  std::string lossScale = {};
  /// Gradient accumulation: a step takes so many batches of the model, one
  /// after the other.
  std::int64_t accumulate = 1;
  /// Gradients are scaled down so that the norm of all of them together is at
  /// most this positive number (PyTorch's clip_grad_norm_); none: they stay as
  /// they are.
  std::optional<double> clipGradNorm = {};
  std::optional<DataParallelRequest> dataParallel = {};
};

/// What runs a model's kernels.
enum class Target {
  Cpu,
  Cuda, ///< A GPU of NVIDIA's, with the CPU for what does not run on it.
  /// The same, with the CPU alone as the fallback where there is no GPU: each
  /// context chooses.
  CudaOrCpu
};

/// How a model is compiled for GPUs.
struct CudaRequest {
  /// What the artifact has code for: "sm_80", …, and "compute_90", PTX for what
  /// comes later; empty: from sm_75 to sm_100, and compute_75.
  std::vector<std::string> chips;
  /// Matmuls and convolutions of f32 may read tf32, 10 bits of the operands'
  /// mantissas.
  bool allowTf32 = false;
  /// "PATTERN=DEVICE", such as "gather*=cpu": kernels with such an op, or such
  /// a node of the model, run on "cpu" or "cuda"; the last one that fits
  /// counts, and where none fits the kernel runs on the GPU.
  std::vector<std::string> place;
  /// The CUDA toolkit's folder; empty: CUDA_HOME or /usr/local/cuda.
  std::string toolkit;
  /// What computes with other ranks: "mpi", for which values are copied to the
  /// CPU, or "nccl", in the GPUs' memory; empty: "mpi".
  std::string collectives = {};
};

/// Bytes of the program's own, which it leaves as they are meanwhile.
struct MemoryBlock {
  const void *data = nullptr;
  size_t size = 0;
};

struct CompileRequest {
  /// The model's file: .onnx, .json or .mlir.
  std::string model;
  /// The library to write. A file that is there is replaced.
  std::string output;
  /// Shapes, in elements, of the inputs that the model leaves open, by name.
  std::map<std::string, std::vector<int64_t>> shapes;
  /// Elements, by name, of inputs that become constants of the model: one for
  /// all or a list between commas, such as "16000", "true" or "0.5,-inf".
  std::map<std::string, std::string> inputValues;
  /// How many tensors the inputs of an ONNX model have that are sequences, by
  /// name: each is an input NAME.0, NAME.1 …. Of an optional one, whether it is
  /// there: 1 or 0; -1, if an optional sequence is not.
  std::map<std::string, int64_t> lengths;
  /// How many bytes the strings of an ONNX model's input have at most, by its
  /// name; 64 where nothing is said. Such an input, and an output of strings,
  /// is a tensor of bytes, u8, with a dimension of so many behind its own:
  /// UTF-8, filled up with NUL.
  std::map<std::string, int64_t> stringLengths;
  /// Memory that weights of a JSON graph refer to, by name.
  std::map<std::string, MemoryBlock> memory;
  /// A .safetensors file, such as the state of a training step, whose tensors
  /// replace the model's weights of their names. Empty: the model's own.
  std::string loadWeights;
  /// Make an artifact that trains, with functions train_step, evaluate and
  /// predict in place of the model itself.
  std::optional<TrainingRequest> training;
  /// What matmuls and convolutions compute in, and store weights in: "f32",
  /// "bf16" or "f16". Sums within them, norms and softmax are f32, and so are
  /// inputs, outputs and what is trained (master weights). Empty: what the file
  /// of a model that is trained says, or f32. For CPUs that do not multiply it,
  /// it is what the weights of an inference model are stored in, and no more.
  std::string precision;
  /// Patterns, such as "conv" or "/head/*", of names of ops or of the model's
  /// nodes that stay in f32.
  std::vector<std::string> keepF32;
  /// A file of plans of kernels, such as `graph-compile --tune --plans` writes;
  /// empty: each kernel has the plan that is estimated to cost least.
  std::string plans;
  /// Try other plans on this machine for so many seconds, and add what was
  /// found to the file `plans`, if there is one; 0: do not.
  double tuneSeconds = 0;
  /// Which of Winograd's algorithms convolutions with kernels of 3 x 3 may take
  /// on CPUs, where they are faster: "off", "accurate" (those whose errors are
  /// at most about twice those of a direct convolution) or "fast" (all).
  /// Weights take up to four times the memory then, seven times with "fast".
  std::string winograd = "accurate";
  /// How exact exp, log, tanh, erf, pow and the like of f32 are on CPUs:
  /// "accurate", to one or two units in the last place, or "fast", to up to
  /// eight, and without subnormal numbers.
  std::string math = "accurate";
  /// What an arena and the variables may take together: "260000000", "260MB",
  /// "248MiB", or "60%" of what they take without it. Values are computed
  /// again, in the backward pass of a training step, rather than kept where a
  /// function would take more. Empty: as much as it takes.
  std::string memoryBudget;
  /// The seconds that compiling may take; 0: any. It ends between two steps,
  /// such as passes or kernels: a large kernel is finished first.
  double timeLimit = 0;
  /// The memory that the process may have of its own while it compiles, all
  /// that the program has among it: "8GiB", "500MB", "1000000". Compiling ends
  /// between two steps beyond it. Empty: as much as it takes.
  std::string memoryLimit;
  /// Make an artifact whose weights can be replaced when it is loaded
  /// (tinh_module_with_weights).
  bool loadableWeights = false;
  /// The CPU to compile for: native, x86-64-v3, x86-64-v4 or a name of LLVM's.
  std::string cpu = "native";
  Target target = Target::Cpu;
  CudaRequest cuda; ///< Unless the target is Cpu.
  WeightsPlacement weights = WeightsPlacement::Automatic;
  /// Threads that compile kernels; 0: as many as there are CPUs.
  unsigned jobs = 0;
  /// Put ops into kernels together; off: one kernel an op.
  bool fuse = true;
  /// Store variables as their types say, so that runs can have memory of the
  /// program for them, and not as the matmuls want them that read them.
  bool plainVariables = false;
  /// The folder of the cache of compiled kernels, made when it is needed;
  /// empty: compile all. Programs may share it.
  std::string cacheDirectory;
  /// The folder for a file, NAME-PHASE-reproducer.mlir, that reproduces an
  /// internal error, if there is one; empty: none is written.
  std::string reproducerDirectory;
  /// Told what is being done, with done and total of that; may be empty. Called
  /// from any thread, but not by two at a time.
  std::function<void(const char *what, size_t done, size_t total)> progress;
};

/// A kernel of the model, or of the preparation of its weights.
struct KernelReport {
  std::string name, strategy;
  /// If its code was compiled with that of a kernel before: that one's name.
  /// Time and size are told there.
  std::string image;
  double milliseconds = 0; ///< To compile it, or to find it in the cache.
  size_t codeSize = 0;     ///< Bytes of its object file.
  bool cached = false;
};

/// A function of the artifact. Bytes: of its planned arena, of all intermediate
/// buffers, and what no plan can go below; then the same in the GPU's memory.
struct FunctionReport {
  std::string name;
  size_t dispatches = 0;
  uint64_t arenaSize = 0, unplannedSize = 0, lowerBoundSize = 0;
  uint64_t deviceArenaSize = 0, deviceUnplannedSize = 0,
           deviceLowerBoundSize = 0;
  /// It stands in, without a GPU, for the other one of its name.
  bool withoutGpu = false;
};

/// What a memory budget has changed about a function.
struct RecomputationReport {
  std::string function;
  size_t kernels = 0;         ///< That are computed again.
  double extraArithmetic = 0; ///< As a share of what it was before.
  uint64_t arenaSize = 0, unlimitedArenaSize = 0;
};

/// What a compilation did.
struct CompileReport {
  std::vector<std::pair<std::string, double>> milliseconds; ///< By stage.
  size_t kernels = 0;
  std::vector<KernelReport> compiledKernels;
  std::vector<FunctionReport> functions;
  std::vector<RecomputationReport> recomputations;
  /// Bytes of the weights and of the variables, which live from run to run;
  /// then of those variables that lie in the GPU's memory, and of all where
  /// there is no GPU, for Target::CudaOrCpu.
  uint64_t weightsSize = 0, stateSize = 0, deviceStateSize = 0,
           stateSizeWithoutGpu = 0;
};

enum class CompileStatus {
  Succeeded,
  WrongInput,   ///< The request, the model or a file is what must change.
  InternalError ///< A defect of the compiler; please report it.
};

struct CompileResult {
  CompileStatus status = CompileStatus::WrongInput;
  bool succeeded() const { return status == CompileStatus::Succeeded; }
  /// What was wrong or is worth knowing, in sentences that name the file and
  /// the model's node, as graph-compile prints them.
  std::vector<std::string> messages;
  CompileReport report;
};

/// Compiles a model. Never throws; what is wrong with the request or the model
/// is said in the result, and nothing is written then. May be called from
/// several threads at a time.
CompileResult compileModel(const CompileRequest &request);

} // namespace tinh

#endif // TINH_COMPILER_H
