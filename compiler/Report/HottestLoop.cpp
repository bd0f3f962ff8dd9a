//===- HottestLoop.cpp - Where a kernel's time probably goes ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Report/HottestLoop.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/TargetSelect.h"

#include <tuple>

using namespace llvm;

namespace tinh::report {
namespace {

struct Instruction {
  uint64_t address;
  std::string text;
  std::optional<uint64_t> target; // Of a jump.
  bool isArithmetic;
};

/// LLVM's disassembler of one CPU, whatever extensions code uses.
class Disassembler {
public:
  Disassembler();
  bool isUsable() const { return disassembler && printer; }
  std::vector<Instruction> read(ArrayRef<uint8_t> code, uint64_t address);

private:
  Instruction describe(const MCInst &inst, uint64_t address, uint64_t size);

  std::unique_ptr<MCRegisterInfo> registers;
  std::unique_ptr<MCAsmInfo> syntax;
  std::unique_ptr<MCInstrInfo> instructions;
  std::unique_ptr<MCSubtargetInfo> subtarget;
  std::unique_ptr<MCContext> context;
  std::unique_ptr<MCDisassembler> disassembler;
  std::unique_ptr<MCInstPrinter> printer;
  std::unique_ptr<MCInstrAnalysis> analysis;
};

/// Multiplications, additions, dot products … of vectors or tiles.
bool isVectorArithmetic(StringRef mnemonic) {
  static constexpr StringLiteral kBeginnings[] = {
      "vfmadd", "vfmsub", "vfnmadd", "vfnmsub", "vmul",   "vadd",  "vsub",
      "vdiv",   "vmax",   "vmin",    "vpdp",    "vpmadd", "vpadd", "vpmul",
      "vpmax",  "vpmin",  "vpsub",   "vdpbf16", "vsqrt",  "tdp"};
  return any_of(kBeginnings, [&](StringRef beginning) {
    return mnemonic.starts_with(beginning);
  });
}

Disassembler::Disassembler() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86Disassembler();
  const Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return;
  MCTargetOptions options;
  constexpr unsigned kIntelSyntax = 1;
  registers.reset(target->createMCRegInfo(triple));
  syntax.reset(target->createMCAsmInfo(*registers, triple, options));
  instructions.reset(target->createMCInstrInfo());
  subtarget.reset(target->createMCSubtargetInfo(triple, "", ""));
  context = std::make_unique<MCContext>(triple, syntax.get(), registers.get(),
                                        subtarget.get());
  disassembler.reset(target->createMCDisassembler(*subtarget, *context));
  printer.reset(target->createMCInstPrinter(triple, kIntelSyntax, *syntax,
                                            *instructions, *registers));
  analysis.reset(target->createMCInstrAnalysis(instructions.get()));
  if (printer)
    printer->setPrintImmHex(true);
}

Instruction Disassembler::describe(const MCInst &inst, uint64_t address,
                                   uint64_t size) {
  Instruction result{address, "", std::nullopt, false};
  raw_string_ostream stream(result.text);
  printer->printInst(&inst, address, "", *subtarget, stream);
  std::replace(result.text.begin(), result.text.end(), '\t', ' ');
  result.text = StringRef(result.text).trim().str();
  result.isArithmetic = isVectorArithmetic(result.text);
  uint64_t target;
  if (analysis && analysis->isBranch(inst) &&
      analysis->evaluateBranch(inst, address, size, target))
    result.target = target;
  return result;
}

std::vector<Instruction> Disassembler::read(ArrayRef<uint8_t> code,
                                            uint64_t address) {
  std::vector<Instruction> result;
  for (uint64_t at = 0, size; at < code.size();
       at += std::max<uint64_t>(size, 1)) {
    MCInst inst;
    if (disassembler->getInstruction(inst, size, code.drop_front(at),
                                     address + at,
                                     nulls()) == MCDisassembler::Success)
      result.push_back(describe(inst, address + at, size));
  }
  return result;
}

/// Instructions [begin, end) of a function.
struct Range {
  size_t begin, end;
  bool contains(const Range &other) const {
    return begin <= other.begin && other.end <= end;
  }
};

/// From the targets of backward jumps to the last jump to each.
std::vector<Range> findLoops(ArrayRef<Instruction> code) {
  std::map<size_t, size_t> ends;
  for (auto [i, instruction] : enumerate(code)) {
    if (!instruction.target || *instruction.target > instruction.address)
      continue;
    auto head = partition_point(code, [&, &jump = instruction](const auto &at) {
      return at.address < *jump.target;
    });
    ends[head - code.begin()] = i + 1;
  }
  std::vector<Range> loops;
  for (auto [begin, end] : ends)
    loops.push_back({begin, end});
  return loops;
}

size_t countArithmetic(ArrayRef<Instruction> code, Range range) {
  return count_if(code.slice(range.begin, range.end - range.begin),
                  [](const Instruction &each) { return each.isArithmetic; });
}

/// At most so many lines, with an ellipsis for the rest.
std::string textOf(ArrayRef<Instruction> code) {
  constexpr size_t kLines = 120;
  std::string text;
  for (const Instruction &instruction : code.take_front(kLines))
    text += instruction.text + "\n";
  if (code.size() > kLines)
    text += "… and " + utostr(code.size() - kLines) + " more\n";
  return text;
}

HottestLoop findHottest(ArrayRef<Instruction> code) {
  std::vector<Range> loops = findLoops(code);
  auto depthOf = [&](const Range &range) {
    return size_t(count_if(
        loops, [&](const Range &other) { return other.contains(range); }));
  };
  Range hottest{0, code.size()};
  std::tuple<bool, size_t, size_t> best;
  for (const Range &loop : loops) {
    bool isInnermost = none_of(loops, [&](const Range &other) {
      return &other != &loop && loop.contains(other);
    });
    size_t arithmetic = countArithmetic(code, loop);
    std::tuple<bool, size_t, size_t> rank(arithmetic > 0, depthOf(loop),
                                          arithmetic);
    if (isInnermost && rank >= best) {
      best = rank;
      hottest = loop;
    }
  }
  size_t size = hottest.end - hottest.begin;
  return {textOf(code.slice(hottest.begin, size)),
          loops.empty() ? 0 : depthOf(hottest), size,
          countArithmetic(code, hottest)};
}

/// The code of `symbol`, if it is a function's that is there.
std::optional<std::pair<ArrayRef<uint8_t>, uint64_t>>
codeOf(const object::ELFObjectFileBase &file, object::ELFSymbolRef symbol) {
  auto address = expectedToOptional(symbol.getValue());
  auto section = expectedToOptional(symbol.getSection());
  if (symbol.getELFType() != ELF::STT_FUNC || !address || !section ||
      *section == file.section_end())
    return std::nullopt;
  auto bytes = expectedToOptional((*section)->getContents());
  if (!bytes || *address + symbol.getSize() > bytes->size())
    return std::nullopt;
  return std::pair(
      arrayRefFromStringRef(*bytes).slice(*address, symbol.getSize()),
      *address);
}

} // namespace

std::map<std::string, HottestLoop>
findHottestLoops(ArrayRef<StringRef> objects) {
  std::map<std::string, HottestLoop> result;
  Disassembler disassembler;
  if (!disassembler.isUsable())
    return result;
  for (StringRef object : objects) {
    auto file = expectedToOptional(object::ObjectFile::createObjectFile(
        MemoryBufferRef(object, "kernel")));
    auto *elf =
        file ? dyn_cast<object::ELFObjectFileBase>(file->get()) : nullptr;
    if (!elf || elf->getArch() != Triple::x86_64)
      continue;
    for (object::ELFSymbolRef symbol : elf->symbols()) {
      auto name = expectedToOptional(symbol.getName());
      if (auto code = codeOf(*elf, symbol); code && name)
        result[name->str()] =
            findHottest(disassembler.read(code->first, code->second));
    }
  }
  return result;
}

} // namespace tinh::report
