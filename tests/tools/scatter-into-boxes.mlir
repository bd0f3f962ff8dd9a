// Scatters by tuples that walk through a box in order are concatenations, to the
// values that the reference puts in place: by tuples narrower than x, from the end,
// over all of x, along the second dimension first, and beside what stays a scatter
// (in another order, twice to one place, sums).

// RUN: graph-compare %s --runs=1 --verify | FileCheck %s
// CHECK: against the reference: 0.00E+00

func.func @main(%x: tensor<4x5x6xf32> {graph.name = "x"}, %m: tensor<3x4xf32> {graph.name = "m"},
                %u: tensor<2x5x6xf32> {graph.name = "u"}, %all: tensor<4x5x6xf32> {graph.name = "all"},
                %v: tensor<2x2xf32> {graph.name = "v"})
    -> (tensor<4x5x6xf32> {graph.name = "narrow"}, tensor<4x5x6xf32> {graph.name = "end"},
        tensor<4x5x6xf32> {graph.name = "whole"}, tensor<3x4xf32> {graph.name = "columns"},
        tensor<4x5x6xf32> {graph.name = "backwards"}, tensor<4x5x6xf32> {graph.name = "twice"},
        tensor<4x5x6xf32> {graph.name = "sums"}) {
  %one = graph.constant dense<[[1], [2]]> : tensor<2x1xi64>
  %0 = graph.scatter_nd assign %x, %one, %u : tensor<4x5x6xf32>, tensor<2x1xi64>, tensor<2x5x6xf32>
  %last = graph.constant dense<[[-2], [-1]]> : tensor<2x1xi64>
  %1 = graph.scatter_nd assign %x, %last, %u : tensor<4x5x6xf32>, tensor<2x1xi64>, tensor<2x5x6xf32>
  %each = graph.constant dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>
  %2 = graph.scatter_nd assign %x, %each, %all : tensor<4x5x6xf32>, tensor<4x1xi64>, tensor<4x5x6xf32>
  %columns = graph.constant dense<[[[1, 2], [2, 2]], [[1, 3], [2, 3]]]> : tensor<2x2x2xi64>
  %3 = graph.scatter_nd assign %m, %columns, %v : tensor<3x4xf32>, tensor<2x2x2xi64>, tensor<2x2xf32>
  %back = graph.constant dense<[[2], [1]]> : tensor<2x1xi64>
  %4 = graph.scatter_nd assign %x, %back, %u : tensor<4x5x6xf32>, tensor<2x1xi64>, tensor<2x5x6xf32>
  // What is assigned first is overwritten in part alone.
  %5 = graph.scatter_nd assign %4, %last, %u : tensor<4x5x6xf32>, tensor<2x1xi64>, tensor<2x5x6xf32>
  %6 = graph.scatter_nd add %0, %one, %u : tensor<4x5x6xf32>, tensor<2x1xi64>, tensor<2x5x6xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<4x5x6xf32>, tensor<4x5x6xf32>, tensor<4x5x6xf32>, tensor<3x4xf32>, tensor<4x5x6xf32>, tensor<4x5x6xf32>, tensor<4x5x6xf32>
}
