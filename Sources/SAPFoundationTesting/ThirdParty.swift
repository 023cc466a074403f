public import MartletSemantics
public import MartletTesting

/// A server that belongs to somebody else: to see what reaches it that should not.
///
/// ```swift
/// let stranger = try ThirdParty()
/// service.answer("/backend/x", with: .redirect(to: stranger.url.absoluteString))
/// …
/// #expect(stranger.values(of: "X-SMP-APPID").isEmpty)
/// ```
public final class ThirdParty: Sendable {
  private let server: LoopbackServer

  /// Starts it on a free port: another origin than every other server's. It answers everything with the text `elsewhere`,
  /// or with this.
  ///
  /// - Throws: `LoopbackServerError` if it cannot listen.
  public init(_ reply: Reply = .text("elsewhere")) throws(LoopbackServerError) {
    server = try LoopbackServer { _ in reply }
  }

  /// Where it listens.
  public var url: URL { server.url("/") }

  /// Everything that was asked of it.
  public var requests: [ReceivedRequest] { server.requests }

  /// What it was told in a field, over all requests.
  public func values(of field: FieldName) -> [String] { requests.flatMap { $0.fields[values: field] } }
}
