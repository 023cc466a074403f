package import Testing

/// Returns when the condition is true, for states whose changes nothing reports. It looks each millisecond, and leaves
/// the processor to others in between.
///
/// - Throws: `CancellationError` when the time of the test is up. The issue then names the line that waited.
package func until(
  sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
  while try await !condition() {
    if Task.isCancelled { Issue.record("the condition has not become true", sourceLocation: sourceLocation) }
    try await Task.sleep(for: .milliseconds(1))
  }
}
