// RUN: graph-opt %s --split-input-file --outline-constants --verify-diagnostics

// expected-error @below {{has no function to take constants from}}
module {
  func.func private @other() {
    return
  }
}

// -----

module {
  // expected-error @below {{@init exists already; constants are outlined once}}
  func.func @init() {
    return
  }
  func.func @main() {
    return
  }
}
