//===- Target.cpp - The GPUs that code is generated for ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;

namespace tinh::cuda {

namespace {

/// A chip that ptxas of CUDA 13 knows, with the PTX version that LLVM is to
/// write for it: 8.0, or the first that has it, and of sm_90a has products of
/// unsigned by signed bytes, since it aborts at instructions that are later
/// than what it writes.
struct Chip {
  StringLiteral number;
  StringLiteral ptx;
};

constexpr Chip kChips[] = {
    {"75", "ptx80"},  {"80", "ptx80"},   {"86", "ptx80"},   {"87", "ptx80"},
    {"88", "ptx90"},  {"89", "ptx80"},   {"90", "ptx80"},   {"90a", "ptx84"},
    {"100", "ptx86"}, {"100a", "ptx86"}, {"103", "ptx88"},  {"103a", "ptx88"},
    {"110", "ptx90"}, {"120", "ptx87"},  {"120a", "ptx87"}, {"121", "ptx88"}};

} // namespace

StringRef emulatedLevel(StringRef chip) {
  return StringSwitch<StringRef>(chip)
      .Case(kEmulated, "sm_80")
      .Case("emulated+sm_75", "sm_75")
      .Case("emulated+wgmma", "sm_90a")
      .Default("");
}

StringRef machineOf(StringRef chip) {
  return chip == kWithWarpgroups ? "sm_90a" : chip;
}

static const Chip *findChip(StringRef name) {
  if (name == kWithWarpgroups)
    return findChip(machineOf(name));
  if (!name.consume_front("sm_") && !name.consume_front("compute_"))
    return nullptr;
  const Chip *found =
      find_if(kChips, [&](const Chip &chip) { return chip.number == name; });
  return found == std::end(kChips) ? nullptr : found;
}

Expected<Target> lookupTarget(ArrayRef<StringRef> chips) {
  Target target;
  for (StringRef chip : chips) {
    bool emulated = !emulatedLevel(chip).empty();
    if (emulated && chips.size() > 1)
      return createStringError("chip '" + chip +
                               "', code for the tests' driver, "
                               "can only be the one chip of an artifact");
    if (!emulated && !findChip(chip)) {
      std::vector<std::string> known;
      for (const Chip &each : kChips)
        known.push_back(("sm_" + each.number).str());
      return createStringError(
          "unknown chip '" + chip + "'; expected " + join(known, ", ") + ", " +
          kWithWarpgroups +
          " for matmuls by warpgroups, or compute_NN for PTX of sm_NN "
          "(chips before sm_75 need an older "
          "CUDA toolkit than this compiler is made for)");
    }
    if (!is_contained(target.chips, chip))
      target.chips.push_back(chip.str());
  }
  if (target.usesWarpgroups() &&
      is_contained(target.chips, machineOf(kWithWarpgroups)))
    return createStringError("an artifact has one code for each chip, sm_90a "
                             "or " +
                             kWithWarpgroups);
  if (target.chips.empty())
    return createStringError("no chips are named to generate GPU code for");
  return target;
}

std::unique_ptr<TargetMachine> makeTargetMachine(StringRef chip) {
  static const bool initialised = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialised;
  Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *nvptx = TargetRegistry::lookupTarget(triple, message);
  const Chip *known = findChip(chip);
  if (!nvptx || !known)
    return nullptr;
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Fast;
  return std::unique_ptr<TargetMachine>(nvptx->createTargetMachine(
      triple, ("sm_" + known->number).str(), ("+" + known->ptx).str(), options,
      Reloc::PIC_, std::nullopt, CodeGenOptLevel::Aggressive));
}

} // namespace tinh::cuda
