//===- operations.cpp - Operations on tensors for Python --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Those of tinh/operations.h, under their names, and as operators and methods.
// The header says what they do.
//
//===----------------------------------------------------------------------===//
#include "tensors.h"

#include "tinh/losses.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tinh::python {

namespace {

using Unary = Tensor (*)(Operand);
using Binary = Tensor (*)(Operand, Operand);
using Reduction = Tensor (*)(Operand, const Axes &, bool);
using Extreme = Tensor (*)(Operand, std::optional<int64_t>, bool);
using Joined = Tensor (*)(std::span<const Tensor>, int64_t, At);

template <Unary F> Tensor unary(const Given &x) { return F(x); }
template <Binary F> Tensor binary(const Given &a, const Given &b) {
  return F(a, b);
}
template <Binary F> Tensor reflected(const Given &a, const Given &b) {
  return F(b, a);
}
template <Reduction F>
Tensor reduction(const Given &x, const Axes &axis, bool keepdims) {
  return F(x, axis, keepdims);
}
template <Extreme F>
Tensor extreme(const Given &x, std::optional<int64_t> axis, bool keepdims) {
  return F(x, axis, keepdims);
}
template <Joined F>
Tensor joined(const std::vector<Tensor> &tensors, int64_t axis) {
  At at = here();
  return without_gil([&] { return F(tensors, axis, at); });
}

/// Functions of a module, which are methods of Tensor as well.
class Operations {
public:
  Operations(nb::module_ &module, nb::class_<Tensor> &tensor)
      : module(module), tensor(tensor) {}

  /// `self` is the name of the first argument, which is a method's own tensor.
  template <typename F, typename... Extra>
  Operations &def(const char *name, F function, nb::arg self,
                  const Extra &...extra) {
    module.def(name, function, self, extra..., Queues());
    tensor.def(name, function, extra..., Queues());
    return *this;
  }
  template <Unary F> Operations &unary(const char *name) {
    return def(name, &python::unary<F>, nb::arg("x"));
  }
  template <Binary F> Operations &binary(const char *name) {
    return def(name, &python::binary<F>, nb::arg("a"), nb::arg("b"));
  }
  template <Reduction F> Operations &reduction(const char *name) {
    return def(name, &python::reduction<F>, nb::arg("x"),
               nb::arg("axis") = nb::none(), nb::arg("keepdims") = false);
  }
  template <Binary F>
  Operations &op(const char *name, const char *reflectedName = nullptr) {
    tensor.def(name, &python::binary<F>, nb::is_operator(), nb::arg("b"),
               Queues());
    if (reflectedName)
      tensor.def(reflectedName, &reflected<F>, nb::is_operator(), nb::arg("b"),
                 Queues());
    return *this;
  }
  template <Unary F> Operations &op(const char *name) {
    tensor.def(name, &python::unary<F>, Queues());
    return *this;
  }
  template <auto F> Operations &inPlace(const char *name) {
    tensor.def(
        name,
        [](nb::object self, const Given &value) {
          const Tensor &x = nb::cast<const Tensor &>(self);
          without_gil([&] { (x.*F)(value); });
          return self;
        },
        nb::arg("value"));
    return *this;
  }

private:
  nb::module_ &module;
  nb::class_<Tensor> &tensor;
};

void bind_elementwise(Operations &ops) {
  ops.binary<&add>("add").binary<&sub>("sub").binary<&mul>("mul");
  ops.binary<&div>("div").binary<&floor_divide>("floor_divide");
  ops.binary<&remainder>("remainder").binary<&fmod>("fmod");
  ops.binary<&pow>("pow").binary<&minimum>("minimum");
  ops.binary<&maximum>("maximum");
  ops.binary<&eq>("eq").binary<&ne>("ne").binary<&lt>("lt").binary<&le>("le");
  ops.binary<&gt>("gt").binary<&ge>("ge");
  ops.binary<&logical_and>("logical_and").binary<&logical_or>("logical_or");
  ops.binary<&logical_xor>("logical_xor").unary<&logical_not>("logical_not");
  ops.binary<&bitwise_and>("bitwise_and").binary<&bitwise_or>("bitwise_or");
  ops.binary<&bitwise_xor>("bitwise_xor").unary<&bitwise_not>("bitwise_not");
  ops.binary<&bitwise_left_shift>("bitwise_left_shift");
  ops.binary<&bitwise_right_shift>("bitwise_right_shift");
  ops.unary<&isnan>("isnan").unary<&isinf>("isinf").unary<&isfinite>(
      "isfinite");
  ops.unary<&neg>("neg").unary<&abs>("abs").unary<&sign>("sign");
  ops.unary<&square>("square").unary<&relu>("relu").unary<&round>("round");
  ops.unary<&floor>("floor").unary<&ceil>("ceil").unary<&trunc>("trunc");
  ops.unary<&exp>("exp").unary<&exp2>("exp2").unary<&expm1>("expm1");
  ops.unary<&log>("log").unary<&log2>("log2").unary<&log10>("log10");
  ops.unary<&log1p>("log1p").unary<&sqrt>("sqrt").unary<&rsqrt>("rsqrt");
  ops.unary<&reciprocal>("reciprocal").unary<&erf>("erf");
  ops.unary<&sin>("sin").unary<&cos>("cos").unary<&tan>("tan");
  ops.unary<&asin>("asin").unary<&acos>("acos").unary<&atan>("atan");
  ops.unary<&sinh>("sinh").unary<&cosh>("cosh").unary<&tanh>("tanh");
  ops.unary<&asinh>("asinh").unary<&acosh>("acosh").unary<&atanh>("atanh");
  ops.unary<&sigmoid>("sigmoid").unary<&softplus>("softplus");
  ops.unary<&silu>("silu");
  ops.def(
      "gelu",
      [](const Given &x, bool approximate) { return gelu(x, approximate); },
      nb::arg("x"), nb::arg("tanh_approximation") = false);
  ops.def(
      "leaky_relu",
      [](const Given &x, double slope) { return leaky_relu(x, slope); },
      nb::arg("x"), nb::arg("slope") = 0.01);
  ops.def(
      "elu", [](const Given &x, double alpha) { return elu(x, alpha); },
      nb::arg("x"), nb::arg("alpha") = 1.0);
  ops.def(
      "where",
      [](const Given &condition, const Given &a, const Given &b) {
        return where(condition, a, b);
      },
      nb::arg("condition"), nb::arg("a"), nb::arg("b"));
  ops.def(
      "clamp",
      [](const Given &x, const Given &low, const Given &high) {
        return clamp(x, low, high);
      },
      nb::arg("x"), nb::arg("low"), nb::arg("high"));
  ops.def(
      "masked_fill",
      [](const Given &x, const Given &mask, const Given &value) {
        return masked_fill(x, mask, value);
      },
      nb::arg("x"), nb::arg("mask"), nb::arg("value"));
  ops.def(
      "lerp",
      [](const Given &a, const Given &b, const Given &weight) {
        return lerp(a, b, weight);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("weight"));
  ops.def(
      "allclose",
      [](const Given &a, const Given &b, double rtol, double atol,
         bool equal_nan) { return allclose(a, b, rtol, atol, equal_nan); },
      nb::arg("a"), nb::arg("b"), nb::arg("rtol") = 1e-5,
      nb::arg("atol") = 1e-8, nb::arg("equal_nan") = false);
  ops.def(
      "equal", [](const Given &a, const Given &b) { return equal(a, b); },
      nb::arg("a"), nb::arg("b"));
}

void bind_operators(Operations &ops) {
  ops.op<&add>("__add__", "__radd__").op<&sub>("__sub__", "__rsub__");
  ops.op<&mul>("__mul__", "__rmul__").op<&div>("__truediv__", "__rtruediv__");
  ops.op<&floor_divide>("__floordiv__", "__rfloordiv__");
  ops.op<&remainder>("__mod__", "__rmod__").op<&pow>("__pow__", "__rpow__");
  ops.op<&matmul>("__matmul__", "__rmatmul__");
  ops.op<&eq>("__eq__").op<&ne>("__ne__").op<&lt>("__lt__").op<&le>("__le__");
  ops.op<&gt>("__gt__").op<&ge>("__ge__");
  ops.op<&bitwise_and>("__and__", "__rand__");
  ops.op<&bitwise_or>("__or__", "__ror__");
  ops.op<&bitwise_xor>("__xor__", "__rxor__");
  ops.op<&bitwise_left_shift>("__lshift__", "__rlshift__");
  ops.op<&bitwise_right_shift>("__rshift__", "__rrshift__");
  ops.op<&neg>("__neg__").op<&bitwise_not>("__invert__").op<&abs>("__abs__");
  ops.inPlace<&Tensor::add_>("__iadd__").inPlace<&Tensor::sub_>("__isub__");
  ops.inPlace<&Tensor::mul_>("__imul__").inPlace<&Tensor::div_>("__itruediv__");
  ops.inPlace<&Tensor::add_>("add_").inPlace<&Tensor::sub_>("sub_");
  ops.inPlace<&Tensor::mul_>("mul_").inPlace<&Tensor::div_>("div_");
  ops.inPlace<&Tensor::copy_>("copy_").inPlace<&Tensor::fill_>("fill_");
  ops.inPlace<&Tensor::pow_>("pow_").inPlace<&Tensor::maximum_>("maximum_");
  ops.inPlace<&Tensor::minimum_>("minimum_");
}

void bind_reductions(Operations &ops) {
  ops.reduction<&sum>("sum").reduction<&prod>("prod").reduction<&mean>("mean");
  ops.reduction<&max>("max").reduction<&min>("min").reduction<&any>("any");
  ops.reduction<&all>("all").reduction<&count_nonzero>("count_nonzero");
  ops.reduction<&logsumexp>("logsumexp");
  for (auto [name, function] :
       {std::pair("argmax", &extreme<&argmax>), {"argmin", &extreme<&argmin>}})
    ops.def(name, function, nb::arg("x"), nb::arg("axis") = nb::none(),
            nb::arg("keepdims") = false);
  ops.def(
      "var",
      [](const Given &x, const Axes &axis, bool keepdims, double correction) {
        return var(x, axis, keepdims, correction);
      },
      nb::arg("x"), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false,
      nb::arg("correction") = 1.0, "Of count - correction: 0 is NumPy's.");
  ops.def(
      "std",
      [](const Given &x, const Axes &axis, bool keepdims, double correction) {
        return tinh::std(x, axis, keepdims, correction);
      },
      nb::arg("x"), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false,
      nb::arg("correction") = 1.0);
  ops.def(
      "norm",
      [](const Given &x, double p, const Axes &axis, bool keepdims) {
        return norm(x, p, axis, keepdims);
      },
      nb::arg("x"), nb::arg("p") = 2.0, nb::arg("axis") = nb::none(),
      nb::arg("keepdims") = false);
  ops.def(
      "cumsum", [](const Given &x, int64_t axis) { return cumsum(x, axis); },
      nb::arg("x"), nb::arg("axis"));
  ops.def(
      "softmax", [](const Given &x, int64_t axis) { return softmax(x, axis); },
      nb::arg("x"), nb::arg("axis"));
  ops.def(
      "log_softmax",
      [](const Given &x, int64_t axis) { return log_softmax(x, axis); },
      nb::arg("x"), nb::arg("axis"));
  ops.def(
      "sort",
      [](const Given &x, int64_t axis, bool descending) {
        ValuesAndIndices sorted = sort(x, axis, descending);
        return std::pair(sorted.values, sorted.indices);
      },
      nb::arg("x"), nb::arg("axis") = -1, nb::arg("descending") = false,
      "The values in order, and where they were.");
  ops.def(
      "topk",
      [](const Given &x, int64_t count, int64_t axis, bool largest) {
        ValuesAndIndices top = topk(x, count, axis, largest);
        return std::pair(top.values, top.indices);
      },
      nb::arg("x"), nb::arg("count"), nb::arg("axis") = -1,
      nb::arg("largest") = true);
}

void bind_movement(Operations &ops) {
  ops.def(
      "reshape",
      [](const Given &x, const Shape &shape) {
        return x.as_tensor().reshape(shape, x.place());
      },
      nb::arg("x"), nb::arg("shape"), "One extent may be -1, to be found.");
  ops.def(
      "transpose",
      [](const Given &x, int64_t a, int64_t b) {
        return x.as_tensor().transpose(a, b, x.place());
      },
      nb::arg("x"), nb::arg("a"), nb::arg("b"), "Two axes swapped.");
  ops.def(
      "permute",
      [](const Given &x, const Axes &axes) {
        return x.as_tensor().permute(axes, x.place());
      },
      nb::arg("x"), nb::arg("axes"));
  ops.def(
      "flatten",
      [](const Given &x, int64_t first, int64_t last) {
        return x.as_tensor().flatten(first, last, x.place());
      },
      nb::arg("x"), nb::arg("first") = 0, nb::arg("last") = -1);
  ops.def(
      "squeeze",
      [](const Given &x, const Axes &axis) {
        return x.as_tensor().squeeze(axis, x.place());
      },
      nb::arg("x"), nb::arg("axis") = nb::none());
  ops.def(
      "unsqueeze",
      [](const Given &x, int64_t axis) {
        return x.as_tensor().unsqueeze(axis, x.place());
      },
      nb::arg("x"), nb::arg("axis"));
  ops.def(
      "broadcast_to",
      [](const Given &x, const Shape &shape) { return broadcast_to(x, shape); },
      nb::arg("x"), nb::arg("shape"));
  ops.def(
      "flip", [](const Given &x, const Axes &axis) { return flip(x, axis); },
      nb::arg("x"), nb::arg("axis"));
  ops.def(
      "roll",
      [](const Given &x, const IntArray &shifts, const Axes &axis) {
        return roll(x, shifts, axis);
      },
      nb::arg("x"), nb::arg("shifts"), nb::arg("axis"));
  ops.def(
      "tile",
      [](const Given &x, const IntArray &times) { return tile(x, times); },
      nb::arg("x"), nb::arg("times"));
  ops.def(
      "tril",
      [](const Given &x, int64_t diagonal) { return tril(x, diagonal); },
      nb::arg("x"), nb::arg("diagonal") = 0);
  ops.def(
      "triu",
      [](const Given &x, int64_t diagonal) { return triu(x, diagonal); },
      nb::arg("x"), nb::arg("diagonal") = 0);
  ops.def(
      "gather",
      [](const Given &x, int64_t axis, const Given &index) {
        return gather(x, axis, index);
      },
      nb::arg("x"), nb::arg("axis"), nb::arg("index"));
  ops.def(
      "index_select",
      [](const Given &x, int64_t axis, const Given &index) {
        return index_select(x, axis, index);
      },
      nb::arg("x"), nb::arg("axis"), nb::arg("index"));
  ops.def(
      "split",
      [](const Given &x, int64_t size, int64_t axis) {
        return split(x, size, axis);
      },
      nb::arg("x"), nb::arg("size"), nb::arg("axis") = 0);
  ops.def(
      "one_hot",
      [](const Given &x, int64_t classes) { return one_hot(x, classes); },
      nb::arg("x"), nb::arg("classes"));
}

void bind_products(Operations &ops, nb::module_ &m) {
  ops.binary<&matmul>("matmul").binary<&bmm>("bmm").binary<&dot>("dot");
  ops.binary<&outer>("outer").binary<&embedding>("embedding");
  m.def("concat", &joined<static_cast<Joined>(&concat)>, nb::arg("tensors"),
        nb::arg("axis") = 0);
  m.def("stack", &joined<static_cast<Joined>(&stack)>, nb::arg("tensors"),
        nb::arg("axis") = 0, "Along a new dimension.");
  m.def(
      "linear",
      [](const Given &x, const Given &weights, std::optional<Tensor> bias) {
        return linear(x, weights, bias.value_or(Tensor()));
      },
      nb::arg("x"), nb::arg("weights"), nb::arg("bias") = nb::none(), Queues(),
      "x · weightsᵀ + bias; weights are [out, in].");
  m.def(
      "conv2d",
      [](const Given &x, const Given &weights, std::optional<Tensor> bias,
         const IntArray &stride, const IntArray &padding,
         const IntArray &dilation, int64_t groups) {
        return conv2d(x, weights, bias.value_or(Tensor()), stride, padding,
                      dilation, groups);
      },
      nb::arg("x"), nb::arg("weights"), nb::arg("bias") = nb::none(),
      nb::arg("stride") = 1, nb::arg("padding") = 0, nb::arg("dilation") = 1,
      nb::arg("groups") = 1, Queues());
  m.def(
      "max_pool2d",
      [](const Given &x, const IntArray &kernel, const IntArray &stride,
         const IntArray &padding) {
        return max_pool2d(x, kernel, stride, padding);
      },
      nb::arg("x"), nb::arg("kernel"), nb::arg("stride") = nb::none(),
      nb::arg("padding") = 0, Queues());
  m.def(
      "avg_pool2d",
      [](const Given &x, const IntArray &kernel, const IntArray &stride,
         const IntArray &padding) {
        return avg_pool2d(x, kernel, stride, padding);
      },
      nb::arg("x"), nb::arg("kernel"), nb::arg("stride") = nb::none(),
      nb::arg("padding") = 0, Queues());
  m.def(
      "layer_norm",
      [](const Given &x, const Shape &shape, std::optional<Tensor> weights,
         std::optional<Tensor> bias, double epsilon) {
        return layer_norm(x, shape, weights.value_or(Tensor()),
                          bias.value_or(Tensor()), epsilon);
      },
      nb::arg("x"), nb::arg("shape"), nb::arg("weights") = nb::none(),
      nb::arg("bias") = nb::none(), nb::arg("epsilon") = 1e-5, Queues());
  m.def(
      "scaled_dot_product_attention",
      [](const Given &query, const Given &key, const Given &value,
         std::optional<Tensor> mask, bool causal, std::optional<double> scale) {
        return scaled_dot_product_attention(
            query, key, value, mask.value_or(Tensor()), causal, scale);
      },
      nb::arg("query"), nb::arg("key"), nb::arg("value"),
      nb::arg("mask") = nb::none(), nb::arg("causal") = false,
      nb::arg("scale") = nb::none(), Queues());
  m.def(
      "mse_loss",
      [](const Given &x, const Given &target) {
        AtScope scope(x.place());
        return mse_loss(x, target);
      },
      nb::arg("x"), nb::arg("target"), Queues());
  m.def(
      "cross_entropy",
      [](const Given &logits, const Given &target, double smoothing) {
        AtScope scope(logits.place());
        return cross_entropy(logits, target, {.label_smoothing = smoothing});
      },
      nb::arg("logits"), nb::arg("target"), nb::arg("label_smoothing") = 0.0,
      Queues(), "Of logits [N, C, …] and class indices or probabilities.");
}

void bind_creation(nb::module_ &m) {
  for (auto [name, function] :
       {std::pair("zeros",
                  static_cast<Tensor (*)(const Shape &, DType, At)>(&zeros)),
        {"ones", static_cast<Tensor (*)(const Shape &, DType, At)>(&ones)},
        {"empty", static_cast<Tensor (*)(const Shape &, DType, At)>(&empty)}})
    m.def(
        name,
        [function](const Shape &shape, DType dtype) {
          At at = here();
          return without_gil([&] { return function(shape, dtype, at); });
        },
        nb::arg("shape"), nb::arg("dtype") = "f32");
  m.def(
      "full",
      [](const Shape &shape, const Given &value, std::optional<DType> dtype) {
        At at = here();
        Number number = Operand(value).number();
        return without_gil([&] { return full(shape, number, dtype, at); });
      },
      nb::arg("shape"), nb::arg("value"), nb::arg("dtype") = nb::none());
  m.def(
      "arange",
      [](const Given &start, std::optional<Given> stop, const Given &step,
         std::optional<DType> dtype) {
        At at = here();
        Number first = stop ? Operand(start).number() : Number(0);
        Number last = Operand(stop ? *stop : start).number();
        Number by = Operand(step).number();
        return without_gil([&] { return arange(first, last, by, dtype, at); });
      },
      nb::arg("start"), nb::arg("stop") = nb::none(), nb::arg("step") = 1,
      nb::arg("dtype") = nb::none());
  m.def(
      "linspace",
      [](double start, double stop, int64_t count, DType dtype) {
        At at = here();
        return without_gil(
            [&] { return linspace(start, stop, count, dtype, at); });
      },
      nb::arg("start"), nb::arg("stop"), nb::arg("count"),
      nb::arg("dtype") = "f32");
  m.def(
      "eye",
      [](int64_t rows, std::optional<int64_t> columns, DType dtype) {
        At at = here();
        return without_gil([&] { return eye(rows, columns, dtype, at); });
      },
      nb::arg("rows"), nb::arg("columns") = nb::none(),
      nb::arg("dtype") = "f32");
}

} // namespace

void bind_operations(nb::module_ &module, nb::class_<Tensor> &tensor) {
  Operations ops(module, tensor);
  bind_elementwise(ops);
  bind_operators(ops);
  bind_reductions(ops);
  bind_movement(ops);
  bind_products(ops, module);
  bind_creation(module);
}

} // namespace tinh::python
