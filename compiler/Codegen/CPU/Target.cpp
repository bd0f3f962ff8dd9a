//===- Target.cpp - The CPU that code is generated for ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Target.h"

#include "runtime/src/shared/amx.h"
#include "tinh/artifact.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

namespace tinh::cpu {

static const char kTriple[] = "x86_64-unknown-linux-gnu";
static constexpr StringLiteral kEmulated = "emulated+";

static const std::pair<StringRef, uint64_t> kFeatures[] = {
    {"avx2", TINH_CPU_AVX2},
    {"fma", TINH_CPU_FMA},
    {"f16c", TINH_CPU_F16C},
    {"bmi2", TINH_CPU_BMI2},
    {"avx512f", TINH_CPU_AVX512F},
    {"avx512bw", TINH_CPU_AVX512BW},
    {"avx512cd", TINH_CPU_AVX512CD},
    {"avx512dq", TINH_CPU_AVX512DQ},
    {"avx512vl", TINH_CPU_AVX512VL},
    {"avx512vnni", TINH_CPU_AVX512VNNI},
    {"avx512bf16", TINH_CPU_AVX512BF16},
    {"avx512fp16", TINH_CPU_AVX512FP16},
    {"avxvnni", TINH_CPU_AVXVNNI},
    {"amx-tile", TINH_CPU_AMX_TILE},
    {"amx-int8", TINH_CPU_AMX_INT8},
    {"amx-bf16", TINH_CPU_AMX_BF16},
};

static const llvm::Target *lookupX86(std::string &message) {
  static const bool initialised = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    return true;
  }();
  (void)initialised;
  return TargetRegistry::lookupTarget(Triple(kTriple), message);
}

/// What this machine has, less AMX if no process may use it, and what LLVM
/// would assume of its name but which is missing.
static std::string hostFeatures() {
  SmallVector<std::string> list;
  for (const auto &feature : sys::getHostCPUFeatures()) {
    StringRef name = feature.first();
    bool has =
        feature.second && (!name.starts_with("amx-") || runtime::request_amx());
    list.push_back((has ? "+" : "-") + name.str());
  }
  llvm::sort(list);
  return llvm::join(list, ",");
}

/// What LLVM calls the CPU.
static StringRef llvmName(const Target &target) {
  StringRef name = target.name;
  name.consume_front(kEmulated);
  return name;
}

bool Target::isEmulated() const {
  return StringRef(name).starts_with(kEmulated);
}

Target executingTarget(const Target &target) {
  return target.isEmulated() ? cantFail(lookupTarget("x86-64-v3")) : target;
}

Expected<Target> lookupTarget(StringRef name) {
  Target target;
  if (name.consume_front(kEmulated))
    target.name = kEmulated;
  target.name += name == "native" ? sys::getHostCPUName() : name;
  if (name == "native")
    target.features = hostFeatures();
  std::string message;
  const llvm::Target *x86 = lookupX86(message);
  if (!x86)
    return createStringError("this LLVM cannot generate x86-64 code: " +
                             message);
  std::unique_ptr<MCSubtargetInfo> any(
      x86->createMCSubtargetInfo(Triple(kTriple), "", ""));
  StringRef cpu = llvmName(target);
  if (!any || !any->isCPUStringValid(cpu))
    return createStringError(
        "unknown CPU '" + cpu +
        "'; expected native, x86-64-v3, x86-64-v4 or a name that "
        "'llc -mcpu=help' lists");
  std::unique_ptr<MCSubtargetInfo> info(
      x86->createMCSubtargetInfo(Triple(kTriple), cpu, target.features));
  for (auto [feature, bit] : kFeatures)
    if (info->checkFeatures(("+" + feature).str()))
      target.featureBits |= bit;
  if (!(target.featureBits & TINH_CPU_AVX2) ||
      !(target.featureBits & TINH_CPU_FMA))
    return createStringError("CPU '" + cpu +
                             "' has no AVX2 and FMA, which kernels need; "
                             "x86-64-v3 is the least that is supported");
  if (target.featureBits & TINH_CPU_AVX512F) {
    target.vectorBytes = 64;
    target.vectorRegisters = 32;
  }
  // A virtual machine may say that it is an older CPU, with AMX nevertheless.
  bool hasTiles = target.featureBits & TINH_CPU_AMX_TILE;
  target.machine =
      &machineFor(hasTiles ? "sapphirerapids" : cpu, target.vectorBytes);
  return target;
}

std::unique_ptr<TargetMachine> makeTargetMachine(const Target &target) {
  std::string message;
  const llvm::Target *x86 = lookupX86(message);
  if (!x86)
    return nullptr;
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Fast;
  std::string features = target.features;
  if (target.vectorBytes == 64)
    features += features.empty() ? "-prefer-256-bit" : ",-prefer-256-bit";
  return std::unique_ptr<TargetMachine>(x86->createTargetMachine(
      Triple(kTriple), llvmName(target), features, options, Reloc::PIC_,
      CodeModel::Small, CodeGenOptLevel::Default));
}

} // namespace tinh::cpu
