//===- engine.cpp - How operations are run, for Python ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tinh/engine.h, tinh/device.h and tinh/autocast.h.
//
//===----------------------------------------------------------------------===//
#include "tinh/engine.h"
#include "names.h"
#include "operations.h"
#include "tinh/autocast.h"
#include "tinh/device.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <vector>

namespace tinh::python {

namespace {

const Names<EngineMode> modes = {{"asynchronous", EngineMode::Asynchronous},
                                 {"synchronous", EngineMode::Synchronous}};
const Names<tinh_check_numerics_t> checks = {
    {"nothing", TINH_CHECK_NOTHING},
    {"nan", TINH_CHECK_NANS},
    {"all", TINH_CHECK_NANS_AND_INFINITIES}};

template <typename T> void take(std::optional<T> given, T &option) {
  if (given)
    option = *given;
}

void bind_configuration(nb::module_ &m) {
  m.def(
      "configure",
      [](std::optional<std::string> mode, std::optional<uint32_t> workers,
         std::optional<uint32_t> max_queued_operations,
         std::optional<uint64_t> max_queued_bytes,
         std::optional<uint64_t> memory_limit, std::optional<uint32_t> spin_us,
         std::optional<std::string> check_numerics) {
        EngineOptions options = engine_options();
        if (mode)
          options.mode = by_name("configure: mode", *mode, modes);
        if (check_numerics)
          options.check_numerics =
              by_name("configure: check_numerics", *check_numerics, checks);
        take(workers, options.workers);
        take(max_queued_operations, options.max_queued_operations);
        take(max_queued_bytes, options.max_queued_bytes);
        take(memory_limit, options.memory_limit);
        take(spin_us, options.spin_us);
        without_gil([&] { configure(options); });
      },
      nb::kw_only(), nb::arg("mode") = nb::none(),
      nb::arg("workers") = nb::none(),
      nb::arg("max_queued_operations") = nb::none(),
      nb::arg("max_queued_bytes") = nb::none(),
      nb::arg("memory_limit") = nb::none(), nb::arg("spin_us") = nb::none(),
      nb::arg("check_numerics") = nb::none(),
      "Waits until all operations are done and goes on with these options; "
      "the\n"
      "others stay as they are.\n\n"
      "mode: \"asynchronous\", or \"synchronous\": calls wait for their\n"
      "    operations.\n"
      "workers: threads; 0: one for each CPU.\n"
      "max_queued_operations, max_queued_bytes: how far calls run ahead.\n"
      "memory_limit: bytes of all tensors; 0: what there is.\n"
      "spin_us: microseconds that a thread looks for work before it sleeps.\n"
      "check_numerics: \"nothing\", \"nan\", or \"all\", infinities as well: "
      "what\n"
      "    makes the operation fail that has given it.");
  m.def(
      "engine_options",
      [] {
        EngineOptions options = engine_options();
        nb::dict result;
        result["mode"] = name_of(options.mode, modes);
        result["workers"] = options.workers;
        result["max_queued_operations"] = options.max_queued_operations;
        result["max_queued_bytes"] = options.max_queued_bytes;
        result["memory_limit"] = options.memory_limit;
        result["spin_us"] = options.spin_us;
        result["check_numerics"] = name_of(options.check_numerics, checks);
        return result;
      },
      "The options in effect, with the number of workers filled in.");
  m.def(
      "wait_all", [] { without_gil([] { wait_all(); }); },
      "Waits until nothing is queued. Raises the Error of the first operation\n"
      "that has failed since the last call.");
  m.def(
      "memory_statistics",
      [] {
        MemoryStatistics statistics = memory_statistics();
        nb::dict result;
        result["in_use"] = statistics.in_use;
        result["peak"] = statistics.peak;
        result["cached"] = statistics.cached;
        result["limit"] = statistics.limit;
        return result;
      },
      "Bytes that tensors occupy, in_use, the most that they have, peak, what\n"
      "is kept for tensors to come, cached, and the limit; as of now.");
  m.def("reset_peak_memory", &reset_peak_memory);
  m.def("trim_memory", &trim_memory,
        "Gives what is cached back to the system.");
}

/// A context manager for a scope of C++'s, which may be entered again.
template <typename Scope, typename Value> class Context {
public:
  explicit Context(Value value) : value(value) {}
  Context(const Context &) = delete;
  void enter() { scopes.push_back(std::make_unique<Scope>(value)); }
  void exit(nb::args) { scopes.pop_back(); }

private:
  Value value;
  std::vector<std::unique_ptr<Scope>> scopes;
};

template <typename Scope, typename Value>
void bind_scope(nb::module_ &m, const char *name, const char *argument,
                const char *text) {
  using Bound = Context<Scope, Value>;
  nb::class_<Bound>(m, name, text)
      .def(nb::init<Value>(), nb::arg(argument))
      .def("__enter__", &Bound::enter)
      .def("__exit__", &Bound::exit, nb::arg("error"));
}

} // namespace

void bind_engine(nb::module_ &m) {
  bind_configuration(m);
  bind_scope<Autocast, DType>(
      m, "Autocast", "dtype",
      "`with` it, matmuls round operands of f32 to a dtype, \"bf16\" or\n"
      "\"f16\"; \"f32\" ends that within another one.");
  m.def(
      "autocast_dtype", [] { return autocast_dtype(); },
      "What matmuls round to; f32 without an Autocast.");
  bind_scope<DeviceScope, Device>(
      m, "DeviceScope", "device",
      "`with` it, what is created lies on a device, \"cpu\" or \"cuda:0\".");
  m.def("cuda_is_available", &cuda_is_available,
        "Whether there is a driver that sees a GPU of NVIDIA's.");
}

} // namespace tinh::python
