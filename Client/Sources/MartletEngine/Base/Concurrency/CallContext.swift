import Synchronization

/// The calls for which the current code runs. The requests of an interceptor, an observer or a token renewal carry
/// them, so that none of these waits for a call that waits for it.
///
/// The context is a task-local value. Everything that such code awaits inherits it, and so does every `Task { }` that
/// it starts. Code that continues on a dispatch queue or in a `Task.detached { }` has to pass it on:
///
/// ```swift
/// let tokens = TokenSource(for: .origin(of: api)) { old in
///   let context = CallContext.current
///   return try await Task.detached {
///     // It may use the session that needs the token.
///     try await context.perform { try await login.refresh(old?.refreshToken) }
///   }.value
/// }
/// ```
///
/// A request may wait for work that another request has begun: for the response to an identical request, or for the
/// renewal of a token. If that work itself waits for a call of the context, the request continues on its own: without
/// the token, or even though an identical request is in progress. If the context was lost, such a wait lasts no longer
/// than ``RequestOptions/responseTimeout``, 60 seconds by default.
public struct CallContext: Sendable {
  @TaskLocal private static var innermost: (any Work)?

  /// The innermost call or shared work; nil if the code runs for neither.
  let work: (any Work)?

  init(_ work: (any Work)?) { self.work = work }

  /// The context of the current code, without calls that have ended.
  public static var current: CallContext {
    guard innermost != nil else { return CallContext(nil) }
    let context = CallContext(innermost).live
    for _ in context.works {}  // releases ended outer works, so that requests of requests do not accumulate
    return context
  }

  /// The context without the ended works at its beginning.
  var live: CallContext {
    var context = self
    while let work = context.work, work.isOver { context = work.parent }
    return context
  }

  /// Whether work of this owner is part of the context.
  @_spi(Toolkit) public func contains(_ owner: UniqueID) -> Bool { works.contains { $0.owner == owner && !$0.isOver } }

  /// The context of code that runs for no call and for no shared work.
  @_spi(Toolkit) public static let none = CallContext(nil)

  /// Whether the code runs neither for a call nor for work that several callers share, such as the load of an image.
  public var isEmpty: Bool { work == nil }

  /// Runs code for the calls of this context, and for no others.
  public func perform<Result>(_ work: () throws -> Result) rethrows -> Result {
    try Self.$innermost.withValue(self.work) { try work() }
  }

  /// Runs code for the calls of this context, and for no others.
  public func perform<Result>(
    isolation: isolated (any Actor)? = #isolation, _ work: () async throws -> Result
  ) async rethrows -> Result {
    try await Self.$innermost.withValue(self.work, operation: work)
  }

  /// The identity of the nearest work that several calls share, and that has an owner; nil if there is none.
  @_spi(Toolkit) public var sharedWork: ObjectIdentifier? {
    works.first { $0.owner != nil }.map { ObjectIdentifier($0) }
  }

  /// The place, in the order of calls, of the nearest work of the current code that several calls share and that has an
  /// owner, even if the work is over: it may have been discarded. nil if there is none.
  static var positionOfSharedWork: UInt64? { CallContext(innermost).works.first { $0.owner != nil }?.position }

  /// The works, from the innermost outwards.
  package var works: some Sequence<any Work> {
    sequence(state: work) { next in
      next.take().map { work in
        next = work.parent.work
        return work
      }
    }
  }
}

/// The context in which work began: the calls for which it is done. It releases works that have ended.
struct ParentContext: ~Copyable, Sendable {
  private let context: Mutex<CallContext>

  init(_ context: CallContext = .current) { self.context = Mutex(context) }

  var live: CallContext {
    let context = context.withLock { $0 }
    let live = context.live
    if live.work !== context.work { self.context.withLock { $0 = live } }
    return live
  }
}
