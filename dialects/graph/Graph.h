//===- Graph.h - The graph dialect ------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors with value semantics; the ops' definitions, by family, are in the
// .td files beside this one.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DIALECTS_GRAPH_GRAPH_H
#define TINH_DIALECTS_GRAPH_GRAPH_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"

#include "dialects/graph/GraphAttrInterfaces.h.inc"
#include "dialects/graph/GraphDialect.h.inc"
#include "dialects/graph/GraphEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttrs.h.inc"

namespace tinh::graph {

/// What changes nothing where it stands in the place of an element.
enum class Neutral { Zero, One, Lowest, Highest };

} // namespace tinh::graph

#include "dialects/graph/GraphInterfaces.h.inc"

namespace tinh::graph {

/// Names in attributes of functions, their arguments and their results.
namespace names {
/// The name of a model's input or output (StringAttr).
inline constexpr llvm::StringLiteral kName = "graph.name";
/// Where an argument of @init comes from (an ElementsAttr or ExternalAttr).
inline constexpr llvm::StringLiteral kSource = "graph.source";
/// The variable that an argument reads, or whose next value a result is
/// (StringAttr).
inline constexpr llvm::StringLiteral kVariable = "graph.variable";
/// Of a result: for each of its dimensions the name of the result, a
/// tensor<i64>, that says how much of it is used; "" for all (ArrayAttr of
/// StringAttr).
inline constexpr llvm::StringLiteral kSizes = "graph.sizes";
/// Independent pieces of a kernel's work (I64Attr).
inline constexpr llvm::StringLiteral kChunks = "graph.chunks";
/// Bytes of scratch memory that a worker needs for a kernel (I64Attr).
inline constexpr llvm::StringLiteral kScratch = "graph.scratch";
/// Pairs (input, result) of a kernel that may share a buffer.
inline constexpr llvm::StringLiteral kInplace = "graph.inplace";
/// How a kernel is computed (an attribute with KernelPlanInterface).
inline constexpr llvm::StringLiteral kPlan = "graph.plan";
/// The cycles that one core is estimated to take for all of a kernel (I64Attr).
inline constexpr llvm::StringLiteral kEstimate = "graph.estimate";
/// Of a module: the CPU that it is compiled for (StringAttr); of a kernel: that
/// it is compiled for, if that is another one.
inline constexpr llvm::StringLiteral kCpu = "graph.cpu";
/// Of a module: the model's name (StringAttr).
inline constexpr llvm::StringLiteral kModel = "graph.model";
/// Of a module: the chips of NVIDIA's that it is compiled for beside the CPU
/// (ArrayAttr of StringAttr); without it there is no GPU.
inline constexpr llvm::StringLiteral kCuda = "graph.cuda";
/// Of such a module: matmuls of f32 may read tf32 (UnitAttr).
inline constexpr llvm::StringLiteral kAllowTf32 = "graph.allow_tf32";
/// Of such a module: which kernels go where, "PATTERN=DEVICE" (ArrayAttr of
/// StringAttr).
inline constexpr llvm::StringLiteral kPlace = "graph.place";
/// Of such a module: it is to run where there is no GPU, too (UnitAttr).
inline constexpr llvm::StringLiteral kAlsoCpu = "graph.also_cpu";
/// Of such a module: what does its collectives there, kNccl; without it they
/// are the CPU's. The pass place-kernels then gives them a kDevice.
inline constexpr llvm::StringLiteral kCollectives = "graph.collectives";
inline constexpr llvm::StringLiteral kNccl = "nccl";
/// Of a function or a variable for machines without a GPU: the name of the one
/// that it stands in for (StringAttr).
inline constexpr llvm::StringLiteral kInsteadOf = "graph.instead_of";
/// The device that a kernel is for: kOnCuda, or the CPU without it.
inline constexpr llvm::StringLiteral kDevice = "graph.device";
/// Of a kernel for GPUs: the threads of a block, which computes one of its
/// chunks (I64Attr).
inline constexpr llvm::StringLiteral kThreads = "graph.threads";
/// Of a kernel for GPUs, from phase plan on: what the addresses of its operands
/// are multiples of, in bytes (DenseI64ArrayAttr).
inline constexpr llvm::StringLiteral kAlignments = "graph.alignments";
/// Of a kernel for GPUs: what it is to a library (LibraryAttr).
inline constexpr llvm::StringLiteral kLibrary = "graph.library";
/// The devices' names.
inline constexpr llvm::StringLiteral kOnCpu = "cpu";
inline constexpr llvm::StringLiteral kOnCuda = "cuda";
/// The function of a model for inference, and the one that prepares the
/// weights.
inline constexpr llvm::StringLiteral kMain = "main";
inline constexpr llvm::StringLiteral kInit = "init";
} // namespace names

/// Whether a function of a module is one that users of the artifact call: all
/// that are public but @init.
inline bool isEntry(mlir::SymbolOpInterface function) {
  return function.isPublic() && function.getName() != names::kInit;
}

/// Whether a kernel runs on the GPU: a graph.kernel, its function, or a module
/// of functions in the LLVM dialect.
inline bool isOnCuda(mlir::Operation *kernel) {
  return kernel->hasAttr(names::kDevice);
}

/// The name of the strategy that a kernel function is computed by; empty if
/// none has been chosen.
llvm::StringRef strategyName(mlir::Operation *kernel);

/// Marks ops that compute each result element from operand elements at the
/// same, broadcast, index.
template <typename ConcreteType>
class ElementwiseOpTrait
    : public mlir::OpTrait::TraitBase<ConcreteType, ElementwiseOpTrait> {};

/// Marks running sums and their like.
template <typename ConcreteType>
class CumulativeOpTrait
    : public mlir::OpTrait::TraitBase<ConcreteType, CumulativeOpTrait> {};

namespace detail {
/// Whether `op` stands where all ranks run it.
llvm::LogicalResult verifyCollective(mlir::Operation *op);
} // namespace detail

/// Marks ops that all ranks run together, on a tensor of each.
template <typename ConcreteType>
class CollectiveOpTrait
    : public mlir::OpTrait::TraitBase<ConcreteType, CollectiveOpTrait> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyCollective(op);
  }
};

inline bool isCollective(mlir::Operation *op) {
  return op->hasTrait<CollectiveOpTrait>();
}

/// NumPy's broadcast of shapes; nothing if they do not fit.
std::optional<llvm::SmallVector<int64_t>>
broadcastShapes(llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes);

/// The element type of sums of products of two: their own, or i32 for integers
/// of 8 bits; null if these two are not multiplied.
mlir::Type productElement(mlir::Type a, mlir::Type b);

/// "2x3xf32", for messages.
std::string shapeToString(mlir::Type tensorType);

/// The first name of a node of the model that a location has; empty if it has
/// none.
llvm::StringRef nodeName(mlir::Location location);

/// What a pattern can say of an op: its name, and those of the model's nodes
/// that it computes.
llvm::StringSet<> namesOf(mlir::Operation *op);

/// Whether `axis` is a dimension of `x`; if not, says so of the op.
mlir::LogicalResult checkAxis(std::optional<mlir::Location> loc,
                              llvm::StringRef op, mlir::RankedTensorType x,
                              int64_t axis);

/// Whether an element is a float of 8 or 4 bits, which is for storage: kernels
/// compute on what it is converted to.
bool isStorageFloat(mlir::Type element);

/// `type` (an element or a tensor of them) as kernels have it: integers without
/// a sign, and floats for storage as bytes of their bits.
mlir::Type storageType(mlir::Type type);

/// The bytes of one element in memory: a boolean, or a float of 4 bits, takes
/// one.
int64_t elementSize(mlir::Type elementType);

/// The bytes of a tensor's elements, dense.
int64_t tensorSize(mlir::Type tensorType);

/// tensor<i1>, which branches and loops depend on, and tensor<i64>, which
/// counts their iterations.
mlir::RankedTensorType conditionType(mlir::MLIRContext *context);
mlir::RankedTensorType countType(mlir::MLIRContext *context);

/// The type of so many rows, and of a row of a tensor; null if there is none.
mlir::RankedTensorType stackedType(mlir::Type row, int64_t length);
mlir::RankedTensorType rowType(mlir::Type stacked);

/// Whether `sizes`, of a result of this type, has a string for each dimension.
mlir::LogicalResult
verifyDimensionSizes(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                     mlir::Type type, mlir::Attribute sizes);

/// What a constant's elements are: dense elements or a place in a file, also
/// those of a parameter.
mlir::TypedAttr elementsOf(mlir::TypedAttr constant);

/// Whether `value` can be the value of a constant: elements, a place in a file
/// of as many bytes, or a parameter of these.
mlir::LogicalResult
verifyConstant(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
               mlir::TypedAttr value);

} // namespace tinh::graph

#define GET_OP_CLASSES
#include "dialects/graph/GraphOps.h.inc"

namespace tinh::graph {

/// Whether `op` has regions of the model's ops, which may read values from
/// above: graph.if, graph.while or graph.scan.
inline bool isControlFlow(mlir::Operation *op) {
  return mlir::isa_and_present<IfOp, WhileOp, ScanOp>(op);
}

/// All values that `op` reads: its operands and, each once, those from above
/// that its regions read.
llvm::SmallVector<mlir::Value> readValues(mlir::Operation *op);

} // namespace tinh::graph

#endif // TINH_DIALECTS_GRAPH_GRAPH_H
