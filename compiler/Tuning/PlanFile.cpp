//===- PlanFile.cpp - Plans that were found by trying -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Tuning/PlanFile.h"

#include "compiler/Codegen/CPU/Strategies.h"
#include "compiler/Support/Files.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace tinh::tuning {

static constexpr int64_t kVersion = 1;

std::string hashOf(func::FuncOp kernel, const cpu::Target &target) {
  OwningOpRef<func::FuncOp> bare = kernel.clone();
  bare->setName("kernel");
  (*bare)->removeAttr(graph::names::kPlan);
  (*bare)->removeAttr(graph::names::kEstimate);
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*bare)->print(stream, OpPrintingFlags().useLocalScope());
  stream << '\0' << target.name << '\0' << target.features;
  llvm::BLAKE3 hasher;
  hasher.update(text);
  return llvm::toHex(hasher.final<20>(), /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::optional<PlanFile> parse(const llvm::json::Value &value,
                                     llvm::json::Path path) {
  PlanFile file;
  llvm::json::ObjectMapper all(value, path);
  int64_t version;
  std::vector<std::map<std::string, std::string>> plans;
  if (!all || !all.map("tinh_plans", version) || !all.map("plans", plans))
    return std::nullopt;
  if (version != kVersion) {
    path.field("tinh_plans").report("expected 1");
    return std::nullopt;
  }
  for (auto [i, plan] : llvm::enumerate(plans)) {
    for (const char *field : {"cpu", "kernel", "name", "plan"})
      if (!plan.count(field)) {
        path.field("plans").index(i).field(field).report("missing");
        return std::nullopt;
      }
    file.entries[plan["kernel"]] = {plan["cpu"], plan["name"], plan["plan"]};
  }
  return file;
}

llvm::Expected<PlanFile> PlanFile::read(StringRef path) {
  auto fail = [&](const Twine &why) {
    return llvm::createStringError("cannot read the plans in '" + path +
                                   "': " + why);
  };
  auto buffer = readRegularFile(path);
  if (!buffer)
    return fail(llvm::toString(buffer.takeError()));
  auto value = llvm::json::parse((*buffer)->getBuffer());
  if (!value)
    return fail(llvm::toString(value.takeError()));
  llvm::json::Path::Root root("plans");
  auto file = parse(*value, root);
  if (!file)
    return fail(llvm::toString(root.getError()));
  return *file;
}

llvm::Error PlanFile::write(PendingFile file) const {
  llvm::json::Array plans;
  for (const auto &[kernel, entry] : entries)
    plans.push_back(llvm::json::Object{{"cpu", entry.cpu},
                                       {"kernel", kernel},
                                       {"name", entry.name},
                                       {"plan", entry.plan}});
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv(
      "{0:2}\n", llvm::json::Value(llvm::json::Object{
                     {"tinh_plans", kVersion}, {"plans", std::move(plans)}}));
  auto memory = file.map(text.size());
  if (!memory)
    return memory.takeError();
  llvm::copy(text, memory->begin());
  return file.keep(0666);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Nothing, silently, if `text` is no plan that the kernel can have.
static std::optional<codegen::Candidate>
findCandidate(func::FuncOp kernel, StringRef text, const cpu::Target &target) {
  ScopedDiagnosticHandler silent(kernel.getContext(),
                                 [](Diagnostic &) { return success(); });
  auto plan = dyn_cast_or_null<graph::KernelPlanInterface>(
      parseAttribute(text, kernel.getContext()));
  return plan ? cpu::strategies().candidate(kernel, plan, target)
              : std::nullopt;
}

LogicalResult PlanFile::apply(ModuleOp module, StringRef path, Unfit unfit) {
  auto target = cpu::targetOf(module);
  if (failed(target))
    return failure();
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel->hasAttr(graph::names::kPlan) || graph::isOnCuda(kernel))
      continue;
    auto entry = entries.find(hashOf(kernel, *target));
    if (entry == entries.end())
      continue;
    auto candidate = findCandidate(kernel, entry->second.plan, *target);
    if (candidate)
      cpu::setPlan(kernel, *candidate);
    else if (unfit == Unfit::Dropped)
      entries.erase(entry);
    else
      return kernel.emitError()
             << "kernel '" << kernel.getName() << "' cannot be computed as '"
             << entry->second.plan << "', which '" << path
             << "' has for it as '" << entry->second.name
             << "'; tune the model again";
  }
  return success();
}

} // namespace tinh::tuning
