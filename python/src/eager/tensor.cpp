//===- tensor.cpp - The class Tensor for Python -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bindings.h"
#include "model/arrays.h"
#include "operations.h"

#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <dlpack/dlpack.h>

#include <numeric>

namespace tinh::python {

namespace {

using OptionalDType = std::optional<DType>;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

nb::object to_numpy(const Tensor &x) {
  At at = here();
  Shape shape = x.shape(at);
  tinh_tensor_info_t info = {};
  info.dtype = x.dtype(at);
  info.rank = static_cast<uint32_t>(shape.size());
  info.dims = shape.begin();
  info.size = x.nbytes(at);
  info.name = "numpy";
  nb::object array = numpy_empty(info);
  Borrowed memory;
  memory.write(array, Argument(info, "Tensor"));
  without_gil([&] { x.copy_to(memory.buffer().data, at); });
  return array;
}

nb::object to_array(const Tensor &x, nb::object dtype, nb::object copy) {
  if (!copy.is_none() && !nb::cast<bool>(copy))
    throw nb::value_error("an array of a tensor's elements is a copy; "
                          "np.from_dlpack gives one that shares them");
  nb::object array = to_numpy(x);
  return dtype.is_none() ? array : array.attr("astype")(dtype);
}

/// The only element, as a number of Python's.
nb::object item(const Tensor &x) {
  At at = here();
  DType dtype = x.dtype(at);
  if (dtype == boolean)
    return nb::bool_(without_gil([&] { return x.item<bool>(at); }));
  if (dtype.is_floating_point())
    return nb::float_(without_gil([&] { return x.item<double>(at); }));
  if (dtype == uint64)
    return nb::int_(without_gil([&] { return x.item<uint64_t>(at); }));
  return nb::int_(without_gil([&] { return x.item<int64_t>(at); }));
}

bool truth(const Tensor &x) {
  At at = here();
  if (x.numel(at) != 1)
    throw nb::value_error("whether a tensor of several elements is true is not "
                          "said: use .any() or .all()");
  return without_gil([&] { return x.to(boolean, at).item<bool>(at); });
}

/// As an index: of a tensor of one integer.
nb::int_ index_of(const Tensor &x) {
  At at = here();
  if (!x.dtype(at).is_integer() || x.dim(at) != 0)
    throw nb::type_error("only an integer tensor of rank 0 is an index");
  return nb::int_(without_gil([&] { return x.item<int64_t>(at); }));
}

/// As NumPy prints an array, with its options.
std::string print(const Tensor &x) {
  At at = here();
  if (!x.defined())
    return "tensor()";
  DType dtype = x.dtype(at);
  Device device = x.device(at);
  nb::object array = to_numpy(
      dtype == bfloat16 ? without_gil([&] { return x.to(float32, at); }) : x);
  nb::object text = nb::module_::import_("numpy").attr("array2string")(
      array, nb::arg("separator") = ", ", nb::arg("prefix") = "tensor(");
  std::string result = std::string("tensor(") + nb::str(text).c_str();
  if (dtype != float32 && dtype != int64 && dtype != boolean)
    result += std::string(", dtype=") + dtype.name();
  if (device.is_cuda())
    result += ", device=" + to_string(device);
  return result + ")";
}

//===----------------------------------------------------------------------===//
// DLPack
//===----------------------------------------------------------------------===//

nb::object to_capsule(const Tensor &x, nb::kwargs) {
  At at = here();
  DLManagedTensor *made = without_gil([&] { return to_dlpack(x, at); });
  PyObject *capsule = PyCapsule_New(made, "dltensor", [](PyObject *object) {
    if (!PyCapsule_IsValid(object, "dltensor"))
      return; // Taken.
    auto *tensor = static_cast<DLManagedTensor *>(
        PyCapsule_GetPointer(object, "dltensor"));
    tensor->deleter(tensor);
  });
  if (!capsule) {
    made->deleter(made);
    nb::raise_python_error();
  }
  return nb::steal(capsule);
}

nb::object dlpack_device(const Tensor &x) {
  Device device = x.device(here());
  if (device.is_cpu())
    return nb::make_tuple(int(kDLCPU), 0);
  return nb::make_tuple(int(kDLCUDA), device.index());
}

/// Memory of Python's whose owner may be let go of on any thread.
struct Lent {
  DLManagedTensor tensor;
  DLManagedTensor *lender;
};

/// Returns memory to Python, where that is still there.
void give_back(DLManagedTensor *tensor) {
  auto *lent = static_cast<Lent *>(tensor->manager_ctx);
  if (WithGil gil; gil && lent->lender->deleter)
    lent->lender->deleter(lent->lender);
  delete lent;
}

Tensor from_capsule(nb::handle object) {
  At at = here();
  nb::object capsule = nb::hasattr(object, "__dlpack__")
                           ? nb::object(object.attr("__dlpack__")())
                           : nb::borrow(object);
  auto *tensor = static_cast<DLManagedTensor *>(
      PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!tensor)
    nb::raise_python_error();
  auto lent = std::make_unique<Lent>(Lent{*tensor, tensor});
  lent->tensor.manager_ctx = lent.get();
  lent->tensor.deleter = &give_back;
  Tensor made = from_dlpack(&lent->tensor, at); // Or throws: it stays theirs.
  lent.release();
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  PyCapsule_SetDestructor(capsule.ptr(), nullptr);
  return made;
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

Slice::Bound to_bound(nb::handle value) {
  if (value.is_none())
    return None;
  return nb::cast<int64_t>(nb::steal(PyNumber_Index(value.ptr())));
}

Index to_index(nb::handle key) {
  if (key.is_none())
    return None;
  if (key.is(Py_Ellipsis))
    return Ellipsis;
  if (PySlice_Check(key.ptr())) {
    nb::object step = key.attr("step");
    return Slice(to_bound(key.attr("start")), to_bound(key.attr("stop")),
                 step.is_none() ? 1 : nb::cast<int64_t>(step));
  }
  if (nb::isinstance<Tensor>(key))
    return nb::cast<const Tensor &>(key);
  if (PyLong_Check(key.ptr()) && !PyBool_Check(key.ptr()))
    return nb::cast<int64_t>(key);
  if (!nb::hasattr(key, "shape") && PyIndex_Check(key.ptr()) &&
      !PyBool_Check(key.ptr()))
    return nb::cast<int64_t>(nb::steal(PyNumber_Index(key.ptr())));
  return make_tensor(key, std::nullopt);
}

} // namespace

std::vector<Index> to_indices(nb::handle key) {
  std::vector<Index> indices;
  if (!nb::isinstance<nb::tuple>(key)) {
    indices.push_back(to_index(key));
    return indices;
  }
  for (nb::handle part : nb::borrow<nb::tuple>(key))
    indices.push_back(to_index(part));
  return indices;
}

namespace {

Tensor get_item(const Tensor &x, nb::handle key) {
  At at = here();
  std::vector<Index> indices = to_indices(key);
  return without_gil([&] { return x.index(indices, at); });
}

void set_item(const Tensor &x, nb::handle key, const Given &value) {
  std::vector<Index> indices = to_indices(key);
  without_gil([&] { x.index_put_(std::span<const Index>(indices), value); });
}

nb::tuple shape_of(const Tensor &x) {
  nb::list extents;
  for (int64_t extent : x.shape(here()))
    extents.append(extent);
  return nb::tuple(extents);
}

Py_ssize_t length(const Tensor &x) {
  At at = here();
  if (x.dim(at) == 0)
    throw nb::type_error("a tensor of rank 0 has no length");
  return x.size(0, at);
}

nb::object iterate(nb::handle self) {
  const Tensor &x = nb::cast<const Tensor &>(self);
  nb::list rows;
  for (Py_ssize_t i = 0, count = length(x); i < count; ++i)
    rows.append(nb::cast(x.select(0, i, here())));
  return nb::steal(PyObject_GetIter(rows.ptr()));
}

} // namespace

void bind_tensors(nb::module_ &module) {
  nb::class_<Tensor> tensor(
      module, "Tensor",
      "An array whose operations are queued and run asynchronously: what asks\n"
      "for elements waits. Views share memory. A call of tinh.tensor makes "
      "one.");
  tensor
      .def(
          "__init__",
          [](Tensor *self, nb::handle data, std::optional<DType> dtype) {
            if (nb::isinstance<Tensor>(data) && !dtype)
              new (self) Tensor(nb::cast<const Tensor &>(data));
            else
              new (self) Tensor(make_tensor(data, dtype));
          },
          nb::arg("data"), nb::arg("dtype") = nb::none(),
          "That tensor itself, or what tinh.tensor makes.")
      .def_prop_ro("shape", &shape_of,
                   nb::sig("def shape(self) -> tuple[int, ...]"),
                   "Extents, in elements.")
      .def_prop_ro("dtype", [](const Tensor &x) { return x.dtype(here()); })
      .def_prop_ro("device", [](const Tensor &x) { return x.device(here()); })
      .def_prop_ro("ndim", [](const Tensor &x) { return x.dim(here()); })
      .def_prop_ro("size", [](const Tensor &x) { return x.numel(here()); })
      .def_prop_ro("nbytes", [](const Tensor &x) { return x.nbytes(here()); })
      .def_prop_ro(
          "T",
          [](const Tensor &x) {
            std::vector<int64_t> order(static_cast<size_t>(x.dim()));
            std::iota(order.rbegin(), order.rend(), 0);
            return x.permute(order, here());
          },
          "All dimensions in the opposite order, as in NumPy.")
      .def_prop_ro(
          "mT", [](const Tensor &x) { return x.mT(here()); },
          "The last two dimensions swapped.")
      .def("numpy", &to_numpy, nb::sig("def numpy(self) -> NDArray"),
           "A copy as an array of NumPy's. Waits.")
      .def("__array__", &to_array, nb::arg("dtype") = nb::none(),
           nb::arg("copy") = nb::none())
      .def("__dlpack__", &to_capsule, nb::arg("options"))
      .def("__dlpack_device__", &dlpack_device)
      .def(
          "tolist",
          [](const Tensor &x) { return to_numpy(x).attr("tolist")(); },
          nb::sig("def tolist(self) -> list"),
          "All elements as nested lists. Waits.")
      .def("item", &item, nb::sig("def item(self) -> bool | int | float"),
           "The only element, as a number. Waits.")
      .def("__float__", [](const Tensor &x) { return nb::float_(item(x)); })
      .def("__int__", [](const Tensor &x) { return nb::int_(item(x)); })
      .def("__bool__", &truth)
      .def("__index__", &index_of)
      .def("__len__", &length)
      .def("__iter__", &iterate)
      .def("__repr__", &print)
      .def("__getitem__", &get_item, nb::arg("key").none())
      .def("__setitem__", &set_item, nb::arg("key").none(), nb::arg("value"))
      .def(
          "wait_to_read",
          [](const Tensor &x) {
            At at = here();
            without_gil([&] { x.wait_to_read(at); });
          },
          "Returns when the elements are there; raises what kept them from it.")
      .def("clone",
           [](const Tensor &x) {
             At at = here();
             return without_gil([&] { return x.clone(at); });
           })
      .def(
          "to",
          [](const Tensor &x, nb::handle target) {
            At at = here();
            if (is_device(target)) {
              Device device = to_device(target);
              return without_gil([&] { return x.to(device, at); });
            }
            DType dtype = to_dtype(target);
            return without_gil([&] { return x.to(dtype, at); });
          },
          nb::arg("target"), "Of another dtype, or on another device.")
      .def(
          "astype",
          [](const Tensor &x, DType dtype) { return x.to(dtype, here()); },
          nb::arg("dtype"));
  module.def("tensor", &make_tensor, nb::arg("data"),
             nb::arg("dtype") = nb::none(),
             "A tensor of the elements of an array, nested lists or a number:\n"
             "a copy. Lists of Python's floats are f32, of integers i64.");
  module.def("from_dlpack", &from_capsule, nb::arg("array"),
             "A tensor on the memory of an array with __dlpack__.");
  Operations ops(module, tensor);
  bind_elementwise(ops);
  bind_operators(ops);
  bind_reductions(ops);
  bind_movement(ops);
  bind_indexing(ops);
  bind_products(ops);
  bind_windows(module);
  bind_losses(module);
  bind_creation(module);
  bind_engine(module);
}

} // namespace tinh::python
