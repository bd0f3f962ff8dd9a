//===- Artifact.h - Writing artifacts ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an artifact holds, as plain data (tinh/artifact.h has the layout in the
// file), and the functions that write it. No IR types.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_ARTIFACT_ARTIFACT_H
#define TINH_ARTIFACT_ARTIFACT_H

#include "compiler/Planning/DevicePlan.h"
#include "tinh/artifact.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace tinh {
class MemoryFile;
}

namespace tinh::artifact {

struct Tensor {
  std::string name;
  tinh_dtype_t dtype = TINH_DTYPE_F32;
  std::vector<int64_t> dims;
  uint64_t size = 0;   // Bytes.
  uint64_t offset = 0; // In the weights or, of a variable, the state.
  int32_t variable = TINH_NOT_VARIABLE; // Index into Program::variables.
  std::vector<int32_t> sizeOutputs;     // As tinh_tensor_desc_t::size_outputs.
};

/// A kernel that one thread runs by itself, outside of any function.
struct Conversion {
  uint32_t kernel = TINH_NO_KERNEL;
  uint64_t chunks = 0;
};

struct Variable : Tensor {
  uint64_t storedSize = 0; // Its bytes in the state.
  Conversion pack, unpack; // From its type to how it is stored, and back.
  uint64_t initialOffset = TINH_INITIALLY_ZERO; // In the weights.
  bool trainable = false;
  tinh_device_t device = TINH_DEVICE_CPU; // Whose memory it lies in.
};

struct Step {
  tinh_opcode_t opcode = TINH_OP_DISPATCH;
  uint32_t kernel = 0; // Index into Contents::kernels.
  int32_t waitFor = -1;
  uint64_t chunks = 1; // Of a loop: iterations.
  uint64_t size = 0;
  uint32_t target = 0;
  std::vector<tinh_buffer_ref_t> buffers;
  std::vector<tinh_stride_t> strides;
  std::string label;
  bool alone = false;                               // Of a loop.
  std::optional<tinh_collective_desc_t> collective; // Of a start or an await.
};

struct Function {
  std::string name;
  std::vector<Tensor> inputs, outputs;
  std::vector<Step> steps;
  uint64_t arenaSize = 0, unplannedSize = 0, lowerBoundSize = 0;
  // Of the arena on the GPU.
  uint64_t deviceArenaSize = 0, deviceUnplannedSize = 0,
           deviceLowerBoundSize = 0;
  std::optional<planning::DevicePlan> devicePlan; // If steps are a GPU's.
};

struct Operand {
  tinh_dtype_t dtype = TINH_DTYPE_F32;
  bool written = false;
  std::vector<int64_t> dims, strides;
};

struct Kernel {
  std::string name; // The symbol of its code.
  uint64_t scratchSize = 0;
  std::vector<Operand> operands; // What it reads, then what it writes.
  tinh_device_t device = TINH_DEVICE_CPU;
  uint32_t threads = 0; // CUDA: of a block.
  std::string image;    // CUDA: the symbol of the image that its code is in.
  /// CUDA: what a library may compute in its place.
  std::optional<tinh_library_call_t> library;
  // For profiles; tinh_kernel_desc_t says what they are.
  uint64_t operations = 0, bytes = 0;
  double estimatedCycles = 0;
  std::string plan;
};

/// What a context runs.
struct Program {
  std::vector<Function> functions;
  std::vector<Variable> variables;
  uint64_t stateSize = 0, deviceStateSize = 0;
  uint64_t deviceWeightsSize = 0; // Of the weights, which begin with them.
};

struct Contents : Program {
  std::string model;
  std::string cpu;
  uint64_t cpuFeatures = 0;
  tinh_core_peaks_t core = {}; // Of this CPU.
  std::vector<Kernel> kernels;
  std::vector<Tensor> weights;
  uint64_t weightsSize = 0;
  /// What a context runs instead where there is no GPU: functions and variables
  /// of the same names.
  std::optional<Program> withoutGpu;
  /// Computes the weights from the parameters, its inputs.
  std::optional<Function> init;
};

/// Plans how the steps of all functions go to a GPU, if some do. All else is
/// known by then.
void planDevice(Contents &contents);

/// An ELF object file's bytes.
using Object = llvm::SmallVector<char, 0>;

/// Computes the weights into memory of Contents::weightsSize zero bytes.
using FillWeights =
    llvm::function_ref<llvm::Error(llvm::MutableArrayRef<char>)>;

/// A shared object to load, or one object file for a linker.
enum class Linkage { Shared, Relocatable };

struct WriteOptions {
  Linkage linkage = Linkage::Shared;
  /// Weights go to a .safetensors file beside the artifact.
  bool externalWeights = false;
};

/// The name of the one symbol of an object file of `model`.
std::string modelSymbol(llvm::StringRef model);

/// The section of an object file that weights are put into, in the place of the
/// few bytes that it is linked with.
inline constexpr llvm::StringLiteral kLinkedWeights = ".lrodata.tinh.weights";
/// That of its note.
inline constexpr llvm::StringLiteral kLinkedNote = ".tinh.note";

/// The object that holds the descriptor and the note.
llvm::Expected<Object> makeDescriptor(const Contents &contents,
                                      llvm::TargetMachine &machine,
                                      const WriteOptions &options);

/// Links kernels and descriptor.
llvm::Expected<Object> link(llvm::ArrayRef<Object> kernels,
                            const Object &descriptor, Linkage linkage);

/// A shared object of one object file, with all that this exports. What it does
/// not define is looked up when it is loaded.
llvm::Expected<Object> linkLibrary(const Object &object);

/// Writes the artifact to `path`, and its companion file if the weights are
/// external. Both appear whole or not at all.
llvm::Error write(const Contents &contents, llvm::ArrayRef<Object> kernels,
                  llvm::TargetMachine &machine, llvm::StringRef path,
                  FillWeights fillWeights, WriteOptions options);

/// An artifact without weights, for this process to load.
llvm::Expected<MemoryFile> writeToMemory(const Contents &contents,
                                         llvm::ArrayRef<Object> kernels,
                                         llvm::TargetMachine &machine);

} // namespace tinh::artifact

#endif // TINH_ARTIFACT_ARTIFACT_H
