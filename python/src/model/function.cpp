//===- function.cpp - Functions of artifacts for Python ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "function.h"

#include <cstring>

namespace tinh::python {

/// Whether a keyword is this name, which is UTF-8.
static bool is_name(PyObject *key, const char *name) {
  const char *text = PyUnicode_AsUTF8AndSize(key, nullptr);
  if (!text)
    nb::raise_python_error();
  return std::strcmp(text, name) == 0;
}

static std::vector<Argument>
describe(const std::vector<tinh_tensor_info_t> &tensors,
         const std::string &function) {
  std::vector<Argument> described;
  for (const tinh_tensor_info_t &tensor : tensors)
    described.emplace_back(tensor, function);
  return described;
}

/// The outputs that say the sizes of others, if there are any.
static std::vector<std::vector<int32_t>>
size_outputs(const std::vector<Argument> &results) {
  std::vector<std::vector<int32_t>> all(results.size());
  bool any = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const tinh_tensor_info_t &info = results[i].info();
    if (info.size_outputs)
      all[i].assign(info.size_outputs, info.size_outputs + info.rank);
    any |= info.size_outputs != nullptr;
  }
  return any ? all : std::vector<std::vector<int32_t>>();
}

Function::Function(EngineRef engine, uint32_t index)
    : engine(std::move(engine)), index(index) {
  const Module &module = this->engine->module();
  called = module.function_info(index).name;
  arguments = describe(module.inputs(index), called);
  results = describe(module.outputs(index), called);
  sizes = size_outputs(results);
}

static std::string describe(const std::vector<Argument> &arguments) {
  std::string text;
  for (const Argument &argument : arguments)
    text += (text.empty() ? "" : ", ") + argument.signature();
  return text;
}

std::string Function::signature() const {
  return called + "(" + describe(arguments) + ") -> (" + describe(results) +
         ")";
}

void Function::refuseName(nb::handle name) const {
  throw nb::type_error(("no argument of \"" + called + "\" is called \"" +
                        nb::cast<std::string>(nb::str(name)) + "\"; it is " +
                        signature())
                           .c_str());
}

nb::object Function::bindInputs(nb::handle args, nb::handle kwargs,
                                Run &run) const {
  size_t given = static_cast<size_t>(PyTuple_Size(args.ptr()));
  if (given > arguments.size())
    throw nb::type_error(
        ("too many arguments, " + std::to_string(given) + " for " + signature())
            .c_str());
  run.inputs.resize(arguments.size());
  for (size_t i = 0; i < given; ++i)
    run.inputs[i].read(PyTuple_GetItem(args.ptr(), static_cast<Py_ssize_t>(i)),
                       arguments[i]);
  nb::object out;
  size_t named = 0;
  if (kwargs.ptr()) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(kwargs.ptr(), &at, &key, &value);) {
      if (is_name(key, "out")) {
        out = nb::borrow(value);
        continue;
      }
      size_t i = 0;
      while (i < arguments.size() && !is_name(key, arguments[i].name()))
        ++i;
      if (i == arguments.size())
        refuseName(key);
      if (i < given)
        throw nb::type_error(
            (arguments[i].place() + " is given twice").c_str());
      run.inputs[i].read(value, arguments[i]);
      ++named;
    }
  }
  if (given + named < arguments.size())
    for (size_t i = given; i < arguments.size(); ++i)
      if (!run.inputs[i].isBound())
        throw nb::type_error(
            (arguments[i].place() + " is missing; it is " + signature())
                .c_str());
  return out;
}

/// Arrays for all results: those of `out`, a tuple or the only one, or new
/// ones.
void Function::bindOutputs(nb::handle out, Run &run) const {
  Library library =
      run.inputs.empty() ? Library::NumPy : run.inputs[0].library();
  bool listed = out.ptr() && (nb::isinstance<nb::tuple>(out) ||
                              nb::isinstance<nb::list>(out));
  if (out.ptr() && !out.is_none() && !listed && results.size() != 1)
    throw nb::type_error(("out: expected a tuple of " +
                          std::to_string(results.size()) +
                          " arrays or None, found " + name_of_type(out) +
                          "; the function is " + signature())
                             .c_str());
  if (listed && nb::len(out) != results.size())
    throw nb::value_error(("out: expected " + std::to_string(results.size()) +
                           " arrays or None, found " +
                           std::to_string(nb::len(out)) + "; the function is " +
                           signature())
                              .c_str());
  std::vector<nb::object> arrays(results.size());
  run.outputs.resize(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    nb::object given = listed      ? nb::object(out[i])
                       : out.ptr() ? nb::borrow(out)
                                   : nb::none();
    arrays[i] = given.is_none() ? results[i].allocate(library) : given;
    run.outputs[i].write(arrays[i], results[i]);
  }
  if (arrays.size() == 1) {
    run.result = std::move(arrays[0]);
    return;
  }
  run.result = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(arrays.size())));
  for (size_t i = 0; i < arrays.size(); ++i)
    PyTuple_SetItem(run.result.ptr(), static_cast<Py_ssize_t>(i),
                    arrays[i].release().ptr());
}

/// Output `i` as an array of what the run has used of it.
static nb::object used_part(const Run &run, size_t i) {
  nb::object array =
      nb::borrow(PyTuple_GetItem(run.result.ptr(), static_cast<Py_ssize_t>(i)));
  nb::list slices;
  for (int32_t number : run.size_outputs[i]) {
    int64_t used = 0;
    if (number >= 0)
      std::memcpy(&used, run.output_buffers[static_cast<size_t>(number)].data,
                  sizeof used);
    nb::object end =
        number < 0 ? nb::object(nb::none()) : nb::object(nb::int_(used));
    slices.append(nb::steal(PySlice_New(nullptr, end.ptr(), nullptr)));
  }
  return nb::len(slices) > 0 ? nb::object(array[nb::tuple(slices)]) : array;
}

nb::object used_result(const Run &run) {
  if (run.size_outputs.empty())
    return run.result;
  std::vector<bool> is_size(run.size_outputs.size());
  for (const std::vector<int32_t> &numbers : run.size_outputs)
    for (int32_t number : numbers)
      if (number >= 0)
        is_size[static_cast<size_t>(number)] = true;
  nb::list used;
  for (size_t i = 0; i < is_size.size(); ++i)
    if (!is_size[i])
      used.append(used_part(run, i));
  return nb::len(used) == 1 ? nb::object(used[0]) : nb::object(nb::tuple(used));
}

Run Function::prepare(nb::handle args, nb::handle kwargs) const {
  Run run;
  nb::object out = bindInputs(args, kwargs, run);
  bindOutputs(out, run);
  run.size_outputs = sizes;
  run.input_buffers.reserve(run.inputs.size());
  run.output_buffers.reserve(run.outputs.size());
  for (const Borrowed &input : run.inputs)
    run.input_buffers.push_back(input.buffer());
  for (const Borrowed &output : run.outputs)
    run.output_buffers.push_back(output.buffer());
  return run;
}

/// While the interpreter ends, threads beside the main one begin no run: they
/// stay here, as those do that wait for one. Callbacks go on.
static void stay_at_end() {
  if (is_gil_closed() && !Engine::isInCallback())
    WithoutGil stay;
}

nb::object Function::call(nb::handle args, nb::handle kwargs) const {
  stay_at_end();
  Run run = prepare(args, kwargs);
  without_gil([&] {
    engine->context().run(run.input_buffers, run.output_buffers, index);
  });
  return used_result(run);
}

Future Function::submit(nb::handle args, nb::handle kwargs, Run &run) const {
  stay_at_end();
  if (is_gil_closed())
    throw Error(TINH_CANCELLED, "the interpreter is ending: nothing is queued");
  run = prepare(args, kwargs);
  return without_gil([&] {
    return engine->context().submit(run.input_buffers, run.output_buffers, {},
                                    index);
  });
}

} // namespace tinh::python
