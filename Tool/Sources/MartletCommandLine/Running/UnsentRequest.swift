@_spi(Toolkit) @_spi(Transports) import MartletEngine
import MartletSemantics
@_spi(Transports) import MartletSockets
import Synchronization

/// Takes the place of the network for `--offline`: keeps the request as it would be written, and sends nothing.
final class UnsentRequest: Transport {
  /// The error of every request.
  struct NotSent: Error {}

  private let taken = Mutex<(head: WrittenHead, body: OpenBody?)?>(nil)

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let body = try await request.body.openUnlessEmpty()
    let head = try WrittenHead(of: request, body: body)
    taken.withLock { $0 = (head, body) }
    throw NotSent()
  }

  /// Makes the request, and shows the chosen parts of it.
  func show(_ call: PreparedCall, _ choice: OutputChoice, on output: any Output) async throws {
    do { _ = try await call.session.bytes(for: call.request) } catch {
      guard error.underlying is NotSent else { throw error }
    }
    guard let (head, body) = taken.withLock({ $0 }) else { return }
    if choice.parts.contains(.requestHead) {
      let text = MessageText(palette: choice.palette, redaction: .off, isSorted: choice.isSorted)
      try output.write(text.request(head) + (choice.parts.contains(.requestBody) && body != nil ? "\n" : ""))
    }
    guard choice.parts.contains(.requestBody), let body else { return }
    let shown = ResponseBody(length: body.length, from: body.source)
    try await BodyPrinter(choice, to: output).print(shown, type: head.fields.mediaType)
  }
}
