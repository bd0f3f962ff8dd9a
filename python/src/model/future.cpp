//===- future.cpp - What a queued run will give -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bindings.h"
#include "function.h"

#include <nanobind/stl/optional.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tinh::python {

namespace {

/// Of a run, with its arrays; the methods are those of
/// concurrent.futures.Future.
class PythonFuture {
public:
  PythonFuture(const Function &function, nb::handle args, nb::handle kwargs)
      : engine(function.on()), future(function.submit(args, kwargs, run)) {}
  PythonFuture(PythonFuture &&) = default;
  ~PythonFuture() {
    if (future.handle() && !future.done())
      engine->keep(std::move(future), std::move(run));
  }

  bool done() const { return future.done(); }
  bool cancel() const { return future.cancel(); }

  nb::object result(std::optional<double> timeout) const {
    wait(timeout);
    future.wait();
    return used_result(run);
  }

  nb::object exception(std::optional<double> timeout) const {
    wait(timeout);
    try {
      future.wait();
      return nb::none();
    } catch (const Error &error) {
      return make_error(error);
    }
  }

  void notify(std::function<void()> callback) const {
    engine->notify(future, std::move(callback));
  }

private:
  /// Returns when it is done. Ctrl-C ends the wait, not the run.
  void wait(std::optional<double> timeout) const;

  EngineRef engine;
  Run run;
  Future future;
};

void PythonFuture::wait(std::optional<double> timeout) const {
  if (future.done())
    return;
  if (Engine::isInCallback())
    throw Error(TINH_BUSY, "waiting for a run would block a callback of a run, "
                           "whose thread other runs may need");
  struct Signal {
    std::mutex mutex;
    std::condition_variable condition;
    bool is_set = false;
  };
  auto signal = std::make_shared<Signal>();
  future.then([signal](tinh_status_t, const char *) {
    std::lock_guard lock(signal->mutex);
    signal->is_set = true;
    signal->condition.notify_all();
  });
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  Clock::time_point begin = Clock::now();
  auto waited = [&] { return Seconds(Clock::now() - begin).count(); };
  while (!future.done()) {
    double left = timeout ? *timeout - waited() : 1;
    if (left <= 0) {
      PyErr_SetString(PyExc_TimeoutError, "the run has not completed in time");
      nb::raise_python_error();
    }
    without_gil([&] {
      std::unique_lock lock(signal->mutex);
      signal->condition.wait_for(lock, Seconds(std::min(left, 0.1)),
                                 [&] { return signal->is_set; });
    });
    if (PyErr_CheckSignals() != 0)
      nb::raise_python_error();
  }
}

/// Gives the future of an event loop what the run has given, on the loop's
/// thread.
void settle(nb::object waiter, const PythonFuture &future) {
  if (nb::cast<bool>(waiter.attr("done")()))
    return;
  nb::object error = future.exception(std::nullopt);
  if (error.is_none())
    waiter.attr("set_result")(future.result(std::nullopt));
  else
    waiter.attr("set_exception")(error);
}

/// For await: an asyncio.Future that the event loop settles.
nb::object await(nb::handle self) {
  nb::object loop = nb::module_::import_("asyncio").attr("get_running_loop")();
  nb::object waiter = loop.attr("create_future")();
  nb::object future = nb::borrow(self);
  nb::object wake = nb::cpp_function(&settle);
  nb::cast<PythonFuture &>(self).notify([=] {
    try {
      loop.attr("call_soon_threadsafe")(wake, waiter, future);
    } catch (nb::python_error &) {
      // The loop has been closed: nobody waits any more.
    }
  });
  return waiter.attr("__await__")();
}

void add_done_callback(nb::handle self, nb::object callback) {
  if (!PyCallable_Check(callback.ptr()))
    throw nb::type_error("the callback cannot be called");
  nb::object future = nb::borrow(self);
  nb::cast<PythonFuture &>(self).notify([=] {
    try {
      callback(future);
    } catch (nb::python_error &error) {
      error.restore();
      PyErr_WriteUnraisable(callback.ptr());
    }
  });
}

} // namespace

nb::object submit(const Function &function, nb::args args, nb::kwargs kwargs) {
  return nb::cast(PythonFuture(function, args, kwargs));
}

void bind_future(nb::module_ &module) {
  nb::class_<PythonFuture>(
      module, "Future",
      "A queued run, as concurrent.futures has it; ``await`` works as well.\n\n"
      "The arrays of the run are kept until it is done; inputs must not be\n"
      "changed before.")
      .def("result", &PythonFuture::result, nb::arg("timeout") = nb::none(),
           "What the call would have returned, once it is there. TimeoutError\n"
           "after `timeout` seconds; Error if the run failed.")
      .def("exception", &PythonFuture::exception,
           nb::arg("timeout") = nb::none(),
           "The Error that the run ended with, or None.")
      .def("done", &PythonFuture::done, "Whether the run has ended.")
      .def("cancel", &PythonFuture::cancel,
           "Cancels a run that has not started: whether that was so.")
      .def(
          "add_done_callback", &add_done_callback, nb::arg("callback"),
          "Calls `callback(future)` once the run has ended, on another thread\n"
          "or, if it has already, here. It must not wait for a run.")
      .def("__await__", &await);
}

} // namespace tinh::python
