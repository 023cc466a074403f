#if os(Linux)
@_spi(Transports) @testable import MartletEngine
@_spi(Toolkit) @_spi(Transports) @testable import MartletSemantics
@testable import MartletWebSocket

/// Frames of a WebSocket's server. The events do not depend on how the bytes are cut, and a fault comes at the same
/// event. No step makes more of the bytes than it may.
enum WebSocketFrames {
  fileprivate struct Events: Equatable {
    var events: [String] = []
    var fault: WebSocketFault?
    /// The current message.
    var message: [UInt8] = []
  }

  static func run(_ input: inout Input) {
    let agreement = input.choice(of: [nil, DeflateAgreement(), resetting])
    let ratio = input.choice(of: [nil, 2])
    let pieces = input.pieces()
    let (whole, parts) = (events(of: [input.bytes[...]], agreement, ratio), events(of: pieces, agreement, ratio))
    check(whole.events == parts.events, "cut: \(parts), whole: \(whole)")
    check(whole.fault?.code == parts.fault?.code, "cut: \(parts), whole: \(whole)")
    if whole.fault == nil { check(whole.message == parts.message, "cut: \(parts), whole: \(whole)") }
  }

  private static let resetting: DeflateAgreement = {
    var agreement = DeflateAgreement()
    (agreement.serverResets, agreement.serverWindowBits) = (true, 9)
    return agreement
  }()

  private static func events(
    of pieces: [ArraySlice<UInt8>], _ agreement: DeflateAgreement?, _ ratio: Int?
  ) -> Events {
    var reader = FrameReader(agreement, ratioLimit: ratio)
    var result = Events()
    do throws(WebSocketFault) {
      for piece in pieces where !piece.isEmpty {
        reader.add(Data(piece))
        while let event = try reader.next() {
          result.add(event)
          if case .close = event { return result }  // nothing after it is read
        }
      }
    } catch { result.fault = error }
    return result
  }
}

extension WebSocketFrames.Events {
  fileprivate mutating func add(_ event: FrameReader.Event) {
    switch event {
    case .piece(let piece):
      check(!piece.bytes.isEmpty || piece.isLast, "an empty piece")
      message += piece.bytes
      guard piece.isLast else { return }
      if piece.isText { check(String(validating: message, as: UTF8.self) != nil, "not UTF-8: \(message)") }
      events.append("\(piece.isText) \(message)")
      message = []
    case .nothing: break
    case .ping(let payload): events.append("ping \([UInt8](payload))")
    case .pong(let payload): events.append("pong \([UInt8](payload))")
    case .close(let frame): events.append("close \(frame)")
    }
  }
}
#endif
