//===- arrays.cpp - The memory of Python's arrays ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "arrays.h"

#include "tinh/dlpack.h"

#include <dlpack/dlpack.h>

#include <cstring>
#include <string_view>

namespace tinh::python {

namespace {

//===----------------------------------------------------------------------===//
// The libraries, as far as the program has imported them
//===----------------------------------------------------------------------===//

/// Never destroyed: the interpreter may be gone by then.
struct NumPy {
  nb::object ndarray, array, empty, from_dlpack;

  static const NumPy &get() {
    static const NumPy *numpy = [] {
      nb::module_ module = nb::module_::import_("numpy");
      return new NumPy{module.attr("ndarray"), module.attr("array"),
                       module.attr("empty"), module.attr("from_dlpack")};
    }();
    return *numpy;
  }

  /// A dense, aligned copy.
  nb::object dense(nb::handle x) const {
    return array(x, nb::arg("order") = "C", nb::arg("copy") = true);
  }
};

struct Torch {
  nb::object tensor, to_dlpack, from_dlpack, is_grad_enabled, contiguous_format;

  /// Null as long as nobody has imported torch.
  static const Torch *find() {
    static const Torch *torch = nullptr;
    if (torch)
      return torch;
    nb::object modules = nb::module_::import_("sys").attr("modules");
    nb::object module = modules.attr("get")("torch", nb::none());
    // While torch is being imported it lacks what comes last.
    if (module.is_none() || !nb::hasattr(module, "utils") ||
        !nb::hasattr(module, "Tensor") || !nb::hasattr(module, "_C"))
      return nullptr;
    nb::object core = module.attr("_C");
    torch = new Torch{module.attr("Tensor"), core.attr("_to_dlpack"),
                      core.attr("_from_dlpack"), module.attr("is_grad_enabled"),
                      module.attr("contiguous_format")};
    return torch;
  }

  /// A dense, aligned copy.
  nb::object dense(nb::handle x) const {
    return x.attr("detach")().attr("clone")(nb::arg("memory_format") =
                                                contiguous_format);
  }
};

bool is_instance(nb::handle object, nb::handle type) {
  return Py_TYPE(object.ptr()) ==
             reinterpret_cast<PyTypeObject *>(type.ptr()) ||
         PyObject_IsInstance(object.ptr(), type.ptr()) == 1;
}

//===----------------------------------------------------------------------===//
// Dtypes
//===----------------------------------------------------------------------===//

/// The dtype of a format of the struct module, or -1.
int dtype_of_format(const char *format, Py_ssize_t size) {
  if (!format)
    return TINH_DTYPE_U8;
  if (*format == '<' || *format == '=' || *format == '@')
    ++format;
  if (*format == '\0' || format[1] != '\0')
    return -1;
  static const int integers[2][4] = {
      {TINH_DTYPE_I8, TINH_DTYPE_I16, TINH_DTYPE_I32, TINH_DTYPE_I64},
      {TINH_DTYPE_U8, TINH_DTYPE_U16, TINH_DTYPE_U32, TINH_DTYPE_U64}};
  int log = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
  switch (*format) {
  case '?':
    return TINH_DTYPE_BOOL;
  case 'e':
    return TINH_DTYPE_F16;
  case 'f':
    return TINH_DTYPE_F32;
  case 'd':
    return TINH_DTYPE_F64;
  case 'b':
  case 'h':
  case 'i':
  case 'l':
  case 'q':
    return log < 0 ? -1 : integers[0][log];
  case 'B':
  case 'H':
  case 'I':
  case 'L':
  case 'Q':
    return log < 0 ? -1 : integers[1][log];
  }
  return -1;
}

int dtype_of_dlpack(const DLDataType &type) {
  if (type.lanes != 1)
    return -1;
  auto integer = [&](int first) {
    switch (type.bits) {
    case 8:
      return first;
    case 16:
      return first + 2;
    case 32:
      return first + 4;
    case 64:
      return first + 6;
    }
    return -1;
  };
  switch (type.code) {
  case kDLInt:
    return integer(TINH_DTYPE_I8);
  case kDLUInt:
    return integer(TINH_DTYPE_U8);
  case kDLFloat:
    return type.bits == 16   ? TINH_DTYPE_F16
           : type.bits == 32 ? TINH_DTYPE_F32
           : type.bits == 64 ? TINH_DTYPE_F64
                             : -1;
  case kDLBfloat:
    return type.bits == 16 ? TINH_DTYPE_BF16 : -1;
  }
  // kDLBool, which Debian's header does not have yet.
  return type.code == 6 && type.bits == 8 ? TINH_DTYPE_BOOL : -1;
}

struct NumPyName {
  const char *name;
  bool isOfMlDtypes; ///< Else of NumPy itself.
};

NumPyName numpy_name(tinh_dtype_t dtype) {
  switch (dtype) {
  case TINH_DTYPE_BOOL:
    return {"bool", false};
  case TINH_DTYPE_I8:
    return {"int8", false};
  case TINH_DTYPE_U8:
    return {"uint8", false};
  case TINH_DTYPE_I16:
    return {"int16", false};
  case TINH_DTYPE_U16:
    return {"uint16", false};
  case TINH_DTYPE_I32:
    return {"int32", false};
  case TINH_DTYPE_U32:
    return {"uint32", false};
  case TINH_DTYPE_I64:
    return {"int64", false};
  case TINH_DTYPE_U64:
    return {"uint64", false};
  case TINH_DTYPE_F16:
    return {"float16", false};
  case TINH_DTYPE_BF16:
    return {"bfloat16", true};
  case TINH_DTYPE_F32:
    return {"float32", false};
  case TINH_DTYPE_F64:
    return {"float64", false};
  case TINH_DTYPE_F8E4M3FN:
    return {"float8_e4m3fn", true};
  case TINH_DTYPE_F8E4M3FNUZ:
    return {"float8_e4m3fnuz", true};
  case TINH_DTYPE_F8E5M2:
    return {"float8_e5m2", true};
  case TINH_DTYPE_F8E5M2FNUZ:
    return {"float8_e5m2fnuz", true};
  case TINH_DTYPE_F8E8M0FNU:
    return {"float8_e8m0fnu", true};
  case TINH_DTYPE_F4E2M1FN:
    return {"float4_e2m1fn", true};
  }
  return {"?", false};
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string shape_text(const int64_t *dims, size_t rank) {
  std::string text = "[";
  for (size_t i = 0; i < rank; ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

[[noreturn]] void wrong_type(const Argument &argument, const std::string &why) {
  throw nb::type_error((argument.place() + ": " + why).c_str());
}

[[noreturn]] void wrong_value(const Argument &argument,
                              const std::string &why) {
  throw nb::value_error((argument.place() + ": " + why).c_str());
}

[[noreturn]] void wrong_dtype(const Argument &argument,
                              const std::string &found) {
  const char *name = numpy_name(argument.info().dtype).name;
  wrong_type(argument, std::string("expected an array of ") + name +
                           ", found " + found + "; convert it with .astype(\"" +
                           name + "\") or .to(torch." + name + ")");
}

/// What an array says of its dtype.
std::string dtype_text(nb::handle array) {
  if (nb::hasattr(array, "dtype"))
    return nb::str(nb::object(array.attr("dtype"))).c_str();
  return name_of_type(array);
}

void check_shape(const Argument &argument, const int64_t *dims, size_t rank) {
  const tinh_tensor_info_t &info = argument.info();
  if (rank != info.rank || !std::equal(dims, dims + rank, info.dims))
    wrong_value(argument, "expected shape " + shape_text(info.dims, info.rank) +
                              ", found " + shape_text(dims, rank));
}

/// Whether elements lie row by row without gaps; `unit` is what strides count.
bool is_dense(const tinh_tensor_info_t &info, const int64_t *strides,
              int64_t unit) {
  if (!strides || info.size == 0)
    return true;
  for (size_t i = info.rank; i-- > 0; unit *= info.dims[i])
    if (info.dims[i] != 1 && strides[i] != unit)
      return false;
  return true;
}

bool is_aligned(const void *data, const tinh_tensor_info_t &info) {
  return reinterpret_cast<uintptr_t>(data) % tinh_dtype_size(info.dtype) == 0;
}

} // namespace

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

std::string name_of_type(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

const char *array_name(tinh_dtype_t dtype) { return numpy_name(dtype).name; }

nb::object numpy_dtype(tinh_dtype_t dtype) {
  NumPyName known = numpy_name(dtype);
  if (!known.isOfMlDtypes)
    return nb::module_::import_("numpy").attr("dtype")(known.name);
  try {
    nb::module_ module = nb::module_::import_("ml_dtypes");
    return nb::module_::import_("numpy").attr("dtype")(module.attr(known.name));
  } catch (nb::python_error &) {
    throw Error(TINH_INVALID_ARGUMENT,
                std::string("NumPy has no ") + known.name +
                    ": install ml_dtypes, which has, or use torch tensors");
  }
}

nb::tuple shape_tuple(const tinh_tensor_info_t &info) {
  nb::list dims;
  for (uint32_t i = 0; i < info.rank; ++i)
    dims.append(info.dims[i]);
  return nb::tuple(dims);
}

nb::object numpy_empty(const tinh_tensor_info_t &info) {
  return NumPy::get().empty(shape_tuple(info), numpy_dtype(info.dtype));
}

Argument::Argument(const tinh_tensor_info_t &info, std::string function)
    : type(info), function(std::move(function)) {}

std::string Argument::signature() const {
  return std::string(type.name) + ": " + tinh_dtype_name(type.dtype) +
         shape_text(type.dims, type.rank);
}

std::string Argument::place() const {
  return std::string("argument \"") + type.name + "\" of \"" + function + "\"";
}

nb::object Argument::allocate(Library library) const {
  if (library == Library::Torch) {
    DLManagedTensor *made = nullptr;
    check(tinh_dlpack_create(&type, &made));
    PyObject *capsule = PyCapsule_New(made, "dltensor", [](PyObject *capsule) {
      // Renamed by who takes it.
      if (auto *tensor = static_cast<DLManagedTensor *>(
              PyCapsule_IsValid(capsule, "dltensor")
                  ? PyCapsule_GetPointer(capsule, "dltensor")
                  : nullptr))
        tensor->deleter(tensor);
    });
    if (!capsule) {
      made->deleter(made);
      nb::raise_python_error();
    }
    return Torch::find()->from_dlpack(nb::steal(capsule));
  }
  if (!shape) {
    shape = shape_tuple(type);
    dtype = numpy_dtype(type.dtype);
  }
  PyObject *arguments[] = {shape.ptr(), dtype.ptr()};
  PyObject *array =
      PyObject_Vectorcall(NumPy::get().empty.ptr(), arguments, 2, nullptr);
  if (!array)
    nb::raise_python_error();
  return nb::steal(array);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Borrowed::Borrowed(Borrowed &&other) noexcept
    : memory(other.memory), owner(other.owner), view(other.view),
      dlpack(std::exchange(other.dlpack, nullptr)),
      kept(std::move(other.kept)) {
  other.view.obj = nullptr;
}

Borrowed::~Borrowed() {
  if (view.obj)
    PyBuffer_Release(&view);
  if (dlpack && dlpack->deleter)
    dlpack->deleter(dlpack);
}

void Borrowed::read(nb::handle array, const Argument &argument) {
  take(array, argument, /*written=*/false);
}

void Borrowed::write(nb::handle array, const Argument &argument) {
  take(array, argument, /*written=*/true);
}

void Borrowed::take(nb::handle array, const Argument &argument, bool written) {
  if (is_instance(array, NumPy::get().ndarray))
    return takeBuffer(array, argument, written);
  if (const Torch *torch = Torch::find();
      torch && is_instance(array, torch->tensor)) {
    owner = Library::Torch;
    if (nb::cast<bool>(array.attr("requires_grad")) &&
        nb::cast<bool>(torch->is_grad_enabled()))
      wrong_value(argument, "the tensor requires gradients, which no compiled "
                            "model gives it; use .detach(), torch.no_grad(), "
                            "or torch.compile(model, backend=\"tinh\")");
    return takeDlpack(torch->to_dlpack(array), array, argument, written);
  }
  if (nb::hasattr(array, "__dlpack__"))
    return takeDlpack(array.attr("__dlpack__")(), array, argument, written);
  if (PyObject_CheckBuffer(array.ptr()))
    return takeBuffer(array, argument, written);
  wrong_type(argument, "expected an array of NumPy or PyTorch, or with "
                       "__dlpack__, found " +
                           name_of_type(array));
}

void Borrowed::takeBuffer(nb::handle array, const Argument &argument,
                          bool written) {
  const tinh_tensor_info_t &info = argument.info();
  int flags = PyBUF_STRIDES | PyBUF_FORMAT | (written ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(array.ptr(), &view, flags) != 0) {
    view.obj = nullptr;
    nb::python_error error;
    if (takeStorageOnly(array, argument, written))
      return;
    if (written && nb::hasattr(array, "flags") &&
        !nb::cast<bool>(array.attr("flags").attr("writeable")))
      wrong_value(argument, "the array is read-only");
    wrong_dtype(argument, dtype_text(array));
  }
  if (dtype_of_format(view.format, view.itemsize) !=
      static_cast<int>(info.dtype))
    wrong_dtype(argument, dtype_text(array));
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  auto *dims = reinterpret_cast<const int64_t *>(view.shape);
  check_shape(argument, dims, static_cast<size_t>(view.ndim));
  if (!is_dense(info, reinterpret_cast<const int64_t *>(view.strides),
                view.itemsize) ||
      !is_aligned(view.buf, info))
    return takeCopy(NumPy::get().dense(array), argument, written);
  memory = {view.buf, info.size};
}

/// Dtypes of ml_dtypes, which the buffer protocol has no formats for, by
/// integers of their size.
bool Borrowed::takeStorageOnly(nb::handle array, const Argument &argument,
                               bool written) {
  tinh_tensor_info_t bits = argument.info();
  NumPyName expected = numpy_name(bits.dtype);
  if (!expected.isOfMlDtypes || !nb::hasattr(array, "dtype") ||
      dtype_text(array) != expected.name)
    return false;
  bits.dtype =
      tinh_dtype_size(bits.dtype) == 2 ? TINH_DTYPE_U16 : TINH_DTYPE_U8;
  takeBuffer(array.attr("view")(numpy_dtype(bits.dtype)),
             Argument(bits, argument.of()), written);
  return true;
}

void Borrowed::takeCopy(nb::object copy, const Argument &argument,
                        bool written) {
  if (written)
    wrong_value(argument, "the array to write to is not dense and row-major, "
                          "or not aligned to its elements");
  if (view.obj)
    PyBuffer_Release(&view);
  view.obj = nullptr;
  kept = std::move(copy);
  take(kept, argument, written);
}

void Borrowed::takeDlpack(nb::object capsule, nb::handle array,
                          const Argument &argument, bool written) {
  const tinh_tensor_info_t &info = argument.info();
  auto *tensor = static_cast<DLManagedTensor *>(
      PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!tensor)
    nb::raise_python_error();
  const DLTensor &given = tensor->dl_tensor;
  if (given.device.device_type != kDLCPU)
    wrong_value(argument, "the array is in the memory of another device than "
                          "the CPU; copy it, with .cpu() for one of PyTorch");
  if (dtype_of_dlpack(given.dtype) != static_cast<int>(info.dtype))
    wrong_dtype(argument, dtype_text(array));
  check_shape(argument, given.shape, static_cast<size_t>(given.ndim));
  void *data = static_cast<char *>(given.data) + given.byte_offset;
  if (!is_dense(info, given.strides, 1) || !is_aligned(data, info))
    return takeCopy(owner == Library::Torch
                        ? Torch::find()->dense(array)
                        : NumPy::get().dense(NumPy::get().from_dlpack(array)),
                    argument, written);
  // Taken: it is for us to call the deleter.
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  PyCapsule_SetDestructor(capsule.ptr(), nullptr);
  dlpack = tensor;
  memory = {data, info.size};
}

} // namespace tinh::python
