/// Marks what an interceptor asks for on its own account, so that it lets these requests pass when they come along.
///
/// An interceptor that fetches a token through the session that it serves meets its own request: waiting for the token
/// before sending the request for the token would wait for ever. The mark travels with the task, so that it also holds for
/// what a caller's closure sends through the same session.
///
/// ```swift
/// func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
///   guard !stepAside.isActive else { return request }
///   let token = try await stepAside.perform { try await fetchToken(exchange.session) }
///   var request = request
///   request.fields["X-Token"] = token
///   return request
/// }
/// ```
///
/// Work that is shared by several exchanges runs in a task of its own: call ``perform(_:)`` within that task.
public final class StepAside: Sendable {
  @TaskLocal private static var active: Set<ObjectIdentifier> = []

  /// Makes a mark; its owner keeps it as a property.
  public init() {}

  /// Whether the current task works for the owner of this mark.
  public var isActive: Bool { Self.active.contains(ObjectIdentifier(self)) }

  /// For whom the current task works. Who waits for what others began, who do not work for all of them, may wait for those
  /// who wait for this task.
  static var owners: Set<ObjectIdentifier> { active }

  /// Does the work with the mark set, for everything that it calls and every task that it starts with `Task { }`.
  public func perform<Result>(_ work: () async throws -> Result) async rethrows -> Result {
    try await Self.$active.withValue(Self.active.union([ObjectIdentifier(self)])) { try await work() }
  }
}
