import Testing

/// An argument of a test with a name that is printed in its place: Swift Testing prints the whole value when a case
/// starts, and a giant text, or one of many lines, would bury the rest of the log.
package struct Named<Value: Sendable>: Sendable, CustomTestStringConvertible {
  package let testDescription: String
  package let value: Value

  package init(_ name: String, _ value: Value) { (testDescription, self.value) = (name, value) }
}
