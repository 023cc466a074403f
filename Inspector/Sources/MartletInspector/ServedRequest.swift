import MartletEngine
@_spi(Toolkit) public import MartletSemantics
@_spi(Toolkit) public import MartletServer
import Synchronization

extension Inspector {
  /// Shows a request that a local server answers, as if it were a call; nil if its target is not a path.
  @_spi(Toolkit) public func begin(_ received: ReceivedRequest) -> ServedRequest? {
    let host = received.fields[.host] ?? "localhost"
    let scheme = received.handshake == nil ? "http" : "https"
    guard received.target.hasPrefix("/"), let url = URL(text: "\(scheme)://\(host)\(received.target)") else {
      return nil
    }
    let request = HTTPRequest(received.method, url, fields: received.fields)
    let number = Self.served.add(1, ordering: .relaxed).newValue
    guard let record = log.begin(number, label: nil, request) else { return nil }
    log.update(record, .attempt(1, request))
    log.update(record, .sending(request.head))
    return ServedRequest(record: record, log: log, url: url)
  }
}

/// A request that is being answered.
@_spi(Toolkit) public struct ServedRequest: Sendable {
  let record: RecordedCall
  let log: CallLog
  let url: URL

  /// Adds bytes of the request's body.
  public func receive(_ chunk: Data) { log.update(record, .bytes(chunk, .sent, attempt: 1)) }

  /// Adds the reply, which is about to be sent, with the beginning of its body.
  public func end(_ reply: Reply) {
    log.update(record, .response(ResponseHead(status: reply.status, fields: reply.fields), from: url))
    if let bytes = reply.beginning(upTo: log.bodyLimit), !bytes.isEmpty {
      log.update(record, .bytes(bytes, .received, attempt: 1))
    }
    if let length = reply.length {
      log.update(record, .progress(.init(.received, completed: length, total: length)))
    }
    log.update(record, .finished(nil))
  }
}
