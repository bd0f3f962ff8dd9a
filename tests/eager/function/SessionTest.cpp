//===- SessionTest.cpp - Tests of graphs built by hand ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/session.h"
#include "Expect.h"

using namespace tinh;
using namespace tinh::test;

TEST(Session, ComputesFetchesFromFeeds) {
  Graph graph;
  Tensor x, y, sum, product;
  {
    Graph::Scope scope(graph);
    x = graph.placeholder("x", 2);
    y = graph.placeholder("y", 2);
    sum = x + y;
    product = x * y;
  }
  Session session(graph);
  auto results = session.run(
      {sum, product}, {{x, tensor({1.0, 2.0})}, {y, tensor({3.0, 4.0})}});
  expectValues(results[0], {4, 6});
  expectValues(results[1], {3, 8});
}

TEST(Session, PrunesWhatFetchesDoNotNeed) {
  Tensor pixels = ones(2), found;
  Graph graph;
  {
    Graph::Scope scope(graph); // Runs are not recorded.
    Tensor x = graph.placeholder("x", 2), y = graph.placeholder("y", 2);
    Tensor twice = x * 2, sum = x + y;
    Session session(graph);
    found = session.run({twice}, {{x, pixels}})[0];
    expectError([&] { session.run({sum}, {{x, pixels}}); },
                "placeholder 'y' is needed for the fetches and not fed");
  }
  expectValues(found, {2, 2});
}

TEST(Session, KeepsVariables) {
  Graph graph;
  Tensor initial = ones(2), w, x, update;
  Session first(graph), second(graph);
  {
    Graph::Scope scope(graph);
    w = graph.variable("w", initial);
    x = graph.placeholder("x", 2);
    update = graph.assign(w, w - x * 0.5);
  }
  auto results = first.run({w, update}, {{x, ones(2)}});
  expectValues(results[0], {1, 1});
  expectValues(results[1], {0.5, 0.5});
  first.run({update}, {{x, ones(2)}});
  expectValues(first.value(w), {0, 0});
  expectValues(second.value(w), {1, 1});
  expectValues(initial, {1, 1});
}

TEST(Session, ChecksFeeds) {
  Tensor wrong = ones({3, 2});
  Graph graph;
  Graph::Scope scope(graph);
  Tensor x = graph.placeholder("x", {2, 3});
  Tensor y = x + 1;
  Session session(graph);
  expectError([&] { session.run({y}, {{x, wrong}}); },
              "placeholder 'x' is f32[2, 3], but fed f32[3, 2]");
  expectError([&] { session.run({y}, {{x, ones({2, 3})}}); },
              "is fed a tensor of a graph");
  expectError([&] { graph.assign(y, y); }, "not a variable");
}

TEST(Session, TellsVariablesWithEqualUpdatesApart) {
  Graph graph;
  Tensor a, b, sum, updateA, updateB;
  Tensor one = full(2, 1.0), two = full(2, 2.0);
  {
    Graph::Scope scope(graph);
    a = graph.variable("a", one);
    b = graph.variable("b", two);
    sum = a + b;
    updateA = graph.assign(a, sum);
    updateB = graph.assign(b, sum);
  }
  Session session(graph);
  session.run({updateA});
  expectValues(session.value(a), {3, 3});
  expectValues(session.value(b), {2, 2});
  session.run({updateB, updateB});
  expectValues(session.value(a), {3, 3});
  expectValues(session.value(b), {5, 5});
  session.run({sum, sum});
  expectValues(session.value(b), {5, 5});
}

TEST(Session, SwapsVariables) {
  Graph graph;
  Tensor a, b, updateA, updateB, again;
  Tensor one = full(2, 1.0), two = full(2, 2.0);
  {
    Graph::Scope scope(graph);
    a = graph.variable("a", one);
    b = graph.variable("b", two);
    updateA = graph.assign(a, b);
    updateB = graph.assign(b, a);
    again = graph.assign(a, a * 3);
  }
  Session session(graph);
  std::vector<Tensor> fetched = session.run({updateA, updateB, a});
  expectValues(fetched[0], {2, 2});
  expectValues(fetched[1], {1, 1});
  expectValues(fetched[2], {1, 1});
  expectValues(session.value(a), {2, 2});
  expectValues(session.value(b), {1, 1});
  expectError([&] { session.run({updateA, again}); },
              "variable 'a' is given two values");
}

TEST(Session, DrawsOn) {
  Graph graph;
  Tensor drawn;
  Generator generator(5);
  {
    Graph::Scope scope(graph);
    drawn = uniform(6, generator);
  }
  Session session(graph);
  Generator same(5, generator.counter());
  for (int run = 0; run < 2; ++run)
    expectValues(session.run({drawn})[0], uniform(6, same).to_vector<double>());
}
