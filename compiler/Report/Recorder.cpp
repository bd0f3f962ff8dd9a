//===- Recorder.cpp - What a compilation makes on its way -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Report/Recorder.h"

#include "compiler/Import/json/Attributes.h"
#include "compiler/Support/NodeNames.h"
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tinh::report {
namespace {

//===----------------------------------------------------------------------===//
// Numbers of ops, in their locations
//===----------------------------------------------------------------------===//

/// Names the function, too: kernels that are merged serve several.
Attribute numberOf(func::FuncOp function, uint32_t op) {
  Builder builder(function.getContext());
  return builder.getArrayAttr({builder.getStringAttr(function.getName()),
                               builder.getI32IntegerAttr(op)});
}

/// The numbers of the ops of `function` that `location` is of.
std::vector<uint32_t> numbersIn(Location location, StringRef function) {
  llvm::SetVector<uint32_t, std::vector<uint32_t>> numbers;
  location->walk([&](Location inner) {
    auto fused = dyn_cast<FusedLoc>(inner);
    auto number =
        fused ? dyn_cast_or_null<ArrayAttr>(fused.getMetadata()) : ArrayAttr();
    if (number && cast<StringAttr>(number[0]).getValue() == function)
      numbers.insert(cast<IntegerAttr>(number[1]).getInt());
    return WalkResult::advance();
  });
  return numbers.takeVector();
}

//===----------------------------------------------------------------------===//
// Ops as text
//===----------------------------------------------------------------------===//

/// A name and a type: "conv1.weight 64x3x7x7xf32".
std::string described(StringRef name, Type type) {
  std::string text = name.str();
  if (isa<RankedTensorType>(type))
    text += (text.empty() ? "" : " ") + graph::shapeToString(type);
  return text;
}

std::string describeArgument(func::FuncOp function, BlockArgument argument) {
  unsigned i = argument.getArgNumber();
  StringRef name = graph::nodeName(argument.getLoc());
  for (StringRef attribute : {graph::names::kVariable, graph::names::kName})
    if (auto given = function.getArgAttrOfType<StringAttr>(i, attribute)) {
      name = given.getValue();
      break;
    }
  return described(name, argument.getType());
}

/// As in IR, but for the types of numbers, and with the names of choices.
std::string textOf(Operation *op, NamedAttribute named) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Attribute attribute = named.getValue();
  auto integer = dyn_cast<IntegerAttr>(attribute);
  StringRef choice =
      integer && isa<graph::GraphDialect>(op->getDialect())
          ? json::choiceName(op->getName(), named.getName(), integer.getInt())
          : "";
  if (!choice.empty()) {
    stream << choice;
  } else if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute)) {
    stream << "[";
    llvm::interleaveComma(list.asArrayRef(), stream);
    stream << "]";
  } else if (isa<IntegerAttr, FloatAttr>(attribute)) {
    attribute.print(stream, /*elideType=*/true);
  } else {
    stream << attribute;
  }
  return text;
}

/// The attributes, but for numbers beyond a line.
std::string attributesOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto shown = llvm::make_filter_range(
      op->getAttrDictionary(), [](NamedAttribute attribute) {
        return attribute.getName() != "operandSegmentSizes";
      });
  llvm::interleave(
      shown, stream,
      [&](NamedAttribute attribute) {
        stream << attribute.getName().getValue();
        if (isa<UnitAttr>(attribute.getValue()))
          return;
        std::string value = textOf(op, attribute);
        constexpr size_t kLongest = 200;
        stream << " = " << (value.size() > kLongest ? "…" : value);
      },
      ", ");
  return text;
}

/// Numbers the ops of a function in the order of its text, and notes which
/// value is which op's.
class Numbering {
public:
  Numbering(func::FuncOp function, Function &result)
      : function(function), result(result) {
    for (BlockArgument argument : function.getArguments())
      others[argument] = describeArgument(function, argument);
  }

  void addBlock(Block &block) {
    for (Operation &op : block)
      add(op);
  }

private:
  using Numbers = SmallVector<uint32_t, 1>;

  void add(Operation &op) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      return;
    if (op.hasTrait<OpTrait::ConstantLike>() || isa<graph::WeightOp>(op))
      return addConstant(op, graph::nodeName(op.getLoc()));
    if (auto kernel = dyn_cast<graph::KernelOp>(op))
      return addKernel(kernel);
    if (op.getNumResults() == 1 && op.getNumOperands() > 0 &&
        llvm::all_of(op.getOperands(),
                     [&](Value value) { return constants.contains(value); }))
      return addConstant(op, constants.at(op.getOperand(0)));
    uint32_t number = addOp(op);
    for (Region &region : op.getRegions())
      for (Block &block : region) {
        for (BlockArgument argument : block.getArguments())
          numbers[argument] = {number};
        addBlock(block);
        if (auto yield = dyn_cast<graph::YieldOp>(block.back()))
          addResults(op, yield);
      }
  }

  /// What reads a result of an op with bodies reads what these yield for it.
  void addResults(Operation &op, graph::YieldOp yield) {
    for (auto [result, value] :
         llvm::zip(op.getResults(), yield->getOperands()))
      if (auto known = numbers.find(value); known != numbers.end()) {
        Numbers all = known->second;
        Numbers &list = numbers[result];
        llvm::copy_if(all, std::back_inserter(list), [&](uint32_t number) {
          return !llvm::is_contained(list, number);
        });
      }
  }

  /// What is computed of constants alone is one, by the name of the first.
  void addConstant(Operation &op, StringRef name) {
    Value result = op.getResult(0);
    constants[result] = name.str();
    others[result] = described(name, result.getType());
  }

  void addKernel(graph::KernelOp kernel) {
    Block &body = kernel.getBody().front();
    for (auto [inner, outer] :
         llvm::zip_equal(body.getArguments(), kernel.getInputs()))
      alias(inner, outer);
    addBlock(body);
    for (auto [outer, inner] : llvm::zip_equal(
             kernel.getResults(), body.getTerminator()->getOperands()))
      alias(outer, inner);
  }

  void alias(Value name, Value of) {
    if (auto known = numbers.find(of); known != numbers.end()) {
      Numbers all = known->second;
      numbers[name] = std::move(all);
    } else if (auto other = others.find(of); other != others.end())
      others[name] = std::string(other->second);
    if (auto constant = constants.find(of); constant != constants.end())
      constants[name] = std::string(constant->second);
  }

  uint32_t addOp(Operation &op) {
    auto number = static_cast<uint32_t>(result.ops.size());
    Op &described = result.ops.emplace_back();
    described.kind = op.getName().stripDialect().str();
    for (StringRef name : nodeNames(op.getLoc()))
      described.nodes.push_back(name.str());
    if (op.getNumResults() && isa<RankedTensorType>(op.getResult(0).getType()))
      described.type = graph::shapeToString(op.getResult(0).getType());
    described.attributes = attributesOf(&op);
    described.isView =
        isa<graph::ReshapeOp>(op) && !isa<graph::KernelOp>(op.getParentOp());
    addOperands(op, described);
    for (Value value : op.getResults())
      numbers[value] = {number};
    op.setLoc(FusedLoc::get(op.getContext(), {op.getLoc()},
                            numberOf(function, number)));
    return number;
  }

  void addOperands(Operation &op, Op &described) {
    llvm::SetVector<uint32_t, std::vector<uint32_t>> read;
    for (Value operand : op.getOperands()) {
      if (auto known = numbers.find(operand); known != numbers.end())
        read.insert(known->second.begin(), known->second.end());
      else if (auto other = others.find(operand); other != others.end())
        described.others.push_back(other->second);
    }
    described.operands = read.takeVector();
  }

  func::FuncOp function;
  Function &result;
  llvm::DenseMap<Value, Numbers> numbers;       // Of the ops that it is from.
  llvm::DenseMap<Value, std::string> others;    // As they are described.
  llvm::DenseMap<Value, std::string> constants; // Their names.
};

/// Up to `limit` bytes of whole lines.
std::string cut(std::string text, size_t limit) {
  if (text.size() <= limit)
    return text;
  size_t end = text.rfind('\n', limit);
  text.resize(end == std::string::npos ? limit : end);
  return text + "\n…\n";
}

std::string irOf(func::FuncOp kernel) {
  constexpr size_t kLimit = 16384;
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel.print(stream, OpPrintingFlags()
                           .useLocalScope()
                           .elideLargeElementsAttrs(16)
                           .assumeVerified());
  return cut(std::move(text), kLimit);
}

} // namespace

//===----------------------------------------------------------------------===//
// What compilations tell
//===----------------------------------------------------------------------===//

void Recorder::attach(CompileOptions &options) {
  options.phases.before = [this, told = options.phases.before](ModuleOp module,
                                                               Phase phase) {
    begin(module, phase);
    if (told)
      told(module, phase);
  };
  options.linking = [this](const artifact::Contents &linked,
                           ArrayRef<artifact::Object> code) {
    contents = linked;
    objects.assign(code.begin(), code.end());
  };
}

void Recorder::begin(ModuleOp module, Phase phase) {
  if (phase == Phase::Fused) {
    functions.clear();
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isPrivate() && !function.isExternal())
        numberOps(function);
  }
  if (phase == Phase::Plan)
    plan = module.clone();
}

void Recorder::numberOps(func::FuncOp function) {
  Function &result = functions.emplace_back();
  result.name = function.getName().str();
  Numbering(function, result).addBlock(function.getBody().front());
}

void Recorder::describe() {
  if (!plan)
    return;
  findSteps();
  describeKernels();
  forget();
}

void Recorder::forget() {
  plan = {};
  objects.clear();
}

/// Steps have the numbers that PlanArtifact.cpp gives them.
void Recorder::findSteps() {
  for (Function &function : functions) {
    function.opsOfSteps.clear();
    auto planned = plan->lookupSymbol<plan::FunctionOp>(function.name);
    if (!planned)
      continue;
    for (Operation &op : planned.getBody().front())
      if (!isa<plan::EndIfOp>(op))
        function.opsOfSteps.push_back(numbersIn(op.getLoc(), function.name));
  }
}

void Recorder::describeKernels() {
  kernels.clear();
  for (auto kernel : plan->getOps<func::FuncOp>()) {
    KernelCode &code = kernels[kernel.getName().str()];
    code.strategy = graph::strategyName(kernel).str();
    code.ir = irOf(kernel);
  }
  auto codes = llvm::map_to_vector(objects, [](const artifact::Object &object) {
    return StringRef(object.data(), object.size());
  });
  for (auto &[name, loop] : findHottestLoops(codes))
    if (auto known = kernels.find(name); known != kernels.end())
      known->second.hottest = std::move(loop);
}

} // namespace tinh::report
