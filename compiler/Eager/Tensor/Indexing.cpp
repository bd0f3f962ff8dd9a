//===- Indexing.cpp - Parts of tensors, read and written --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integers, slices, None and Ellipsis make a view. Index tensors then pick from
// that view, and masks are the index tensors of where they hold:
//
//   x.index({1, Slice(), i, j})  =  gather_nd(x[1] with the dimensions of i and
//                                   j in front, [i, j])
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Support.h"

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

static Tensor sliceView(const TensorImpl &x, int64_t axis, int64_t start,
                        int64_t count, int64_t step) {
  View how;
  how.kind = View::Slice;
  how.starts = Dims::filled(x.rank(), 0);
  how.steps = Dims::filled(x.rank(), 1);
  how.starts[axis] = start;
  how.steps[axis] = step;
  Dims sizes = x.sizes, strides = x.strides;
  sizes[axis] = count;
  strides[axis] *= step;
  int64_t offset = count == 0 ? x.offset : x.offset + start * x.strides[axis];
  return makeView(x, how, sizes, strides, offset);
}

/// Python's rule for bounds of a slice.
static int64_t clampBound(std::optional<int64_t> bound, int64_t fallback,
                          int64_t extent, int64_t lowest, int64_t highest) {
  if (!bound)
    return fallback;
  int64_t value = *bound < 0 ? *bound + extent : *bound;
  return std::clamp(value, lowest, highest);
}

static Tensor sliced(const TensorImpl &x, int64_t axis, const Slice &slice,
                     const Call &call) {
  int64_t extent = x.sizes[axis], step = slice.step;
  if (step == 0)
    fail(call, "a slice's step is 0; give a positive or negative one");
  if (step > 0) {
    int64_t start = clampBound(slice.start, 0, extent, 0, extent);
    int64_t stop = clampBound(slice.stop, extent, extent, 0, extent);
    int64_t count = stop > start ? (stop - start - 1) / step + 1 : 0;
    return sliceView(x, axis, start, count, step);
  }
  int64_t start = clampBound(slice.start, extent - 1, extent, -1, extent - 1);
  int64_t stop = clampBound(slice.stop, -1, extent, -1, extent - 1);
  int64_t count = start > stop ? (start - stop - 1) / -step + 1 : 0;
  int64_t first = count == 0 ? 0 : start + (count - 1) * step;
  // Strides are never negative: elements backwards are a copy.
  Tensor forwards = sliceView(x, axis, first, count, -step);
  Tensor out = makeTensor(x.dtype, use(forwards, call).sizes);
  use(out, call).isIndexedCopy = true;
  if (count != 0 && use(out, call).numElements() != 0)
    perform(primitives::Flip{Dims::filled(1, axis)}, {&use(forwards, call)},
            use(out, call), call);
  return out;
}

static Tensor selected(const TensorImpl &x, int64_t axis, int64_t index,
                       const Call &call) {
  int64_t extent = x.sizes[axis];
  if (index < -extent || index >= extent)
    fail(call, "index ", index, " is out of bounds for dimension ", axis,
         " of shape ", x.sizes);
  Tensor part = sliceView(x, axis, index < 0 ? index + extent : index, 1, 1);
  const TensorImpl &impl = use(part, call);
  View how;
  how.kind = View::Reshape;
  Dims sizes = impl.sizes, strides = impl.strides;
  sizes.erase(axis);
  strides.erase(axis);
  return makeView(impl, how, sizes, strides, impl.offset);
}

/// As checkedAxis, of a tensor that must have dimensions.
static int64_t axisOf(const TensorImpl &x, int64_t axis, const Call &call) {
  if (x.rank() == 0)
    fail(call, "a tensor of rank 0 has no dimension to index; use item()");
  return checkedAxis(axis, x.rank(), call);
}

Tensor Tensor::slice(int64_t axis, Slice::Bound start, Slice::Bound stop,
                     int64_t step, At at) const {
  Call call{"slice", at};
  const TensorImpl &x = use(*this, call);
  return sliced(x, axisOf(x, axis, call), Slice(start, stop, step), call);
}

Tensor Tensor::select(int64_t axis, int64_t index, At at) const {
  Call call{"select", at};
  const TensorImpl &x = use(*this, call);
  return selected(x, axisOf(x, axis, call), index, call);
}

Tensor Tensor::narrow(int64_t axis, int64_t start, int64_t length,
                      At at) const {
  Call call{"narrow", at};
  const TensorImpl &x = use(*this, call);
  axis = axisOf(x, axis, call);
  int64_t extent = x.sizes[axis], first = start < 0 ? start + extent : start;
  if (first < 0 || length < 0 || first > extent || length > extent - first)
    fail(call, "elements from ", start, " on, ", length,
         " of them, are not within dimension ", axis, " of shape ", x.sizes);
  return sliceView(x, axis, first, length, 1);
}

Tensor Tensor::operator[](Operand index) const {
  Call call{"operator[]", index.at};
  const TensorImpl &x = use(*this, call);
  if (index.tensor())
    return this->index({Index(*index.tensor())}, index.at);
  const Number &number = index.number();
  if (!number.dtype.is_integer())
    fail(call, "an index must be an integer, found ", number.dtype);
  return selected(x, axisOf(x, 0, call), number.integer, call);
}

//===----------------------------------------------------------------------===//
// Indices of all kinds
//===----------------------------------------------------------------------===//

namespace {

/// What a list of indices means: a view, and the tensors that index dimensions
/// of that view.
struct Indexed {
  Tensor view;
  std::vector<Tensor> tensors;
  Dims axes;              // Of the view, by tensor.
  bool backwards = false; // The view is of a copy.
};

} // namespace

/// The dimensions of x that one index is about.
static int64_t dimensionsOf(const Index &index, const Call &call) {
  switch (index.kind) {
  case Index::Kind::None:
  case Index::Kind::Ellipsis:
    return 0;
  case Index::Kind::Tensor: {
    const TensorImpl &tensor = use(index.tensor, call);
    return tensor.dtype == TINH_DTYPE_BOOL ? tensor.rank() : 1;
  }
  default:
    return 1;
  }
}

/// The dimensions that Ellipsis stands for.
static int64_t omittedDimensions(const TensorImpl &x,
                                 std::span<const Index> indices,
                                 const Call &call) {
  int64_t used = 0;
  int ellipses = 0;
  for (const Index &index : indices) {
    used += dimensionsOf(index, call);
    ellipses += index.kind == Index::Kind::Ellipsis;
  }
  if (ellipses > 1)
    fail(call, "there is more than one Ellipsis among the indices");
  if (used > x.rank())
    fail(call, "indices for ", used, " dimensions are too many for shape ",
         x.sizes);
  return x.rank() - used;
}

static void addIndexTensor(Indexed &result, const Tensor &tensor, int64_t &axis,
                           const Call &call) {
  const TensorImpl &index = use(tensor, call);
  const TensorImpl &view = use(result.view, call);
  if (index.dtype != TINH_DTYPE_BOOL) {
    if (!DType(index.dtype).is_integer())
      fail(call, "an index tensor has dtype ", DType(index.dtype),
           "; it must be of integers or boolean");
    result.tensors.push_back(converted(index, int64, call));
    result.axes.push_back(axis++);
    return;
  }
  for (uint32_t i = 0; i < index.rank(); ++i)
    if (index.sizes[i] != view.sizes[axis + i])
      fail(call, "a mask of shape ", index.sizes,
           " does not fit the dimensions from ", axis, " on of shape ",
           view.sizes);
  Tensor places = nonzero(sameCall(tensor, call));
  for (uint32_t i = 0; i < index.rank(); ++i) {
    result.tensors.push_back(places.select(1, i, call.at));
    result.axes.push_back(axis++);
  }
}

static Indexed resolve(const Tensor &x, std::span<const Index> indices,
                       const Call &call) {
  int64_t omitted = omittedDimensions(use(x, call), indices, call);
  Indexed result{x, {}, {}, false};
  int64_t axis = 0; // Of the view as it is so far.
  for (const Index &index : indices) {
    switch (index.kind) {
    case Index::Kind::Integer:
      result.view = selected(use(result.view, call), axis, index.integer, call);
      break;
    case Index::Kind::Slice:
      result.view = sliced(use(result.view, call), axis++, index.slice, call);
      result.backwards |= index.slice.step < 0;
      break;
    case Index::Kind::None:
      result.view = result.view.unsqueeze(axis++, call.at);
      break;
    case Index::Kind::Ellipsis:
      axis += omitted;
      break;
    case Index::Kind::Tensor:
      addIndexTensor(result, index.tensor, axis, call);
      break;
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Index tensors
//===----------------------------------------------------------------------===//

namespace {

/// Several index tensors as tuples, and where the picked parts go.
struct Tuples {
  Tensor indices;   // [i…, k]
  Tensor view;      // With the indexed dimensions in front.
  uint32_t rank;    // Of i….
  int64_t position; // Of i… in the result.
};

} // namespace

static Tuples makeTuples(const Indexed &indexed, const Call &call) {
  Dims sizes = use(indexed.tensors[0], call).sizes;
  for (const Tensor &tensor : indexed.tensors)
    sizes = broadcastSizes(sizes, use(tensor, call).sizes, call);
  std::vector<Tensor> columns;
  for (const Tensor &tensor : indexed.tensors)
    columns.push_back(
        broadcastView(use(tensor, call), sizes, call).unsqueeze(-1, call.at));
  Tuples tuples;
  tuples.indices = concat(columns, -1, call.at);
  tuples.rank = sizes.size();

  const TensorImpl &view = use(indexed.view, call);
  const Dims &axes = indexed.axes;
  Dims order = axes;
  bool adjacent = true;
  for (uint32_t i = 1; i < axes.size(); ++i)
    adjacent &= axes[i] == axes[i - 1] + 1;
  for (int64_t i = 0; i < view.rank(); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end())
      order.push_back(i);
  tuples.view = permuted(view, order);
  tuples.position = adjacent ? axes[0] : 0;
  if (tuples.rank + view.rank() - axes.size() > TINH_MAX_RANK)
    fail(call, "the result would have more than ", TINH_MAX_RANK,
         " dimensions");
  return tuples;
}

/// [i…, rest…] with i… at `position`, or, `back`, the other way round.
static Dims orderOfParts(uint32_t indexRank, uint32_t rank, int64_t position,
                         bool back) {
  Dims order;
  uint32_t at = static_cast<uint32_t>(position);
  if (back) {
    for (uint32_t i = 0; i < indexRank; ++i)
      order.push_back(at + i);
    for (uint32_t i = 0; i < rank; ++i)
      if (i < at || i >= at + indexRank)
        order.push_back(i);
    return order;
  }
  for (uint32_t i = 0; i < at; ++i)
    order.push_back(indexRank + i);
  for (uint32_t i = 0; i < indexRank; ++i)
    order.push_back(i);
  for (uint32_t i = indexRank + at; i < rank; ++i)
    order.push_back(i);
  return order;
}

static void requireIndexable(const TensorImpl &x, uint32_t numIndexed,
                             const Call &call) {
  for (uint32_t i = 0; i < numIndexed; ++i)
    if (x.sizes[i] == 0)
      fail(call, "there is nothing to index in a dimension of 0 elements");
}

static Tensor pick(const Indexed &indexed, const Call &call) {
  if (indexed.tensors.size() == 1)
    return gathered(use(indexed.view, call), use(indexed.tensors[0], call),
                    indexed.axes[0], call);
  Tuples tuples = makeTuples(indexed, call);
  const TensorImpl &view = use(tuples.view, call);
  const TensorImpl &indices = use(tuples.indices, call);
  uint32_t count = indexed.axes.size();
  Dims sizes = indices.sizes;
  sizes.erase(sizes.size() - 1);
  for (uint32_t i = count; i < view.rank(); ++i)
    sizes.push_back(view.sizes[i]);
  Tensor out = makeTensor(view.dtype, sizes);
  if (sizes.product() != 0) {
    requireIndexable(view, count, call);
    perform(primitives::GatherNd{}, {&view, &indices}, use(out, call), call);
  }
  if (tuples.position == 0)
    return out;
  return permuted(use(out, call), orderOfParts(tuples.rank, sizes.size(),
                                               tuples.position, false));
}

Tensor Tensor::index(std::span<const Index> indices, At at) const {
  Call call{"index", at};
  use(*this, call);
  Indexed indexed = resolve(*this, indices, call);
  if (indexed.tensors.empty() && !indexed.backwards)
    return indexed.view;
  Tensor out = indexed.tensors.empty() ? indexed.view : pick(indexed, call);
  use(out, call).isIndexedCopy = true;
  return out;
}

Tensor Tensor::index(std::initializer_list<Index> indices, At at) const {
  return index(std::span<const Index>(indices.begin(), indices.size()), at);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// A mask alone, and one value for all elements: nothing depends on how many
/// there are.
static bool fillsMask(std::span<const Index> indices, const Operand &value,
                      const Call &call) {
  if (indices.size() != 1 || indices[0].kind != Index::Kind::Tensor ||
      use(indices[0].tensor, call).dtype != TINH_DTYPE_BOOL)
    return false;
  return !value.tensor() || use(*value.tensor(), call).rank() == 0;
}

static void fillMask(const Tensor &x, const Tensor &mask, const Operand &value,
                     const Call &call) {
  const TensorImpl &impl = use(x, call), &given = use(mask, call);
  Dims sizes = given.sizes;
  bool fits = given.rank() <= impl.rank();
  for (uint32_t i = 0; fits && i < given.rank(); ++i)
    fits = given.sizes[i] == impl.sizes[i];
  if (!fits)
    fail(call, "a mask of shape ", given.sizes,
         " does not fit the first dimensions of shape ", impl.sizes);
  while (sizes.size() < impl.rank())
    sizes.push_back(1);
  x.masked_fill_(sameCall(reshaped(given, sizes, call), call), value);
}

static void put(const Indexed &indexed, const Operand &value, bool accumulate,
                const Call &call) {
  Tuples tuples = makeTuples(indexed, call);
  TensorImpl &view = use(tuples.view, call);
  const TensorImpl &indices = use(tuples.indices, call);
  requireWritable(view, call);
  uint32_t count = indexed.axes.size();
  Dims picked = indices.sizes; // As gather_nd would give them.
  picked.erase(picked.size() - 1);
  for (uint32_t i = count; i < view.rank(); ++i)
    picked.push_back(view.sizes[i]);
  Dims order = orderOfParts(tuples.rank, picked.size(), tuples.position, false);
  Dims sizes = order; // As index() would.
  for (uint32_t i = 0; i < order.size(); ++i)
    sizes[i] = picked[order[i]];
  Tensor source = toTensor(value, view.dtype, call);
  Tensor broadcast = broadcastView(use(source, call), sizes, call);
  Tensor updates =
      permuted(use(broadcast, call),
               orderOfParts(tuples.rank, sizes.size(), tuples.position, true));
  if (sizes.product() == 0)
    return;
  requireIndexable(view, count, call);
  Tensor separate = withoutOverlap(view, use(updates, call), call);
  Tensor places = withoutOverlap(view, indices, call);
  ScatterOp op = accumulate ? ScatterOp::Add : ScatterOp::Assign;
  perform(primitives::ScatterNd{op},
          {&view, &use(places, call), &use(separate, call)}, view, call);
}

void Tensor::index_put_(std::span<const Index> indices, Operand value,
                        bool accumulate) const {
  Call call{"index_put_", value.at};
  use(*this, call);
  if (!accumulate && fillsMask(indices, value, call))
    return fillMask(*this, indices[0].tensor, value, call);
  Indexed indexed = resolve(*this, indices, call);
  if (indexed.backwards)
    fail(call, "a slice backwards is a copy, to write which would be lost; "
               "write flip() of the value to the slice forwards");
  if (!indexed.tensors.empty())
    put(indexed, value, accumulate, call);
  else if (accumulate)
    indexed.view.add_(value);
  else
    indexed.view.copy_(value);
}

void Tensor::index_put_(std::initializer_list<Index> indices, Operand value,
                        bool accumulate) const {
  index_put_(std::span<const Index>(indices.begin(), indices.size()), value,
             accumulate);
}

void Tensor::operator=(Operand value) && {
  Call call{"operator=", value.at};
  if (use(*this, call).isIndexedCopy)
    fail(call, "what an index tensor, a mask or a slice backwards gives is a "
               "copy, to write which would be lost; use index_put_");
  copy_(value);
}
