// What the ops with regions verify.
// RUN: graph-opt %s --split-input-file --verify-diagnostics

func.func @condition(%x: tensor<4xf32>, %c: tensor<1xi1>) -> tensor<4xf32> {
  // expected-note@-1 {{prior use here}}
  // expected-error@+1 {{use of value '%c' expects different type than prior uses: 'tensor<i1>' vs 'tensor<1xi1>'}}
  %y = graph.if %c : (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @branches(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  // expected-error@+1 {{what the second branch yields must have the types ('tensor<4xf32>'), found ()}}
  %y = graph.if %c : (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
  }
  return %y : tensor<4xf32>
}

// -----

func.func @arguments(%x: tensor<4xf32>, %c: tensor<i1>) {
  // expected-error@+1 {{1 values are carried, but 2 named after 'do'}}
  graph.while (%a = %x) : (tensor<4xf32>) {
    graph.condition %c
  } do (%a, %b) {
    graph.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @next(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  // expected-error@+1 {{what the body yields must have the types ('tensor<4xf32>'), found ('tensor<i1>')}}
  %y = graph.while (%a = %x) : (tensor<4xf32>) {
    graph.condition %c
  } do (%a) {
    graph.yield %c : tensor<i1>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @terminators(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  // expected-error@+1 {{the first region must end in graph.condition}}
  %y = graph.while (%a = %x) : (tensor<4xf32>) {
    graph.yield %a : tensor<4xf32>
  } do (%a) {
    graph.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @terminators(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  // expected-error@+1 {{the second region must end in graph.yield}}
  %y = graph.while (%a = %x) : (tensor<4xf32>) {
    graph.condition %c
  } do (%a) {
    graph.condition %c
  }
  return %y : tensor<4xf32>
}

// -----

func.func @rows(%x: tensor<3x4xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{tensor 0 must hold 2 rows of 'tensor<4xf32>', found 'tensor<3x4xf32>'}}
  %y = graph.scan %i length 2 over (%r = %x) : (tensor<3x4xf32>) -> (tensor<2x4xf32>) {
    graph.yield %r : tensor<4xf32>
  }
  return %y : tensor<2x4xf32>
}

// -----

func.func @stacked(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{stacked result 0 must hold 3 rows of 'tensor<4xf32>', found 'tensor<3xf32>'}}
  %y = graph.scan %i length 3 over (%r = %x) : (tensor<3x4xf32>) -> (tensor<3xf32>) {
    graph.yield %r : tensor<4xf32>
  }
  return %y : tensor<3xf32>
}

// -----

func.func @scalars(%x: tensor<f32>) {
  // expected-error@+1 {{'tensor<f32>' has no first dimension to take rows along}}
  graph.scan %i length 3 over (%r = %x) : (tensor<f32>) -> () {
    graph.yield
  }
  return
}

// -----

func.func @negative() {
  // expected-error@+1 {{cannot run -1 times}}
  graph.scan %i length -1 : () -> () {
    graph.yield
  }
  return
}

// -----

func.func @results(%x: tensor<4xf32>) {
  // expected-error@+1 {{1 values are carried, but there are 0 results}}
  graph.scan %i length 3 carry (%a = %x) : (tensor<4xf32>) -> () {
    graph.yield
  }
  return
}

// -----

func.func @yielded(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  // expected-error@+1 {{the region must yield 2 values, found 1}}
  %y = graph.scan %i length 3 while %c carry (%a = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    graph.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @condition(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  // expected-error@+1 {{the next condition must have the types ('tensor<i1>'), found ('tensor<4xf32>')}}
  %y = graph.scan %i length 3 while %c carry (%a = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    graph.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @arguments(%x: tensor<4xf32>) {
  // expected-error@+1 {{the region must have 2 arguments, found 1}}
  "graph.scan"(%x) <{length = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
  ^bb0(%i: tensor<i64>):
    "graph.yield"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @index(%x: tensor<4xf32>) {
  // expected-error@+1 {{the region's first argument must have the types ('tensor<i64>'), found ('tensor<i32>')}}
  "graph.scan"() <{length = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 0, 0>}> ({
  ^bb0(%i: tensor<i32>):
    "graph.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @kernel(%x: tensor<4xf32>, %c: tensor<i1>) {
  %y = graph.kernel (%a = %x, %d = %c) : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32> {
    // expected-error@+1 {{a kernel cannot branch}}
    %0 = graph.if %d : (tensor<4xf32>) {
      graph.yield %a : tensor<4xf32>
    } else {
      graph.yield %a : tensor<4xf32>
    }
    graph.yield %0 : tensor<4xf32>
  }
  return
}
