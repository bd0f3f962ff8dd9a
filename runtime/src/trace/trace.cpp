//===- trace.cpp - Traces in Chrome's format --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps are complete events ("X") on one track for each worker, within those of
// the loops' iterations, and segments of steps, and loose steps, on one for the
// GPU; runs and collectives are asynchronous events ("b", "e"), since they
// overlap.
//
//===----------------------------------------------------------------------===//
#include "trace/trace.h"

#include "files/atomic_file.h"
#include "support/error.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <sys/stat.h>

namespace tinh::runtime {

/// A pipe or a device, which cannot be written as a whole.
static bool is_stream(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
         !S_ISDIR(status.st_mode);
}

static void write_stream(const std::string &path, const std::string &text) {
  FILE *file = std::fopen(path.c_str(), "w");
  bool written =
      file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = errno;
  if (file && std::fclose(file) != 0 && written) {
    written = false;
    error = errno;
  }
  if (!written)
    throw_error(TINH_IO_ERROR,
                {"cannot write '", path, "': ", errno_text(error)});
}

Trace::Trace(std::string path, uint32_t num_workers)
    : path(std::move(path)), start(trace_clock()), workers(num_workers) {
  // So that an unwritable path is told before the runs, not after.
  if (this->path.empty())
    return;
  if (!is_stream(this->path))
    AtomicFile(this->path);
  else if (access(this->path.c_str(), W_OK) != 0)
    throw_error(TINH_IO_ERROR,
                {"cannot write '", this->path, "': ", errno_text(errno)});
}

void Trace::drop(Track &track, uint64_t run, uint64_t count) {
  track.dropped += count;
  if (count > 0)
    track.first_dropped = std::min(track.first_dropped, run);
}

void Trace::add(Track &track, const Event &event) {
  try {
    if (track.events.size() < kMaxEvents) {
      track.events.push_back(event);
      return;
    }
  } catch (...) { // Out of memory: a trace is no reason to stop a run.
  }
  drop(track, event.run, 1);
}

void Trace::add_step(uint32_t worker, const tinh_function_desc_t &function,
                     uint32_t step, uint64_t run, int64_t begin, int64_t end,
                     int64_t iteration) {
  add(workers[worker], {&function, step, run, begin, end, iteration});
}

void Trace::add_call(uint32_t worker, const tinh_function_desc_t &function,
                     uint32_t step, uint64_t run, int64_t begin, int64_t end,
                     const char *what) {
  add(workers[worker],
      {&function, step, run, begin, end, kNoIteration, 1, what});
}

void Trace::drop_segments(uint64_t run, uint64_t count) {
  std::lock_guard lock(runs_mutex);
  drop(device, run, count);
}

void Trace::forget() {
  if (!path.empty())
    return;
  for (Track &track : workers)
    track = {};
  runs = {};
  device = {};
  collectives = {};
}

void Trace::add_segment(const tinh_function_desc_t &function, uint32_t step,
                        uint32_t count, uint64_t run, int64_t begin,
                        int64_t end) {
  std::lock_guard lock(runs_mutex);
  add(device, {&function, step, run, begin, end, kNoIteration, count});
}

void Trace::add_run(const tinh_function_desc_t &function, uint64_t run,
                    int64_t submitted, int64_t completed) {
  std::lock_guard lock(runs_mutex);
  add(runs, {&function, 0, run, submitted, completed, kNoIteration});
}

void Trace::add_collective(const tinh_function_desc_t &function, uint32_t step,
                           uint64_t run, int64_t begin, int64_t end) {
  std::lock_guard lock(runs_mutex);
  add(collectives, {&function, step, run, begin, end, kNoIteration});
}

static std::string quoted(const char *text) {
  std::string out = "\"";
  for (const char *c = text ? text : ""; *c; ++c) {
    if (*c == '"' || *c == '\\')
      out += '\\';
    if (static_cast<unsigned char>(*c) < 0x20)
      out += ' ';
    else
      out += *c;
  }
  return out + '"';
}

static const char *name_of(const tinh_step_t &step,
                           const tinh_artifact_t &artifact) {
  switch (step.opcode) {
  case TINH_OP_DISPATCH:
    return artifact.kernels[step.kernel].name;
  case TINH_OP_COPY:
    return "copy";
  case TINH_OP_ZERO:
    return "zero";
  case TINH_OP_START:
    return "start a collective";
  case TINH_OP_AWAIT:
    return "await a collective";
  default:
    return "iteration";
  }
}

static std::string microseconds(int64_t nanoseconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f",
                static_cast<double>(nanoseconds) / 1000);
  return text;
}

/// A thread's track, with a name.
void Trace::append(std::string &json, const Track &track, size_t id,
                   const std::string &name,
                   const tinh_artifact_t &artifact) const {
  json += message_of({",\n{\"ph\":\"M\",\"pid\":1,\"tid\":", id,
                      ",\"name\":\"thread_name\",\"args\":{\"name\":",
                      quoted(name.c_str()), "}}"});
  for (const Event &event : track.events) {
    const tinh_step_t &step = event.function->steps[event.step];
    std::string what = event.what ? event.what : name_of(step, artifact);
    std::string iteration;
    if (event.count > 1)
      what += message_of({" and ", event.count - 1, " more"});
    if (event.iteration != kNoIteration)
      iteration = message_of({",\"iteration\":", event.iteration});
    json += message_of({",\n{\"ph\":\"X\",\"pid\":1,\"tid\":", id,
                        ",\"name\":", quoted(what.c_str()),
                        ",\"ts\":", microseconds(event.begin - start),
                        ",\"dur\":", microseconds(event.end - event.begin),
                        ",\"args\":{\"nodes\":", quoted(step.label),
                        ",\"step\":", event.step, ",\"run\":", event.run,
                        iteration, "}}"});
  }
}

/// Runs, which have the numbers of their own, or what is in them.
void Trace::append_spans(std::string &json, const Track &track,
                         const char *category) const {
  uint64_t number = 0;
  for (const Event &event : track.events) {
    bool is_run = &track == &runs;
    std::string common = message_of(
        {",\"cat\":", quoted(category), ",\"pid\":1,\"tid\":0,\"id\":",
         is_run ? event.run : number++, ",\"name\":",
         quoted(is_run ? event.function->name
                       : event.function->steps[event.step].label)});
    json +=
        message_of({",\n{\"ph\":\"b\"", common,
                    ",\"ts\":", microseconds(event.begin - start),
                    ",\"args\":{\"step\":", event.step, ",\"run\":", event.run,
                    "}}", ",\n{\"ph\":\"e\"", common,
                    ",\"ts\":", microseconds(event.end - start), "}"});
  }
}

std::string Trace::to_json(const tinh_artifact_t &artifact) const {
  std::string json = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                     "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\","
                     "\"args\":{\"name\":" +
                     quoted(artifact.model) + "}}";
  uint64_t dropped = runs.dropped + device.dropped + collectives.dropped;
  for (size_t worker = 0; worker < workers.size(); ++worker) {
    append(json, workers[worker], worker, "worker " + std::to_string(worker),
           artifact);
    dropped += workers[worker].dropped;
  }
  if (!device.events.empty())
    append(json, device, workers.size(), "GPU", artifact);
  append_spans(json, runs, "run");
  append_spans(json, collectives, "collective");
  json +=
      message_of({"\n],\"otherData\":{\"dropped_events\":", dropped, "}}\n"});
  return json;
}

void Trace::write(const tinh_artifact_t &artifact) const {
  if (path.empty())
    return;
  std::string json = to_json(artifact);
  if (is_stream(path))
    return write_stream(path, json);
  AtomicFile file(path);
  file.write(json.data(), json.size());
  file.keep();
}

} // namespace tinh::runtime
