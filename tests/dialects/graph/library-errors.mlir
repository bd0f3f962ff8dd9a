// What graph.library may be.
// RUN: graph-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'graph.library' must be a #graph.library<…>}}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {graph.library = 1 : i64}

// -----

// expected-error @+1 {{'graph.library' has a view of operand 3, which does not exist}}
func.func private @k(%x: tensor<2x4xf32>, %y: tensor<4x3xf32>) -> tensor<2x3xf32> attributes {graph.library = #graph.library<matmul, left = <0, [1, 2, 4], [0, 4, 1]>, right = <3, [1, 4, 3], [0, 3, 1]>, result = <2, [1, 2, 3], [0, 3, 1]>>}

// -----

// expected-error @+1 {{'graph.library' has a view of 14 elements of operand 1, which has 12}}
func.func private @k(%x: tensor<2x4xf32>, %y: tensor<4x3xf32>) -> tensor<2x3xf32> attributes {graph.library = #graph.library<matmul, left = <0, [1, 2, 4], [0, 4, 1]>, right = <1, [1, 4, 3], [0, 3, 2]>, result = <2, [1, 2, 3], [0, 3, 1]>>}

// -----

// expected-error @+1 {{the views of a product are b × m × k, b × k × n and b × m × n}}
#p = #graph.library<matmul, left = <0, [1, 2, 4], [0, 4, 1]>, right = <1, [1, 5, 3], [0, 3, 1]>, result = <2, [1, 2, 3], [0, 3, 1]>>

// -----

// expected-error @+1 {{what is added has the result's shape}}
#p = #graph.library<matmul, left = <0, [1, 2, 4], [0, 4, 1]>, right = <1, [1, 4, 3], [0, 3, 1]>, result = <2, [1, 2, 3], [0, 3, 1]>, bias = <3, [3], [1]>>

// -----

// expected-error @+1 {{a view has up to 5 dimensions with a stride each, found 3 and 2}}
#p = #graph.view<0, [1, 2, 4], [4, 1]>

// -----

// expected-error @+1 {{a view has positive extents and no negative strides}}
#p = #graph.view<0, [1, 2, 4], [0, -4, 1]>

// -----

// expected-error @+1 {{a convolution has a window, and no product has one}}
#p = #graph.library<convolution, left = <0, [1, 4, 5, 5], [100, 1, 20, 4]>, right = <1, [2, 4, 3, 3], [36, 1, 12, 4]>, result = <2, [1, 2, 3, 3], [18, 1, 6, 2]>>

// -----

// expected-error @+1 {{the window does not come to the result in dimension 0}}
#p = #graph.library<convolution, left = <0, [1, 4, 5, 5], [100, 1, 20, 4]>, right = <1, [2, 4, 3, 3], [36, 1, 12, 4]>, result = <2, [1, 2, 3, 3], [18, 1, 6, 2]>, window = <low = [1, 0], high = [0, 0], strides = [1, 1], dilations = [1, 1]>>

// -----

// expected-error @+1 {{channels of a convolution do not fit its groups}}
#p = #graph.library<convolution, left = <0, [1, 4, 5, 5], [100, 1, 20, 4]>, right = <1, [2, 3, 3, 3], [27, 1, 9, 3]>, result = <2, [1, 2, 3, 3], [18, 1, 6, 2]>, window = <low = [0, 0], high = [0, 0], strides = [1, 1], dilations = [1, 1]>>
