//===- Import.cpp - Model files to the graph dialect ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Import.h"

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Import/FileKind.h"
#include "compiler/Import/Formats.h"
#include "compiler/Import/InputOptions.h"
#include "compiler/Import/Limits.h"
#include "compiler/Import/ReplaceWeights.h"
#include "compiler/Support/Bytecode.h"
#include "compiler/Support/Files.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace tinh {

namespace {

enum class Format { Onnx, Json, Mlir };

bool isBytecode(StringRef content) { return content.starts_with("ML\xefR"); }

/// By name or, where that says nothing, by how the content starts.
Format findFormat(StringRef path, StringRef content) {
  StringRef extension = llvm::sys::path::extension(path);
  if (extension.equals_insensitive(".onnx"))
    return Format::Onnx;
  if (extension.equals_insensitive(".json"))
    return Format::Json;
  if (extension == ".mlir" || extension == ".mlirbc")
    return Format::Mlir;
  if (isBytecode(content))
    return Format::Mlir;
  StringRef text = content.ltrim();
  if (text.starts_with("{"))
    return Format::Json;
  for (StringRef start : {"module", "func", "#", "//", "builtin", "\"builtin"})
    if (text.starts_with(start))
      return Format::Mlir;
  return Format::Onnx;
}

/// IR has its shapes already; a given one can only agree. A given value takes
/// its input's place.
LogicalResult applyInputOptions(ModuleOp module, const ImportOptions &options) {
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  SmallVector<StringRef> names;
  for (unsigned i = 0; main && i < main.getNumArguments(); ++i) {
    auto name = main.getArgAttrOfType<StringAttr>(i, graph::names::kName);
    names.push_back(name ? name.getValue() : "");
  }
  auto wrong = describeUnknownInputs(options, names);
  llvm::append_range(wrong, describeLengthsOfTensors(options, names));
  if (!wrong.empty())
    return module.emitError() << wrong.front();
  for (size_t i = names.size(); i-- > 0;) {
    auto type = dyn_cast<RankedTensorType>(main.getArgumentTypes()[i]);
    auto shape = options.shapes.find(names[i]);
    if (shape != options.shapes.end() && type &&
        type.getShape() != ArrayRef<int64_t>(shape->second))
      return main.emitError()
             << "input \"" << names[i] << "\": the given shape "
             << formatShape(shape->second) << " differs from "
             << formatShape(type.getShape())
             << ", which the IR has fixed already";
    std::string error;
    auto value =
        type ? inputValue(options, names[i], type, error) : DenseElementsAttr();
    if (!error.empty())
      return main.emitError() << error;
    if (!value)
      continue;
    OpBuilder builder = OpBuilder::atBlockBegin(&main.front());
    main.getArgument(i).replaceAllUsesWith(graph::ConstantOp::create(
        builder, main.getArgument(i).getLoc(), type, value));
    if (failed(main.eraseArgument(i)))
      return failure();
  }
  return success();
}

/// MLIR's parser and all that follows recurse into regions.
LogicalResult checkDepth(StringRef text, StringRef path, MLIRContext &context) {
  unsigned depth = 0, line = 1;
  size_t lineStart = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '\n':
      ++line;
      lineStart = i + 1;
      break;
    case '"': // There are no line breaks in strings.
      for (++i; i < text.size() && text[i] != '"'; ++i)
        i += text[i] == '\\';
      break;
    case '/':
      if (text.substr(i, 2) == "//")
        i = std::min(text.find('\n', i), text.size()) - 1;
      break;
    case '{':
      if (++depth > kMaxTextDepth)
        return emitError(FileLineColLoc::get(StringAttr::get(&context, path),
                                             line, i - lineStart + 1))
               << "regions and attributes are nested more than "
               << kMaxTextDepth << " deep";
      break;
    case '}':
      depth -= depth > 0;
      break;
    default:
      break;
    }
  }
  return success();
}

/// In text, a type may be larger than any memory, and sizes would wrap.
LogicalResult checkSizes(ModuleOp module) {
  Type tooLarge;
  AttrTypeWalker walker;
  walker.addWalk([&](RankedTensorType type) {
    if (!type.hasStaticShape() || countElements(type.getShape()))
      return WalkResult::advance();
    tooLarge = type;
    return WalkResult::interrupt();
  });
  auto result = module.walk([&](Operation *op) -> WalkResult {
    bool interrupted = walker.walk(op->getAttrDictionary()).wasInterrupted();
    for (Type type : op->getResultTypes())
      interrupted |= walker.walk(type).wasInterrupted();
    if (interrupted)
      return op->emitError() << tooLarge << " is beyond any memory";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

std::nullptr_t fail(StringRef path, MLIRContext &context, const Twine &what) {
  emitError(FileLineColLoc::get(StringAttr::get(&context, path), 0, 0)) << what;
  return nullptr;
}

OwningOpRef<ModuleOp> importMlir(StringRef path, const ImportOptions &options,
                                 MLIRContext &context) {
  auto text = readRegularFile(path, /*terminated=*/true);
  if (!text)
    return fail(path, context,
                "cannot read the file: " + llvm::toString(text.takeError()));
  StringRef content = (*text)->getBuffer();
  if (isBytecode(content) && !isOurBytecode(content))
    return fail(path, context,
                "the file is bytecode that is damaged, or that another program "
                "has written: of other programs, IR is read as text");
  if (!isBytecode(content) && failed(checkDepth(content, path, context)))
    return nullptr;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
  auto module = parseSourceFile<ModuleOp>(sources, &context);
  if (module && (failed(checkSizes(*module)) ||
                 failed(applyInputOptions(*module, options))))
    return nullptr;
  return module;
}

OwningOpRef<ModuleOp> importFile(StringRef path, const ImportOptions &options,
                                 MLIRContext &context) {
  auto file = readRegularFile(path);
  if (!file)
    return fail(path, context,
                "cannot read the file: " + llvm::toString(file.takeError()));
  StringRef content = (*file)->getBuffer();
  if (std::string kind = describeOtherKind(path, content); !kind.empty())
    return fail(path, context, kind);
  switch (findFormat(path, content.take_front(4096))) {
  case Format::Onnx:
    return onnx::importOnnx(path, content, options, context);
  case Format::Json:
    return json::importJson(path, content, options, context);
  case Format::Mlir:
    break;
  }
  return importMlir(path, options, context);
}

} // namespace

void buildReturn(GraphBuilder &builder, func::FuncOp main, ValueRange values,
                 ArrayRef<StringRef> names) {
  Builder b(main.getContext());
  SmallVector<Attribute> attributes;
  for (StringRef name : names)
    attributes.push_back(b.getDictionaryAttr(
        b.getNamedAttr(graph::names::kName, b.getStringAttr(name))));
  func::ReturnOp::create(builder.raw(), main.getLoc(), values);
  main.setFunctionType(
      b.getFunctionType(main.getArgumentTypes(), values.getTypes()));
  main.setAllResultAttrs(attributes);
  eraseDeadOps(main.front());
}

std::string ImportOptions::directoryOf(StringRef model) const {
  if (!directory.empty())
    return directory;
  StringRef own = llvm::sys::path::parent_path(model);
  return own.empty() ? "." : own.str();
}

OwningOpRef<ModuleOp> importModel(StringRef path, const ImportOptions &options,
                                  MLIRContext &context) {
  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  if (options.loadWeights.empty())
    return importFile(path, options, context);
  llvm::StringSet<> weights;
  ImportOptions naming = options;
  if (!naming.weights)
    naming.weights = &weights;
  auto module = importFile(path, naming, context);
  if (module &&
      failed(replaceWeights(*module, *naming.weights, options.loadWeights)))
    return nullptr;
  return module;
}

} // namespace tinh
