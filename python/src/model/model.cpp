//===- model.cpp - Artifacts as Python objects ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bindings.h"
#include "function.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tinh::python {

namespace {

/// What is told of an input, an output or a variable.
struct TensorInfo {
  std::string name, dtype;
  nb::tuple shape;
  std::optional<bool> trainable;

  explicit TensorInfo(const tinh_tensor_info_t &info)
      : name(info.name), dtype(tinh_dtype_name(info.dtype)),
        shape(shape_tuple(info)) {}

  std::string repr() const {
    return name + ": " + dtype + nb::str(nb::list(shape)).c_str();
  }
};

std::vector<TensorInfo> describe(const std::vector<Argument> &arguments) {
  std::vector<TensorInfo> infos;
  for (const Argument &argument : arguments)
    infos.emplace_back(argument.info());
  return infos;
}

/// How a model is run; the options of tinh_context_options_t.
struct RunOptions {
  uint32_t threads = 0, max_in_flight = 0, cuda_device = 0;
  int64_t spin_us = -1;
  bool pin_threads = false, measure_steps = false;
  std::optional<std::string> device, check_numerics, trace;

  ContextOptions convert() const;
};

[[noreturn]] void unknown_choice(const char *option, const std::string &value,
                                 const char *choices) {
  throw nb::value_error((std::string(option) + ": expected " + choices +
                         " or None, found \"" + value + "\"")
                            .c_str());
}

ContextOptions RunOptions::convert() const {
  ContextOptions options;
  options.threads = threads;
  if (max_in_flight)
    options.max_in_flight = max_in_flight;
  options.spin_us = spin_us;
  options.pin_threads = pin_threads;
  options.measure_steps = measure_steps;
  options.cuda_device = cuda_device;
  if (trace)
    options.trace_path = trace->c_str();
  if (device) {
    if (*device != "cpu" && *device != "cuda")
      unknown_choice("device", *device, "\"cpu\", \"cuda\"");
    options.device = *device == "cpu" ? TINH_USE_CPU : TINH_USE_CUDA;
  }
  if (check_numerics) {
    if (*check_numerics != "nan" && *check_numerics != "all")
      unknown_choice("check_numerics", *check_numerics, "\"nan\", \"all\"");
    options.check_numerics = *check_numerics == "nan"
                                 ? TINH_CHECK_NANS
                                 : TINH_CHECK_NANS_AND_INFINITIES;
  }
  return options;
}

/// Of a path as Python has them: text, or an os.PathLike.
std::string file_name(nb::handle path) {
  return nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(path));
}

class Model {
public:
  Model(std::shared_ptr<const Module> module, const RunOptions &options);

  tinh_module_info_t info() const { return engine->module().info(); }
  const std::vector<std::shared_ptr<Function>> &functions() const {
    return all;
  }
  /// The one that a call runs: "main", or the only one.
  const Function &main() const;
  /// An AttributeError lists what there is.
  std::shared_ptr<Function> function(const std::string &name) const;
  /// Its name and its functions.
  std::string repr() const;
  /// The same artifact, with threads and state of its own.
  Model again(const RunOptions &options) const {
    return Model(engine->shared_module(), options);
  }

  std::vector<TensorInfo> variables() const;
  nb::object readVariable(const std::string &name) const;
  void writeVariable(const std::string &name, nb::handle array) const;
  void saveState(nb::object path, const Metadata &metadata) const {
    std::string file = file_name(path);
    without_gil([&] { engine->context().save_state(file, metadata); });
  }
  void loadState(nb::object path) const {
    std::string file = file_name(path);
    without_gil([&] { engine->context().load_state(file); });
  }
  void resetState() const {
    without_gil([&] { engine->context().reset_state(); });
  }
  void verifyWeights() const {
    without_gil([&] { engine->module().verify_weights(); });
  }
  void wait() const {
    without_gil(
        [&] { check(tinh_context_wait_all(engine->context().handle())); });
  }
  tinh_context_info_t contextInfo() const { return engine->context().info(); }
  nb::dict functionProfile(const Function &function) const;
  void resetProfile() const {
    without_gil([&] { engine->context().reset_profile(); });
  }
  /// For what else measures runs; lives as long as the model.
  nb::capsule engineCapsule() const { return nb::capsule(engine.get()); }

private:
  EngineRef engine;
  std::vector<std::shared_ptr<Function>> all;
  std::shared_ptr<Function> called;
};

Model::Model(std::shared_ptr<const Module> module, const RunOptions &options)
    : engine(Engine::create(std::move(module), options.convert())) {
  uint32_t count = info().num_functions;
  for (uint32_t i = 0; i < count; ++i) {
    all.push_back(std::make_shared<Function>(engine, i));
    if (count == 1 || all.back()->name() == "main")
      called = all.back();
  }
}

std::string names(const std::vector<std::shared_ptr<Function>> &functions) {
  std::string text;
  for (const auto &function : functions)
    text += (text.empty() ? "" : ", ") + function->name();
  return text;
}

const Function &Model::main() const {
  if (called)
    return *called;
  throw nb::type_error(("the model has several functions, none of them main: "
                        "call one of them, such as model." +
                        all[0]->name() + "(…); there are " + names(all))
                           .c_str());
}

std::shared_ptr<Function> Model::function(const std::string &name) const {
  for (const auto &function : all)
    if (function->name() == name)
      return function;
  throw nb::attribute_error(("the model has no attribute or function \"" +
                             name + "\"; its functions are " + names(all))
                                .c_str());
}

std::string Model::repr() const {
  std::string text = std::string(info().model) + ":";
  for (const auto &function : all)
    text += (all.size() == 1 ? " " : "\n  ") + function->signature();
  return text;
}

std::vector<TensorInfo> Model::variables() const {
  std::vector<TensorInfo> infos;
  for (uint32_t i = 0; i < info().num_variables; ++i) {
    tinh_variable_info_t variable = engine->module().variable_info(i);
    infos.emplace_back(variable.type).trainable = variable.trainable;
  }
  return infos;
}

nb::object Model::readVariable(const std::string &name) const {
  uint32_t variable = engine->module().find_variable(name);
  Argument argument(engine->module().variable_info(variable).type, "state");
  nb::object array = argument.allocate(Library::NumPy);
  Borrowed memory;
  memory.write(array, argument);
  without_gil(
      [&] { engine->context().read_variable(variable, memory.buffer()); });
  return array;
}

void Model::writeVariable(const std::string &name, nb::handle array) const {
  uint32_t variable = engine->module().find_variable(name);
  Argument argument(engine->module().variable_info(variable).type, "state");
  Borrowed memory;
  memory.read(array, argument);
  without_gil(
      [&] { engine->context().write_variable(variable, memory.buffer()); });
}

const char *kind_name(tinh_step_kind_t kind) {
  switch (kind) {
  case TINH_STEP_KERNEL:
    return "kernel";
  case TINH_STEP_COPY:
    return "copy";
  case TINH_STEP_ZERO:
    return "zero";
  case TINH_STEP_LOOP:
    return "loop";
  case TINH_STEP_CONTROL:
    return "control";
  case TINH_STEP_COLLECTIVE:
    return "collective";
  }
  return "?";
}

nb::dict describe(const tinh_step_profile_t &step) {
  nb::dict row;
  row["kind"] = kind_name(step.kind);
  row["kernel"] = step.kernel ? nb::cast(step.kernel) : nb::none();
  row["nodes"] = nb::str(step.nodes).attr("splitlines")();
  row["plan"] = step.plan;
  row["chunks"] = step.chunks;
  row["operations"] = step.operations;
  row["bytes"] = step.bytes;
  row["executions"] = step.executions;
  row["median_ms"] = step.median_ms;
  row["min_ms"] = step.min_ms;
  row["work_ms"] = step.work_ms;
  return row;
}

nb::dict Model::functionProfile(const Function &function) const {
  uint32_t index = engine->module().find_function(function.name());
  const Context &context = engine->context();
  tinh_function_profile_t whole =
      without_gil([&] { return context.function_profile(index); });
  nb::list steps;
  for (uint32_t i = 0; i < whole.num_steps; ++i)
    steps.append(
        describe(without_gil([&] { return context.step_profile(i, index); })));
  nb::dict result;
  result["function"] = function.name();
  result["runs"] = whole.runs;
  result["median_ms"] = whole.median_ms;
  result["min_ms"] = whole.min_ms;
  result["steps"] = steps;
  return result;
}

//===----------------------------------------------------------------------===//
// Calls: slots of the type, for nothing else is as fast
//===----------------------------------------------------------------------===//

/// Calls a function with what Python gives and takes.
PyObject *call(const Function &function, PyObject *args, PyObject *kwargs) {
  return function.call(args, kwargs).release().ptr();
}

/// Raises what is thrown. Not noexcept, and without catching all: see gil.h.
template <typename Work> PyObject *guarded(const Work &work) {
  try {
    return work();
  } catch (nb::python_error &error) {
    error.restore();
  } catch (const Error &error) {
    nb::object made = make_error(error);
    PyErr_SetObject(made.type().ptr(), made.ptr());
  } catch (const nb::builtin_exception &error) {
    bool is_type = error.type() == nb::exception_type::type_error;
    PyErr_SetString(is_type ? PyExc_TypeError : PyExc_ValueError, error.what());
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject *call_model(PyObject *self, PyObject *args, PyObject *kwargs) {
  return guarded(
      [&] { return call(nb::inst_ptr<Model>(self)->main(), args, kwargs); });
}

PyObject *call_function(PyObject *self, PyObject *args, PyObject *kwargs) {
  return guarded(
      [&] { return call(*nb::inst_ptr<Function>(self), args, kwargs); });
}

PyType_Slot model_slots[] = {{Py_tp_call, reinterpret_cast<void *>(call_model)},
                             {0, nullptr}};
PyType_Slot function_slots[] = {
    {Py_tp_call, reinterpret_cast<void *>(call_function)}, {0, nullptr}};

void bind_tensor_info(nb::module_ &module) {
  nb::class_<TensorInfo>(module, "TensorInfo",
                         "The name, dtype and shape of an input, an output or "
                         "a variable.")
      .def_ro("name", &TensorInfo::name)
      .def_ro("dtype", &TensorInfo::dtype, "As \"f32\" or \"i64\".")
      .def_ro("shape", &TensorInfo::shape, "Extents, in elements.")
      .def_ro("trainable", &TensorInfo::trainable,
              "Of a variable: whether it is a parameter. Else None.")
      .def("__repr__", &TensorInfo::repr);
}

void bind_function(nb::module_ &module) {
  nb::class_<Function>(
      module, "Function", nb::type_slots(function_slots),
      "A function of a model. A call takes arrays of its inputs' dtypes and\n"
      "shapes, by position or name, and gives new arrays of the library of "
      "the\n"
      "first one, or writes to those of `out`. One result is given as it is,\n"
      "several as a tuple. Arrays that are dense are read and written in "
      "place.\n"
      "The GIL is given up meanwhile; any number of threads may call.")
      .def_prop_ro("name", &Function::name)
      .def_prop_ro("inputs",
                   [](const Function &f) { return describe(f.inputs()); })
      .def_prop_ro("outputs",
                   [](const Function &f) { return describe(f.outputs()); })
      .def("submit", &submit, nb::arg("args"), nb::arg("kwargs"),
           "Queues a call and returns at once: a Future of what it gives.")
      .def("__repr__", &Function::signature);
}

using OptionalText = std::optional<std::string>;

RunOptions run_options(uint32_t threads, OptionalText device,
                       uint32_t cuda_device, uint32_t max_in_flight,
                       bool pin_threads, int64_t spin_us,
                       OptionalText check_numerics, OptionalText trace,
                       bool measure_steps) {
  RunOptions options;
  options.threads = threads;
  options.device = std::move(device);
  options.cuda_device = cuda_device;
  options.max_in_flight = max_in_flight;
  options.pin_threads = pin_threads;
  options.spin_us = spin_us;
  options.check_numerics = std::move(check_numerics);
  options.trace = std::move(trace);
  options.measure_steps = measure_steps;
  return options;
}

/// Adds a function that makes a model with these options, given as `first` and
/// then the options by name.
#define TINH_RUN_OPTIONS                                                       \
  nb::kw_only(), nb::arg("threads") = 0, nb::arg("device") = nb::none(),       \
                 nb::arg("cuda_device") = 0, nb::arg("max_in_flight") = 0,     \
                 nb::arg("pin_threads") = false, nb::arg("spin_us") = -1,      \
                 nb::arg("check_numerics") = nb::none(),                       \
                 nb::arg("trace") = nb::none(),                                \
                 nb::arg("measure_steps") = false

void construct(Model *self, nb::object path, OptionalText weights,
               uint32_t threads, OptionalText device, uint32_t cuda_device,
               uint32_t max_in_flight, bool pin_threads, int64_t spin_us,
               OptionalText check_numerics, OptionalText trace,
               bool measure_steps) {
  std::string file = file_name(path);
  auto module = without_gil([&] {
    auto loaded = std::make_shared<Module>(file);
    if (weights)
      *loaded = loaded->with_weights(*weights);
    return loaded;
  });
  new (self) Model(std::move(module),
                   run_options(threads, device, cuda_device, max_in_flight,
                               pin_threads, spin_us, check_numerics, trace,
                               measure_steps));
}

Model again(const Model &model, uint32_t threads, OptionalText device,
            uint32_t cuda_device, uint32_t max_in_flight, bool pin_threads,
            int64_t spin_us, OptionalText check_numerics, OptionalText trace,
            bool measure_steps) {
  return model.again(run_options(threads, device, cuda_device, max_in_flight,
                                 pin_threads, spin_us, check_numerics, trace,
                                 measure_steps));
}

} // namespace

void bind_model(nb::module_ &module) {
  bind_tensor_info(module);
  bind_function(module);
  nb::class_<Model>(
      module, "Model", nb::type_slots(model_slots), nb::dynamic_attr(),
      "A compiled model: its functions, and the state that they share.\n\n"
      "`path` is an artifact that graph-compile or tinh.compile has written.\n"
      "An artifact is code and must be trusted like any library. A call runs\n"
      "the function \"main\"; other functions are attributes.\n\n"
      "weights: a .safetensors file of other weights, for artifacts that were\n"
      "    compiled with loadable_weights.\n"
      "threads: that compute a run; 0: as many as the process may use.\n"
      "device: \"cpu\", \"cuda\", or None: the GPU if the model has code for "
      "it.\n"
      "cuda_device: the ordinal of the GPU.\n"
      "max_in_flight: runs that may be queued; 0: the default.\n"
      "pin_threads: bind each thread to a CPU.\n"
      "spin_us: how long a thread spins for work before it sleeps; -1: a\n"
      "    short time.\n"
      "check_numerics: \"nan\" or \"all\": end a run behind the first step "
      "with\n"
      "    a NaN, or an infinity, too.\n"
      "trace: a file for a trace in Chrome's format.\n"
      "measure_steps: note how long each step takes.")
      .def("__init__", &construct, nb::arg("path"),
           nb::arg("weights") = nb::none(), TINH_RUN_OPTIONS)
      .def("again", &again, TINH_RUN_OPTIONS,
           "The same artifact with other options, and a state of its own.")
      .def_prop_ro("name", [](const Model &m) { return m.info().model; })
      .def_prop_ro("producer", [](const Model &m) { return m.info().producer; })
      .def_prop_ro(
          "cpu", [](const Model &m) { return m.info().cpu; },
          "The CPU that the code was compiled for.")
      .def_prop_ro("threads",
                   [](const Model &m) { return m.contextInfo().threads; })
      .def_prop_ro(
          "weights_size", [](const Model &m) { return m.info().weights_size; },
          "Bytes.")
      .def_prop_ro(
          "arena_size",
          [](const Model &m) { return m.contextInfo().arena_size; },
          "Bytes of the memory for intermediate results of a run.")
      .def_prop_ro("inputs",
                   [](const Model &m) { return describe(m.main().inputs()); })
      .def_prop_ro("outputs",
                   [](const Model &m) { return describe(m.main().outputs()); })
      .def_prop_ro("functions", &Model::functions)
      .def("__getattr__", &Model::function, nb::arg("name"))
      .def("__repr__", &Model::repr)
      .def(
          "submit",
          [](const Model &m, nb::args args, nb::kwargs kwargs) {
            return submit(m.main(), args, kwargs);
          },
          nb::arg("args"), nb::arg("kwargs"),
          "Queues a call and returns at once: a Future of what it gives.")
      .def("wait", &Model::wait, "Waits for all that has been queued.")
      .def_prop_ro("variables", &Model::variables,
                   "What lives from run to run, parameters among it.")
      .def("read_variable", &Model::readVariable, nb::arg("name"),
           "A copy, as an array of NumPy's.")
      .def("write_variable", &Model::writeVariable, nb::arg("name"),
           nb::arg("array"))
      .def("save_state", &Model::saveState, nb::arg("path"),
           nb::arg("metadata") = Metadata(),
           "Writes all variables to a .safetensors file.")
      .def("load_state", &Model::loadState, nb::arg("path"),
           "Reads all variables from such a file, or changes nothing.")
      .def("reset_state", &Model::resetState,
           "Gives all variables their initial values.")
      .def(
          "verify_weights", &Model::verifyWeights,
          "Compares the weights with the digest that was taken when they were\n"
          "written, which loading does not: an Error if they have changed.")
      .def("function_profile", &Model::functionProfile, nb::arg("function"),
           "What the runs so far say of each step; wants measure_steps.")
      .def("reset_profile", &Model::resetProfile)
      .def_prop_ro("_engine", &Model::engineCapsule);
  module.def("_close", &Engine::closeAll);
  nb::module_::import_("atexit").attr("register")(module.attr("_close"));
}

} // namespace tinh::python
