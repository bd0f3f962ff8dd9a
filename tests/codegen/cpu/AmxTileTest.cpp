//===- AmxTileTest.cpp - Blocks of tiles of AMX -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/AmxTile.h"

#include "EmulateModel.h"
#include "IrFunction.h"

#include "compiler/Codegen/CPU/LowerToLLVM.h"
#include "compiler/Support/MachineCode.h"
#include "tinh/artifact.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <sys/mman.h>

using namespace mlir;
using namespace tinh::cpu;
using namespace tinh::tests;

namespace {

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// Sizes of a product of one block, in elements.
struct Shape {
  int64_t rows, panels, depth, leftStride;
  int64_t group; // Elements of four bytes.
  int64_t lines = 1, lineStride = 0;

  int64_t panelSize() const { return depth * kAmxColumns; }
  int64_t leftSize() const {
    return (lines - 1) * lineStride + (rows - 1) * leftStride + depth;
  }
  int64_t sumsSize() const {
    return block().rowTiles() * kAmxRows * panels * kAmxColumns;
  }
  /// The block without its operands.
  AmxBlock block() const {
    AmxBlock block;
    block.leftStride = leftStride;
    block.lineStride = lineStride;
    block.panelStride = panelSize();
    block.rows = rows;
    block.lines = lines;
    block.panels = panels;
    block.stepBytes = amxStepBytes(4 / group * depth);
    return block;
  }
};

/// Emits sums of the first half of the steps, and then, from these sums in
/// memory, those of the others.
void emitInHalves(OpBuilder &b, Location loc, const AmxBlock &block,
                  int64_t steps, Value out) {
  auto index = [&](int64_t i) -> Value {
    return arith::ConstantIndexOp::create(b, loc, i);
  };
  AmxEmitter tiles(b, loc, block);
  int64_t first = steps / 2, element = first * block.stepElements();
  auto sums = tiles.zeroSums();
  if (first) {
    sums = tiles.multiply(index(0), index(0), first, sums);
    tiles.storeSums(sums, out, index(0));
    sums = tiles.loadSums(out, index(0));
  }
  sums = tiles.multiply(index(element), index(kAmxColumns * element),
                        steps - first, sums);
  tiles.storeSums(sums, out, index(0));
}

void lower(ModuleOp module) {
  PassManager pm(module.getContext());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(functions));
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  ASSERT_TRUE(succeeded(pm.run(module)));
}

/// LLVM IR of @f(left, right, out).
std::string blockFunction(const Shape &shape, bool isFloat, bool leftSigned) {
  DialectRegistry registry;
  registerCodegenDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OpBuilder b(&context);
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  b.setInsertionPointToEnd(module->getBody());
  Type element = isFloat ? Type(b.getBF16Type()) : b.getI8Type();
  Type sum = isFloat ? Type(b.getF32Type()) : b.getI32Type();
  auto function = func::FuncOp::create(
      b, loc, "f",
      b.getFunctionType(
          {MemRefType::get({shape.leftSize()}, element),
           MemRefType::get({shape.panels * shape.panelSize()}, element),
           MemRefType::get({shape.sumsSize()}, sum)},
          {}));
  b.setInsertionPointToEnd(function.addEntryBlock());
  int64_t bytes = 4 / shape.group * shape.depth;
  AmxBlock block = shape.block();
  block.left = function.getArgument(0);
  block.right = function.getArgument(1);
  block.leftSigned = leftSigned;
  emitInHalves(b, loc, block, bytes / block.stepBytes, function.getArgument(2));
  func::ReturnOp::create(b, loc);
  lower(*module);
  llvm::LLVMContext llvmContext;
  std::string text;
  llvm::raw_string_ostream(text)
      << *translateModuleToLLVMIR(*module, llvmContext);
  return text;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Values that end where the process has no memory.
template <typename Value> class AtTheEnd {
public:
  explicit AtTheEnd(const Values<Value> &values) {
    size_t bytes = values.size() * sizeof(Value);
    size = llvm::alignTo(bytes, kPage) + kPage;
    pages = static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages + size - kPage, kPage, PROT_NONE);
    data = pages + size - kPage - bytes;
    std::memcpy(data, values.data(), bytes);
  }
  ~AtTheEnd() { munmap(pages, size); }
  void *data;

private:
  static constexpr size_t kPage = 4096;
  char *pages;
  size_t size;
};

/// Calls `check` for where each sum's row begins in the left factor, for its
/// column and its place in memory.
void forEachSum(const Shape &shape,
                llvm::function_ref<void(int64_t, int64_t, size_t)> check) {
  AmxBlock block = shape.block();
  for (int64_t tile = 0; tile < block.rowTiles(); ++tile)
    for (int64_t r = 0; r < block.rowsOfTile(); ++r)
      for (int64_t n = 0; n < shape.panels * kAmxColumns; ++n)
        check(block.leftOffset(tile) + r * shape.leftStride, n,
              (tile * kAmxRows + r) * shape.panels * kAmxColumns + n);
}

/// Where the right factor has this element.
size_t rightAt(const Shape &shape, int64_t k, int64_t column) {
  int64_t panel = column / kAmxColumns, n = column % kAmxColumns;
  return panel * shape.panelSize() +
         (k / shape.group * kAmxColumns + n) * shape.group + k % shape.group;
}

constexpr Shape kByteShapes[] = {
    {32, 2, 192, 200, 4},       {20, 2, 64, 64, 4},
    {16, 1, 96, 96, 4},         {5, 2, 36, 50, 4},
    {31, 1, 128, 128, 4},       {1, 1, 4, 4, 4},
    {28, 2, 64, 64, 4},         {7, 2, 64, 64, 4, 2, 576},
    {14, 1, 32, 64, 4, 4, 1024}};

template <typename Left> void checkBytes() {
  for (const Shape &shape : kByteShapes) {
    bool leftSigned = std::is_signed_v<Left>;
    std::string ir = blockFunction(shape, /*isFloat=*/false, leftSigned);
    auto left = integers<Left>(shape.leftSize());
    auto right = integers<int8_t>(shape.panels * shape.panelSize());
    for (Way way : waysFor(TINH_CPU_AMX_TILE | TINH_CPU_AMX_INT8)) {
      Values<int32_t> out(shape.sumsSize());
      IrFunction(ir, way)(AtTheEnd(left).data, AtTheEnd(right).data,
                          out.data());
      forEachSum(shape, [&](int64_t leftAt, int64_t n, size_t at) {
        int32_t sum = 0;
        for (int64_t k = 0; k < shape.depth; ++k)
          sum += left[leftAt + k] * right[rightAt(shape, k, n)];
        ASSERT_EQ(out[at], sum) << shape.rows << ": " << leftAt << ", " << n;
      });
    }
  }
}

TEST(AmxTileTest, MultipliesUnsignedBytes) { checkBytes<uint8_t>(); }
TEST(AmxTileTest, MultipliesSignedBytes) { checkBytes<int8_t>(); }

/// A sum as instructions compute it, each for `step` elements.
float addInSteps(const Shape &shape, int64_t step, const uint16_t *left,
                 llvm::function_ref<uint16_t(int64_t)> right) {
  float sum = 0;
  for (int64_t from = 0; from < shape.depth; from += step) {
    float sums[2] = {0, 0};
    for (int64_t k = from; k < from + step; ++k)
      sums[k % 2] = addProduct(sums[k % 2], left[k], right(k));
    sum = flush(sum + flush(sums[0] + sums[1]));
  }
  return sum;
}

TEST(AmxTileTest, MultipliesBf16) {
  for (const Shape &shape : {Shape{32, 2, 96, 100, 2}, Shape{17, 1, 48, 48, 2},
                             Shape{3, 2, 22, 31, 2}}) {
    std::string ir = blockFunction(shape, /*isFloat=*/true, true);
    auto left = bf16s(shape.leftSize());
    auto right = bf16s(shape.panels * shape.panelSize());
    for (Way way : waysFor(TINH_CPU_AMX_TILE | TINH_CPU_AMX_BF16)) {
      Values<float> out(shape.sumsSize());
      IrFunction(ir, way)(AtTheEnd(left).data, AtTheEnd(right).data,
                          out.data());
      forEachSum(shape, [&](int64_t leftAt, int64_t n, size_t at) {
        float sum =
            addInSteps(shape, amxStepBytes(2 * shape.depth) / 2, &left[leftAt],
                       [&](int64_t k) { return right[rightAt(shape, k, n)]; });
        ASSERT_EQ(std::bit_cast<uint32_t>(out[at]),
                  std::bit_cast<uint32_t>(sum))
            << shape.rows << ": " << leftAt << ", " << n;
      });
    }
  }
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

TEST(AmxTileTest, StepsHaveOneLength) {
  EXPECT_EQ(amxStepBytes(64), 64);
  EXPECT_EQ(amxStepBytes(512), 64);
  EXPECT_EQ(amxStepBytes(32), 32);
  EXPECT_EQ(amxStepBytes(96), 48);
  EXPECT_EQ(amxStepBytes(100), 20);
  EXPECT_EQ(amxStepBytes(148), 4);
}

TEST(AmxTileTest, TilesStayInRegisters) {
  std::string ir =
      blockFunction({32, 2, 8192, 8192, 4}, /*isFloat=*/false, true);
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(ir, diagnostic, context);
  ASSERT_TRUE(module);
  auto machine = makeTargetMachine(cantFail(lookupTarget("sapphirerapids")));
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  tinh::optimise(*module, *machine, llvm::OptimizationLevel::O2, tuning);
  auto code = cantFail(
      tinh::emitCode(*module, *machine, llvm::CodeGenFileType::AssemblyFile));
  llvm::StringRef text(code.data(), code.size());
  // For each half of the steps a loop; sums wait in memory between these.
  EXPECT_EQ(text.count("\ttdpbssd\t"), 8U);
  EXPECT_EQ(text.count("\ttileloadd\t"), 2 * 4 + 4U);
  EXPECT_EQ(text.count("\ttilestored\t"), 8U);
  EXPECT_EQ(text.count("\tldtilecfg\t"), 1U);
}

} // namespace
