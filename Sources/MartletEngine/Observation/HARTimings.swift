import MartletSemantics

/// When something happened to an attempt, by the recorder's own clock: what there is where the transport measured nothing.
struct HARMarks: Sendable {
  /// The last byte of the request's body was sent.
  var sent: Duration?
  /// The response's head was there.
  var head: Duration?
  /// The attempt was over.
  var end = Duration.zero
}

extension HAR.Timings {
  /// Where the time of an attempt went. What the transport measured counts; a transport tells of a whole response only,
  /// and for the others there are the marks.
  init(_ marks: HARMarks, _ metrics: TransferMetrics?) {
    self.init()
    guard let metrics else {
      let head = marks.head ?? marks.end
      send = min(marks.sent ?? .zero, head).inMilliseconds
      wait = head.inMilliseconds - send
      receive = max(.zero, marks.end - head).inMilliseconds
      return
    }
    let connected = max(metrics.connect, metrics.secureConnect)
    if !metrics.reusedConnection {
      dns = metrics.nameLookup.inMilliseconds
      connect = max(.zero, connected - metrics.nameLookup).inMilliseconds
      if metrics.secureConnect > metrics.connect { ssl = (metrics.secureConnect - metrics.connect).inMilliseconds }
    }
    let ready = metrics.reusedConnection ? .zero : max(metrics.nameLookup, connected)
    blocked = max(.zero, metrics.requestStart - ready).inMilliseconds
    let start = max(metrics.requestStart, ready)
    let first = max(metrics.firstByte, start)
    // The body's last byte was seen by the recorder's clock, which is close to the transport's.
    let sent = min(max(marks.sent ?? start, start), first)
    send = (sent - start).inMilliseconds
    wait = (first - sent).inMilliseconds
    receive = max(.zero, metrics.total - first).inMilliseconds
  }
}
