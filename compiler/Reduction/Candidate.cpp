//===- Candidate.cpp - A model that may take a larger one's place ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Reduction/Candidate.h"

#include "compiler/Export/GraphNames.h"
#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Pipelines/Phases.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace tinh::reduction {

std::optional<Candidate> Candidate::create(ModuleOp module) {
  Candidate made;
  made.module = module.clone();
  func::FuncOp main = findMain(*made.module);
  GraphNames names;
  if (!main || failed(names.assign(main)))
    return std::nullopt;
  for (Operation *node : made.nodes())
    for (Value result : node->getResults())
      made.names[result] = names.tensor(result);
  return made;
}

Candidate Candidate::clone() const {
  Candidate copy;
  copy.module = get().clone();
  for (auto [from, to] : llvm::zip_equal(nodes(), copy.nodes()))
    for (auto [value, copied] :
         llvm::zip_equal(from->getResults(), to->getResults()))
      copy.names[copied] = names.lookup(value);
  return copy;
}

func::FuncOp Candidate::main() const {
  return get().lookupSymbol<func::FuncOp>(graph::names::kMain);
}

SmallVector<Operation *> Candidate::nodes() const {
  SmallVector<Operation *> list;
  for (Operation &op : main().front().without_terminator())
    if (!isa<graph::ConstantOp>(op))
      list.push_back(&op);
  return list;
}

SmallVector<graph::ConstantOp> Candidate::constants() const {
  return llvm::to_vector(main().front().getOps<graph::ConstantOp>());
}

size_t Candidate::numOps() const {
  size_t count = 0;
  main().front().walk([&](Operation *op) {
    count +=
        !isa<graph::ConstantOp>(op) && !op->hasTrait<OpTrait::IsTerminator>();
  });
  return count;
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

void Candidate::keepResults(ArrayRef<unsigned> kept) {
  func::FuncOp function = main();
  llvm::BitVector gone(function.getNumResults(), true);
  for (unsigned i : kept)
    gone.reset(i);
  (void)function.eraseResults(gone);
  function.front().getTerminator()->eraseOperands(gone);
}

void Candidate::endAt(Operation *node) {
  func::FuncOp function = main();
  Builder b(function.getContext());
  SmallVector<DictionaryAttr> attributes;
  for (Value result : node->getResults())
    attributes.push_back(b.getDictionaryAttr(b.getNamedAttr(
        graph::names::kName, b.getStringAttr(names.lookup(result)))));
  function.front().getTerminator()->setOperands(node->getResults());
  function.setType(FunctionType::get(
      b.getContext(), function.getArgumentTypes(), node->getResultTypes()));
  function.setAllResultAttrs(attributes);
}

void Candidate::cut(ArrayRef<Operation *> nodes) {
  func::FuncOp function = main();
  Builder b(function.getContext());
  llvm::DenseSet<Operation *> gone(nodes.begin(), nodes.end());
  auto stays = [&](OpOperand &use) {
    return !gone.contains(
        function.front().findAncestorOpInBlock(*use.getOwner()));
  };
  for (Operation *node : nodes)
    for (Value result : node->getResults()) {
      if (llvm::none_of(result.getUses(), stays))
        continue;
      unsigned index = function.getNumArguments();
      (void)function.insertArgument(
          index, result.getType(),
          b.getDictionaryAttr(b.getNamedAttr(
              graph::names::kName, b.getStringAttr(names.lookup(result)))),
          result.getLoc());
      result.replaceUsesWithIf(function.getArgument(index), stays);
    }
}

bool Candidate::bypass(Operation *node) {
  if (node->getNumResults() != 1)
    return false;
  for (Value operand : node->getOperands())
    if (operand.getType() == node->getResult(0).getType()) {
      node->getResult(0).replaceAllUsesWith(operand);
      return true;
    }
  return false;
}

bool Candidate::dropUnusedInputs() {
  func::FuncOp function = main();
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  (void)function.eraseArguments(unused);
  return unused.any();
}

//===----------------------------------------------------------------------===//
// What is left
//===----------------------------------------------------------------------===//

bool Candidate::settle() {
  ScopedDiagnosticHandler silent(get().getContext(),
                                 [](Diagnostic &) { return success(); });
  eraseDeadOps(main().front());
  return succeeded(transforms::inferShapes(main())) &&
         succeeded(verify(get())) &&
         succeeded(verifyPhase(get(), Phase::Graph));
}

std::string Candidate::text() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  get().print(stream);
  return text;
}

} // namespace tinh::reduction
