#if os(Linux)
@_spi(Toolkit) import MartletSemantics
import Testing

/// A response as frames, and its expected result. The request is on stream 1.
struct HTTP2Row: CustomTestStringConvertible, Sendable {
  let name: String
  var method: HTTPMethod = .get
  /// Whether the request has a body that never ends.
  var isUploading = false
  /// The frames after the server's SETTINGS.
  var frames: [UInt8]
  /// Whether the connection ends after the frames.
  var isCut = false
  /// The events that the stream's handler receives.
  var events: [String]
  var body = ""
  /// Whether the connection cannot be used after the frames.
  var breaksConnection = false

  var testDescription: String { name }

  static let ok = "head HTTP/2 200 |"

  static func valid(
    _ name: String, method: HTTPMethod = .get, _ frames: [UInt8]..., gives events: [String], body: String = ""
  ) -> HTTP2Row {
    HTTP2Row(name: name, method: method, frames: Array(frames.joined()), events: events, body: body)
  }

  /// A response that ends its stream and not the connection.
  static func malformed(
    _ name: String, method: HTTPMethod = .get, _ frames: [UInt8]..., after events: [String] = [],
    phase: String = "waiting", body: String = ""
  ) -> HTTP2Row {
    HTTP2Row(
      name: name, method: method, frames: Array(frames.joined()),
      events: events + ["failed protocolViolation \(phase) unknown"], body: body)
  }

  /// Frames that end the connection.
  static func broken(_ name: String, _ frames: [UInt8]..., after events: [String] = [], body: String = "") -> HTTP2Row {
    let last = events.isEmpty ? "failed protocolViolation waiting unknown" : "failed connectionLost receiving unknown"
    return HTTP2Row(
      name: name, frames: Array(frames.joined()), events: events + [last], body: body, breaksConnection: true)
  }

  static func unfinished(
    _ name: String, isUploading: Bool = false, _ frames: [UInt8]..., isCut: Bool = false, events: [String],
    body: String = "", breaksConnection: Bool = false
  ) -> HTTP2Row {
    HTTP2Row(
      name: name, isUploading: isUploading, frames: Array(frames.joined()), isCut: isCut, events: events, body: body,
      breaksConnection: breaksConnection)
  }
}

extension HTTP2Row {
  static let valid: [HTTP2Row] = [
    .valid("a head that ends the stream", Frames.headers(ends: true), gives: [ok, "end"]),
    .valid(
      "a body", Frames.headers(), Frames.data("ab"), Frames.data("c", ends: true), gives: [ok, "body", "end"],
      body: "abc"),
    .valid(
      "an empty DATA that ends the stream", Frames.headers(), Frames.data("ab"), Frames.data("", ends: true),
      gives: [ok, "body", "end"], body: "ab"),
    .valid(
      "empty DATA in between (§6.1)", Frames.headers(), Frames.data(""), Frames.data("a", ends: true),
      gives: [ok, "body", "end"], body: "a"),
    .valid(
      "padding (§6.1)", Frames.headers(), Frames.data("a", padding: 3), Frames.data("b", ends: true, padding: 0),
      gives: [ok, "body", "end"], body: "ab"),
    .valid(
      "padding and priority of HEADERS (§6.2)",
      Frames.frame(
        1, flags: Frames.endHeaders | Frames.endStream | Frames.padded | Frames.priority, stream: 1,
        [2, 0, 0, 0, 0, 15] + Frames.literal(":status", "200") + [0, 0]), gives: [ok, "end"]),
    .valid(
      "CONTINUATION (§6.10)", Frames.headers("200", [("a", "b"), ("c", "d")], ends: true, pieces: 5),
      gives: ["head HTTP/2 200 |a: b|c: d|", "end"]),
    .valid(
      "an empty CONTINUATION",
      Frames.frame(1, flags: Frames.endStream, stream: 1, Frames.literal(":status", "200")), Frames.frame(9, stream: 1),
      Frames.frame(9, flags: Frames.endHeaders, stream: 1), gives: [ok, "end"]),
    .valid(
      "an indexed status and an entry of the dynamic table (RFC 7541 §6)",
      Frames.headers(block: [0x88, 0x40, 1, 97, 1, 98]), Frames.trailers([("t", "u")]),
      gives: ["head HTTP/2 200 |a: b|", "end t: u|"]),
    .valid(
      "informational heads (§8.1)",
      Frames.headers("100"), Frames.headers("103", [("link", "x")]), Frames.headers(ends: true),
      gives: ["informational HTTP/2 100 |", "informational HTTP/2 103 |link: x|", ok, "end"]),
    .valid(
      "trailers (§8.1)", Frames.headers(), Frames.data("a"), Frames.trailers([("b", "c"), ("b", "d")]),
      gives: [ok, "body", "end b: c|b: d|"], body: "a"),
    .valid("trailers without a body", Frames.headers(), Frames.trailers([("b", "c")]), gives: [ok, "end b: c|"]),
    .valid("empty trailers", Frames.headers(), Frames.headers(block: [], ends: true), gives: [ok, "end"]),
    .valid("an empty value", Frames.headers("200", [("a", "")], ends: true), gives: ["head HTTP/2 200 |a: |", "end"]),
    .valid(
      "white space around a value, which servers send", Frames.headers("200", [("a", " b\t")], ends: true),
      gives: ["head HTTP/2 200 |a:  b\t|", "end"]),
    .valid(
      "a value that is not ASCII", Frames.headers("200", [("a", "ü")], ends: true),
      gives: ["head HTTP/2 200 |a: ü|", "end"]),
    .valid(
      "a repeated field", Frames.headers("200", [("set-cookie", "a"), ("set-cookie", "b")], ends: true),
      gives: ["head HTTP/2 200 |set-cookie: a|set-cookie: b|", "end"]),
    .valid(
      "a Content-Length that is true (§8.1.1)",
      Frames.headers("200", [("content-length", "3")]), Frames.data("a"), Frames.data("bc", ends: true),
      gives: ["head HTTP/2 200 |content-length: 3|", "body", "end"], body: "abc"),
    .valid(
      "the length of a response to HEAD (§8.1.1)", method: .head,
      Frames.headers("200", [("content-length", "3")], ends: true),
      gives: ["head HTTP/2 200 |content-length: 3|", "end"]),
    .valid(
      "the length of a 304 (§8.1.1)", Frames.headers("304", [("content-length", "3")], ends: true),
      gives: ["head HTTP/2 304 |content-length: 3|", "end"]),
    .valid(
      "a length of 0 of a 204", Frames.headers("204", [("content-length", "0")], ends: true),
      gives: ["head HTTP/2 204 |", "end"]),
    .valid("a status of 999", Frames.headers("999", ends: true), gives: ["head HTTP/2 999 |", "end"]),
    .valid(
      "an unknown frame (§4.1)", Frames.frame(0xfa, flags: 255, stream: 1, [1, 2]), Frames.headers(ends: true),
      gives: [ok, "end"]),
    .valid(
      "an unknown setting (§6.5.2)", Frames.settings([(0xfafa, 1)]), Frames.headers(ends: true), gives: [ok, "end"]),
    .valid(
      "PING, PRIORITY and WINDOW_UPDATE within a response",
      Frames.headers(), Frames.ping(7), Frames.frame(2, stream: 1, [0, 0, 0, 0, 1]), Frames.windowUpdate(5, stream: 1),
      Frames.data("a", ends: true), gives: [ok, "body", "end"], body: "a"),
    .valid(
      "a late RST_STREAM and WINDOW_UPDATE of a closed stream (§5.1)",
      Frames.headers(ends: true), Frames.reset(0), Frames.windowUpdate(5, stream: 1), gives: [ok, "end"]),
  ]

  /// A stream or a connection that ends, possibly before the response does.
  static let unfinished: [HTTP2Row] = [
    .unfinished("no response", isCut: true, events: ["failed connectionLost waiting unknown"]),
    .unfinished(
      "an informational head only", Frames.headers("103"), isCut: true,
      events: ["informational HTTP/2 103 |", "failed connectionLost waiting unknown"]),
    .unfinished(
      "a head that is cut off", Frames.headers("200").shortened, isCut: true,
      events: ["failed connectionLost waiting unknown"]),
    .unfinished(
      "a head without a body", Frames.headers(), isCut: true,
      events: [ok, "failed connectionLost receiving unknown"]),
    .unfinished(
      "a body without END_STREAM", Frames.headers(), Frames.data("half"), isCut: true,
      events: [ok, "body", "failed connectionLost receiving unknown"], body: "half"),
    .unfinished(
      "a body of the right length without END_STREAM",
      Frames.headers("200", [("content-length", "4")]), Frames.data("half"), isCut: true,
      events: ["head HTTP/2 200 |content-length: 4|", "body", "failed connectionLost receiving unknown"], body: "half"),
    .unfinished(
      "a DATA frame that is cut off", Frames.headers(), Frames.data("half", ends: true).shortened,
      isCut: true, events: [ok, "body", "failed connectionLost receiving unknown"], body: "hal"),
    .unfinished(
      "the end after a GOAWAY for later streams", Frames.goAway(1), Frames.headers(), isCut: true,
      events: [ok, "failed connectionLost receiving unknown"]),
    .unfinished(
      "the end after a GOAWAY without a decision", Frames.goAway(0x7fff_ffff), isCut: true,
      events: ["failed connectionLost waiting unknown"]),
    .unfinished(
      "a whole response, then the end", Frames.goAway(1), Frames.headers(), Frames.data("whole", ends: true),
      isCut: true, events: [ok, "body", "end"], body: "whole"),
    .unfinished("REFUSED_STREAM (§8.7)", Frames.reset(7), events: ["failed connectionLost waiting refused"]),
    .unfinished(
      "REFUSED_STREAM after the head", Frames.headers(), Frames.reset(7),
      events: [ok, "failed connectionLost receiving unknown"]),
    .unfinished("HTTP_1_1_REQUIRED (§7)", Frames.reset(13), events: ["failed connectionLost waiting refused"]),
    .unfinished("ENHANCE_YOUR_CALM (§7)", Frames.reset(11), events: ["failed connectionLost waiting unknown"]),
    .unfinished("CANCEL (§7)", Frames.reset(8), events: ["failed connectionLost waiting unknown"]),
    .unfinished("an unknown code (§7)", Frames.reset(0x7fff_ffff), events: ["failed connectionLost waiting unknown"]),
    .unfinished("NO_ERROR without a response", Frames.reset(0), events: ["failed connectionLost waiting unknown"]),
    .unfinished(
      "NO_ERROR within a body", Frames.headers(), Frames.data("half"), Frames.reset(0),
      events: [ok, "body", "failed connectionLost receiving unknown"], body: "half"),
    .unfinished(
      "a reset within a body of the right length",
      Frames.headers("200", [("content-length", "4")]), Frames.data("half"), Frames.reset(2),
      events: ["head HTTP/2 200 |content-length: 4|", "body", "failed connectionLost receiving unknown"], body: "half"),
    .unfinished(
      "GOAWAY below the stream (§6.8)", Frames.goAway(0), events: ["failed connectionLost waiting refused"],
      breaksConnection: true),
    .unfinished(
      "GOAWAY below the stream after its head", Frames.headers(), Frames.data("half"), Frames.goAway(0),
      events: [ok, "body", "failed connectionLost receiving unknown"], body: "half", breaksConnection: true),
    // RFC 9113 §8.1: "Clients MUST NOT discard responses as a result of receiving such a RST_STREAM"
    .unfinished(
      "a whole response before the request's body, and NO_ERROR", isUploading: true,
      Frames.headers(), Frames.data("whole", ends: true), Frames.reset(0), events: [ok, "body", "end"],
      body: "whole"),
    .unfinished(
      "a whole response before the request's body", isUploading: true,
      Frames.headers(), Frames.data("whole", ends: true), events: [ok, "body", "end"], body: "whole"),
    .unfinished(
      "NO_ERROR before the end of the response", isUploading: true, Frames.headers(), Frames.reset(0),
      events: [ok, "failed connectionLost receiving unknown"]),
  ]
}

extension [UInt8] {
  /// The bytes except for the last one.
  fileprivate var shortened: [UInt8] { Array(dropLast()) }
}
#endif
