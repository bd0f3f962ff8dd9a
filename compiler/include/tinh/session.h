//===- tinh/session.h - Graphs that are built by hand -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The other way round: first the graph, then what to compute of it, then the
// values.
//
//   tinh::Graph graph;
//   tinh::Graph::Scope scope(graph);
//   Tensor x = graph.placeholder("x", {64, 1000});
//   Tensor w = graph.variable("w", tinh::normal({1000, 10}, generator));
//   Tensor y = relu(matmul(x, w));
//   Tensor update = graph.assign(w, w * 0.9);
//
//   tinh::Session session(graph);
//   std::vector<Tensor> results = session.run({y, update}, {{x, pixels}});
//
// A run computes what its fetches need and nothing else. The first run with the
// same fetches compiles them. A random generator that these draw from goes on
// with each run.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_SESSION_H
#define TINH_SESSION_H

#include "tinh/tensor.h"

#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace tinh {

/// To be used by one thread at a time.
class Graph {
public:
  Graph();
  ~Graph();
  Graph(const Graph &) = delete;

  /// While it lives, what this thread does with tensors is recorded in the
  /// graph. Tensors with values that are used become constants of it.
  class Scope {
  public:
    explicit Scope(Graph &graph);
    ~Scope();
    Scope(const Scope &) = delete;

  private:
    class Impl;
    std::unique_ptr<Impl> impl;
  };

  /// What a run is fed.
  Tensor placeholder(const std::string &name, const Shape &shape,
                     DType dtype = float32);
  /// What each session has of its own, from `initial` on.
  Tensor variable(const std::string &name, const Tensor &initial);
  /// The variable's next value: a run that fetches it stores it. All fetches of
  /// a run see the variables as they were before.
  Tensor assign(const Tensor &variable, const Tensor &value);

private:
  friend class Session;
  class Impl;
  std::shared_ptr<Impl> impl;
};

/// To be used by one thread at a time.
class Session {
public:
  using Feeds = std::vector<std::pair<Tensor, Tensor>>;

  explicit Session(const Graph &graph);

  /// The values of `fetches`, tensors of the graph; `feeds` are placeholders
  /// with their values. Returns at once, as operations on tensors do.
  std::vector<Tensor>
  run(const std::vector<Tensor> &fetches, const Feeds &feeds = {},
      std::source_location at = std::source_location::current());

  /// What a variable holds; it is changed by later runs.
  Tensor value(const Tensor &variable) const;

private:
  class Impl;
  std::shared_ptr<Impl> impl;
};

} // namespace tinh

#endif // TINH_SESSION_H
