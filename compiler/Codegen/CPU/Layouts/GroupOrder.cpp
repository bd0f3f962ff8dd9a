//===- GroupOrder.cpp - Bytes whose products fit into 16 bits ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A CPU without VNNI multiplies pairs of bytes by vpmaddubsw, whose sums of 16
// bits saturate: an unsigned byte of a row is at most 255, so two weights of
// one sign may be 128 together. Nearly all pairs are less, but hardly any
// column has no others. So it is decided for each group of a panel, four
// neighbours along k in all its columns, when the artifact is written: in which
// of three ways to pair them all columns fit, if in any. A constant beside the
// panels,
//
//   %y = graph.dispatch @conv_0(%x, %panels, %order)
//       : (…, tensor<4x1x1x64x16x4xi8>, tensor<4x67xi16>) -> …
//
// has a line for each panel: how many of its groups fit up to each pairing, and
// then the numbers of all groups in this order, unsigned. The panels stay as
// they are, and what the product is does not depend on it.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Layouts/Layouts.h"

#include "compiler/Codegen/CPU/Layouts/Packing.h"
#include "compiler/Codegen/CPU/Strategies.h"
#include "compiler/Codegen/Kernel/Rewrites.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

#include <numeric>

using namespace mlir;

namespace tinh::cpu {

static constexpr size_t kPairings = std::size(kBytePairings);

using ReadConstant = llvm::function_ref<ArrayRef<char>(graph::ExternalAttr)>;

namespace {

/// Weights in panels, as they lie before.
class PanelGroups {
public:
  PanelGroups(ArrayRef<char> weights, PanelsAttr panels)
      : weights(weights), panels(panels), shape(panels.getPlain().getShape()),
        strides(computeStrides(shape)) {}

  SmallVector<uint16_t> order() const;

private:
  void orderPanel(int64_t first, int64_t columns,
                  SmallVectorImpl<uint16_t> &order) const;
  size_t pairingOf(int64_t first, int64_t columns, int64_t count) const;
  /// The product of the extents of some dimensions.
  int64_t extentOf(ArrayRef<int64_t> dims) const {
    return std::accumulate(
        dims.begin(), dims.end(), int64_t(1),
        [&](int64_t extent, int64_t dim) { return extent * shape[dim]; });
  }
  /// Where iteration `number` of loops over `dims` begins.
  int64_t offsetOf(ArrayRef<int64_t> dims, int64_t number) const {
    int64_t offset = 0;
    for (int64_t dim : llvm::reverse(dims)) {
      offset += number % shape[dim] * strides[dim];
      number /= shape[dim];
    }
    return offset;
  }

  ArrayRef<char> weights;
  PanelsAttr panels;
  SmallVector<int64_t> shape, strides;
};

} // namespace

/// Whether both pairs of bytes, in some order, fit into 16 bits whatever they
/// are multiplied by.
static bool fits(const std::array<int, 4> &bytes, ArrayRef<int64_t> order) {
  constexpr int kMost = INT16_MAX / UINT8_MAX, kLeast = INT16_MIN / UINT8_MAX;
  auto pairFits = [](int one, int two) {
    return std::max(one, 0) + std::max(two, 0) <= kMost &&
           std::min(one, 0) + std::min(two, 0) >= kLeast;
  };
  return pairFits(bytes[order[0]], bytes[order[1]]) &&
         pairFits(bytes[order[2]], bytes[order[3]]);
}

/// The first pairing of a group in which all columns fit, `count` elements from
/// `first` on in each; as many as there are pairings if there is none.
size_t PanelGroups::pairingOf(int64_t first, int64_t columns,
                              int64_t count) const {
  int64_t along = strides[panels.getGrouped()],
          across = strides[panels.getLane()];
  size_t pairing = 0;
  for (int64_t column = 0; column < columns && pairing < kPairings; ++column) {
    std::array<int, 4> bytes = {};
    for (int64_t k = 0; k < count; ++k)
      bytes[k] = weights[first + column * across + k * along];
    // Columns before may fit no more.
    size_t before = pairing;
    while (pairing < kPairings && !fits(bytes, kBytePairings[pairing]))
      ++pairing;
    if (pairing != before)
      column = -1;
  }
  return pairing;
}

void PanelGroups::orderPanel(int64_t first, int64_t columns,
                             SmallVectorImpl<uint16_t> &order) const {
  ArrayRef<int64_t> outer =
      panels.getOrder().asArrayRef().drop_front(panels.getBatch()).drop_back(2);
  int64_t extent = shape[panels.getGrouped()], group = panels.getGroup();
  SmallVector<uint16_t> numbers[kPairings + 1];
  for (int64_t i = 0, number = 0; i < extentOf(outer); ++i)
    for (int64_t k = 0; k < extent; k += group, ++number) {
      int64_t at =
          first + offsetOf(outer, i) + k * strides[panels.getGrouped()];
      numbers[pairingOf(at, columns, std::min(group, extent - k))].push_back(
          number);
    }
  int64_t count = 0;
  for (size_t pairing = 0; pairing < kPairings; ++pairing)
    order.push_back(count += numbers[pairing].size());
  for (ArrayRef<uint16_t> some : numbers)
    order.append(some.begin(), some.end());
}

SmallVector<uint16_t> PanelGroups::order() const {
  ArrayRef<int64_t> batch =
      panels.getOrder().asArrayRef().take_front(panels.getBatch());
  SmallVector<uint16_t> order;
  for (int64_t i = 0; i < extentOf(batch); ++i)
    for (int64_t column = 0; column < panels.getColumns();
         column += panels.getWidth()) {
      int64_t columns =
          std::min(panels.getWidth(), panels.getColumns() - column);
      orderPanel(offsetOf(batch, i) + column * strides[panels.getLane()],
                 columns, order);
    }
  return order;
}

/// The constant that a kernel before packs as this operand, if it is one that
/// cannot be exchanged for another.
static graph::ConstantOp packedConstant(Value operand) {
  auto pack = operand.getDefiningOp<graph::DispatchOp>();
  if (!pack || pack.getInputs().size() != 1)
    return {};
  Value source = pack.getInputs()[0];
  while (auto reshape = source.getDefiningOp<graph::ReshapeOp>())
    source = reshape.getX();
  return source.getDefiningOp<graph::ConstantOp>();
}

/// The bytes of a constant; none if they are not known, or all the same.
static ArrayRef<char> bytesOf(graph::ConstantOp constant, ReadConstant read) {
  if (auto external = dyn_cast<graph::ExternalAttr>(constant.getValue()))
    return read(external);
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  return dense && !dense.isSplat() ? dense.getRawData() : ArrayRef<char>();
}

/// Whether so many rows read a panel that its copy in order pays, and it has so
/// many groups that loops over those of each pairing do. Numbers have 16 bits.
static bool isWorthOrdering(const Contraction &c) {
  constexpr int64_t kLeastRows = 32, kLeastGroups = 16;
  return c.extentOf(c.left.loops) >= kLeastRows && c.steps() >= kLeastGroups &&
         c.orderLength() <= UINT16_MAX;
}

/// The order of the groups of constant panels that `c` reads; none if they are
/// not known, or too few of them fit into 16 bits.
static DenseElementsAttr orderOf(const Contraction &c, PanelsAttr panels,
                                 ArrayRef<char> weights) {
  constexpr double kLeastShare = 0.25;
  if (static_cast<int64_t>(weights.size()) !=
      panels.getPlain().getNumElements())
    return {};
  SmallVector<uint16_t> order = PanelGroups(weights, panels).order();
  int64_t line = c.orderLength(), lines = order.size() / line, fitting = 0;
  for (int64_t i = 0; i < lines; ++i)
    fitting += order[i * line + kPairings - 1];
  if (fitting < kLeastShare * lines * c.steps())
    return {};
  auto type = RankedTensorType::get({lines, line},
                                    IntegerType::get(panels.getContext(), 16));
  return DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef(reinterpret_cast<const char *>(order.data()),
                     order.size() * sizeof(uint16_t)));
}

/// Gives `kernel` an operand more, which has the order.
static LogicalResult addOrder(func::FuncOp kernel, Type type) {
  Builder b(kernel.getContext());
  auto attributes =
      b.getDictionaryAttr(b.getNamedAttr(names::kGroupOrder, b.getUnitAttr()));
  return kernel.insertArgument(kernel.getNumArguments(), type, attributes,
                               kernel.getLoc());
}

/// Whether the kernel costs less with an order of this type: all of k is in a
/// slab then, at windows that are far apart more than there is room for.
static bool paysOrder(func::FuncOp kernel, Type type, const Target &target) {
  // More than the second-level cache may keep: tiles read some rows at a time.
  constexpr int64_t kMostSlab = 640 << 10;
  OwningOpRef<func::FuncOp> trial = kernel.clone();
  if (failed(addOrder(*trial, type)))
    return false;
  auto plain = strategies().cheapest(kernel, target),
       ordered = strategies().cheapest(*trial, target);
  auto c = ContractionStrategy::match(*trial);
  if (!c || !plain || !ordered || !isa<ContractionPlanAttr>(ordered->plan) ||
      ordered->cost() >= plain->cost())
    return false;
  ContractionPlan plan = planContraction(*c, target, /*packed=*/true);
  return extendedBytes(*c, plan).end <= kMostSlab;
}

/// Lets the product that `kernel` is know the order of its groups, where it has
/// one that pays.
static bool orderGroups(func::FuncOp kernel, graph::DispatchOp dispatch,
                        const Target &target, ReadConstant read) {
  auto c = ContractionStrategy::match(kernel);
  if (!c || !c->packed || c->groupOrder || !c->extendsBytes(target) ||
      !isWorthOrdering(*c))
    return false;
  auto panels = kernel.getArgAttrOfType<PanelsAttr>(*c->packed, names::kLayout);
  graph::ConstantOp constant = packedConstant(dispatch.getInputs()[*c->packed]);
  DenseElementsAttr order = constant
                                ? orderOf(*c, panels, bytesOf(constant, read))
                                : DenseElementsAttr();
  if (!order || !paysOrder(kernel, order.getType(), target) ||
      failed(addOrder(kernel, order.getType())))
    return false;
  OpBuilder b(dispatch);
  dispatch.getInputsMutable().append(
      graph::ConstantOp::create(b, dispatch.getLoc(), order.getType(), order)
          .getResult());
  return true;
}

int64_t orderByteGroups(ModuleOp module, const Target &target,
                        ReadConstant read) {
  SymbolTable symbols(module);
  int64_t count = 0;
  module.walk([&](graph::DispatchOp dispatch) {
    auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
    count +=
        !graph::isOnCuda(kernel) && orderGroups(kernel, dispatch, target, read);
  });
  return count;
}

} // namespace tinh::cpu
