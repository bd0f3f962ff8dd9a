//===- Machine.cpp - What GPUs can do ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared memory, registers and threads are those of "Technical Specifications
// per Compute Capability" in NVIDIA's CUDA C++ Programming Guide, FFMA of a
// multiprocessor those of its "Throughput of Native Arithmetic Instructions".
// Tensor cores' operations are fused multiplications and additions of dense
// matrices with sums in f32.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Machine.h"

#include "compiler/Codegen/CUDA/Target.h"

#include <algorithm>

using namespace llvm;

namespace tinh::cuda {

static constexpr int64_t kKilo = 1024;

static constexpr Machine kMachines[] = {
    // "NVIDIA T4 Tensor Core GPU" data sheet; "NVIDIA Turing GPU Architecture"
    // white paper: eight tensor cores of 64 FMA each in a multiprocessor.
    {"sm_75", "T4", 40, 1.59, 320, 64, 512, 0, 64 * kKilo, 64 * kKilo,
     64 * kKilo, 1024},
    // "NVIDIA A100 Tensor Core GPU Architecture" white paper (SXM4, 40 GB):
    // four
    // tensor cores of 256 FMA each.
    {"sm_80", "A100", 108, 1.41, 1555, 64, 1024, 512, 164 * kKilo, 163 * kKilo,
     64 * kKilo, 2048},
    // "NVIDIA A10 Tensor Core GPU" data sheet, 125 and 62.5 TFLOPS; "NVIDIA
    // Ampere GA102 GPU Architecture" white paper.
    {"sm_86", "A10", 72, 1.695, 600, 128, 512, 256, 100 * kKilo, 99 * kKilo,
     64 * kKilo, 1536},
    // "NVIDIA L4 Tensor Core GPU" data sheet, 121 and 60 TFLOPS without
    // sparsity; "NVIDIA Ada GPU Architecture" white paper.
    {"sm_89", "L4", 58, 2.04, 300, 128, 512, 256, 100 * kKilo, 99 * kKilo,
     64 * kKilo, 1536},
    // "NVIDIA H200 Tensor Core GPU" data sheet; "NVIDIA H100 Tensor Core GPU
    // Architecture" white paper (SXM5): four tensor cores of 512 FMA each. An
    // H100 differs in memory alone, of 3352 GB/s.
    {"sm_90a", "H200", 132, 1.98, 4800, 128, 2048, 1024, 228 * kKilo,
     227 * kKilo, 64 * kKilo, 2048}};

ArrayRef<Machine> machines() { return kMachines; }

static const Machine *findMachine(StringRef chip) {
  const Machine *found = find_if(
      kMachines, [&](const Machine &machine) { return machine.chip == chip; });
  return found == std::end(kMachines) ? nullptr : found;
}

const Machine &plannedMachine() { return *findMachine("sm_90a"); }

Limits limitsOf(const Target &target) {
  Limits least{"", plannedMachine().sharedBytesPerBlock,
               plannedMachine().registers};
  for (const std::string &chip : target.chips) {
    StringRef level = emulatedLevel(chip);
    const Machine *machine =
        findMachine(machineOf(level.empty() ? chip : level));
    // PTX is for the chip that it names and all later ones; of chips that there
    // is no machine for 99 KB are the least.
    int64_t shared = machine ? machine->sharedBytesPerBlock : 99 * kKilo;
    if (StringRef(chip) == "compute_75")
      shared = findMachine("sm_75")->sharedBytesPerBlock;
    if (shared < least.sharedBytes || least.chip.empty())
      least = {chip, std::min(shared, least.sharedBytes), least.registers};
  }
  return least;
}

double cyclesOf(const Demand &demand, const Machine &machine) {
  double cached =
      demand.cacheBytes /
      (guess::kCacheBytes * static_cast<double>(machine.multiprocessors));
  return std::max({demand.memoryBytes / machine.bytesPerCycle(), cached,
                   demand.chain, guess::kLaunch});
}

} // namespace tinh::cuda
