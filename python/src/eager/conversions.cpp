//===- conversions.cpp - Python's values as arguments -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "model/arrays.h"
#include "tensors.h"

#include <bit>
#include <unordered_map>

namespace tinh::python {

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// As libstdc++ has it behind a std::source_location. There is no other way to
/// make one for code that is not C++'s.
struct Place {
  const char *file;
  const char *function;
  unsigned line;
  unsigned column;
};
static_assert(sizeof(At) == sizeof(const Place *));

namespace {

/// A file's name, an object of Python's that is kept, and a line.
struct Line {
  PyObject *file;
  int line;

  bool operator==(const Line &) const = default;
};
struct LineHash {
  size_t operator()(const Line &at) const {
    return std::hash<void *>()(at.file) * 31 + static_cast<size_t>(at.line);
  }
};

/// A place, and whether it is in this package, which is not what errors are
/// about.
struct Known {
  Place place;
  bool isOwn;
};

} // namespace

/// The folder of the package's files, with a slash.
static std::string package_folder() {
  auto module = nb::module_::import_("tinh");
  std::string file = nb::cast<std::string>(module.attr("__file__"));
  return file.substr(0, file.rfind('/') + 1);
}

/// What is known of the line that a frame is at. Guarded by the GIL, and kept
/// for good: who has a place does not own it.
static const Known &known_line(PyFrameObject *frame) {
  static PyObject *attribute = PyUnicode_InternFromString("co_filename");
  static auto *places = new std::unordered_map<Line, Known, LineHash>;
  auto code = nb::steal(reinterpret_cast<PyObject *>(PyFrame_GetCode(frame)));
  nb::object name = nb::steal(PyObject_GetAttr(code.ptr(), attribute));
  Line line = {name.ptr(), PyFrame_GetLineNumber(frame)};
  auto [entry, isNew] = places->try_emplace(line);
  if (isNew) {
    static const std::string package = package_folder();
    const char *file = PyUnicode_AsUTF8AndSize(name.release().ptr(), nullptr);
    if (!file)
      PyErr_Clear(); // A name that is no UTF-8.
    entry->second = {
        {file ? file : "?", "", static_cast<unsigned>(line.line), 0},
        file && std::string_view(file).starts_with(package)};
  }
  return entry->second;
}

At here() {
  PyFrameObject *frame = PyEval_GetFrame();
  if (!frame)
    return At::current();
  const Known *known = &known_line(frame);
  for (nb::object outer; known->isOwn;) {
    outer = nb::handle(reinterpret_cast<PyObject *>(frame)).attr("f_back");
    if (outer.is_none())
      break; // Of Tinh's own programs.
    frame = reinterpret_cast<PyFrameObject *>(outer.ptr());
    known = &known_line(frame);
  }
  return std::bit_cast<At>(&known->place);
}

//===----------------------------------------------------------------------===//
// Dtypes, sizes, devices
//===----------------------------------------------------------------------===//

static std::optional<DType> find_dtype(std::string_view name) {
  for (int i = 0; i <= TINH_DTYPE_F64; ++i) {
    auto dtype = static_cast<tinh_dtype_t>(i);
    if (name == tinh_dtype_name(dtype) || name == array_name(dtype))
      return DType(dtype);
  }
  return std::nullopt;
}

DType to_dtype(nb::handle object) {
  nb::object text = nb::borrow(object);
  if (PyType_Check(object.ptr())) {
    if (object.is(&PyFloat_Type))
      return float32;
    if (object.is(&PyLong_Type))
      return int64;
    if (object.is(&PyBool_Type))
      return boolean;
    text = nb::getattr(object, "__name__"); // np.float32
  }
  std::string name = nb::str(text).c_str();
  if (name.starts_with("torch."))
    name.erase(0, 6);
  if (auto dtype = find_dtype(name))
    return *dtype;
  throw nb::type_error(
      ("expected a dtype such as \"f32\", found " + name).c_str());
}

IntArray to_ints(nb::handle object) {
  IntArray list;
  if (object.is_none())
    return list;
  if (PyIndex_Check(object.ptr())) {
    list.push_back(nb::cast<int64_t>(nb::steal(PyNumber_Index(object.ptr()))));
    return list;
  }
  nb::object sequence = nb::steal(PySequence_List(object.ptr()));
  if (!sequence.is_valid())
    nb::raise_python_error();
  for (nb::handle item : sequence) {
    nb::object integer = nb::steal(PyNumber_Index(item.ptr()));
    if (!integer.is_valid())
      nb::raise_python_error();
    list.push_back(nb::cast<int64_t>(integer));
  }
  return list;
}

bool is_device(nb::handle object) {
  std::string name = nb::str(object).c_str();
  return name == "cpu" || name.starts_with("cuda");
}

Device to_device(nb::handle object) {
  std::string name = nb::str(object).c_str();
  if (name == "cpu")
    return Device::cpu();
  if (name == "cuda")
    return Device::cuda();
  if (name.starts_with("cuda:") && name.size() > 5 && name.size() < 10 &&
      name.find_first_not_of("0123456789", 5) == std::string::npos)
    return Device::cuda(static_cast<uint32_t>(std::stoul(name.substr(5))));
  throw nb::value_error(
      ("expected a device \"cpu\", \"cuda\" or \"cuda:1\", found " + name)
          .c_str());
}

//===----------------------------------------------------------------------===//
// Tensors and numbers
//===----------------------------------------------------------------------===//

/// A number of Python's, if it is one.
static std::optional<Number> find_number(nb::handle object) {
  if (PyBool_Check(object.ptr()))
    return Number(object.is(Py_True));
  if (PyFloat_Check(object.ptr()))
    return Number(PyFloat_AsDouble(object.ptr()));
  if (!PyLong_Check(object.ptr()))
    return std::nullopt;
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow == 0)
    return Number(static_cast<int64_t>(value));
  if (overflow > 0) {
    unsigned long long large = PyLong_AsUnsignedLongLong(object.ptr());
    if (!PyErr_Occurred())
      return Number(static_cast<uint64_t>(large));
    PyErr_Clear();
  }
  throw nb::value_error(
      "an integer is beyond those of 64 bits, which tensors have");
}

bool Given::is_possible(nb::handle object) {
  return nb::isinstance<Tensor>(object) || PyFloat_Check(object.ptr()) ||
         PyLong_Check(object.ptr()) || PyList_Check(object.ptr()) ||
         PyTuple_Check(object.ptr()) || nb::hasattr(object, "__dlpack__") ||
         nb::hasattr(object, "__array_interface__");
}

Given::Given(nb::handle object) : number(0) {
  if (nb::isinstance<Tensor>(object))
    tensor = nb::cast<const Tensor &>(object);
  else if (auto found = find_number(object))
    number = *found;
  else
    tensor = make_tensor(object, std::nullopt);
}

Tensor make_tensor(nb::handle object, std::optional<DType> dtype) {
  At at = here();
  if (nb::isinstance<Tensor>(object)) {
    Tensor copy = nb::cast<const Tensor &>(object).clone(at);
    return dtype ? copy.to(*dtype, at) : copy;
  }
  bool is_array = nb::hasattr(object, "__dlpack__") ||
                  nb::hasattr(object, "__array_interface__") ||
                  PyObject_CheckBuffer(object.ptr());
  nb::object array = nb::borrow(object);
  bool is_listed = !is_array || !nb::hasattr(object, "shape");
  if (is_listed)
    array = nb::module_::import_("numpy").attr("array")(object);
  std::string name = nb::str(nb::object(array.attr("dtype"))).c_str();
  if (name.starts_with("torch."))
    name.erase(0, 6);
  auto found = find_dtype(name);
  if (!found)
    throw nb::type_error(("there are no tensors of the dtype " + name +
                          "; convert the array, as with .astype(\"float32\")")
                             .c_str());
  IntArray shape = to_ints(array.attr("shape"));
  if (shape.size() > TINH_MAX_RANK)
    throw nb::value_error("tensors have at most 8 dimensions");
  tinh_tensor_info_t info = {};
  info.name = "array";
  info.dtype = *found;
  info.rank = static_cast<uint32_t>(shape.size());
  info.dims = shape.begin();
  info.size = static_cast<uint64_t>(shape.numel()) * found->size();
  Borrowed memory;
  memory.read(array, Argument(info, "tensor"));
  Tensor made = from_bytes(memory.buffer().data, shape, *found, at);
  // Lists of Python's numbers are of its default dtype, as in PyTorch.
  bool is_default = is_listed && !is_array && *found == float64;
  if (dtype || is_default)
    return made.to(dtype.value_or(float32), at);
  return made;
}

} // namespace tinh::python
