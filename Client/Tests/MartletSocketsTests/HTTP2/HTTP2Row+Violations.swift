#if os(Linux)
@_spi(Toolkit) import MartletSemantics

extension HTTP2Row {
  /// RFC 9113 §8.1.1: "A malformed request or response is treated as a stream error of type PROTOCOL_ERROR."
  static let malformed: [HTTP2Row] = [
    .malformed("an upper-case name (§8.2.1)", Frames.headers("200", [("Accept", "a")], ends: true)),
    .malformed("a name with a space (§8.2.1)", Frames.headers("200", [("a b", "a")], ends: true)),
    .malformed("a name with a colon (§8.2.1)", Frames.headers("200", [("a:b", "a")], ends: true)),
    .malformed("a name that is not ASCII (§8.2.1)", Frames.headers("200", [("ü", "a")], ends: true)),
    .malformed("an empty name (§8.2.1)", Frames.headers("200", [("", "a")], ends: true)),
    .malformed("NUL in a value (§8.2.1)", Frames.headers("200", [("a", "b\0c")], ends: true)),
    .malformed("CR in a value (§8.2.1)", Frames.headers("200", [("a", "b\rc: d")], ends: true)),
    .malformed("LF in a value (§8.2.1)", Frames.headers("200", [("a", "b\nc: d")], ends: true)),
    .malformed("a control character in a value", Frames.headers("200", [("a", "b\u{1}c")], ends: true)),
    .malformed("Connection (§8.2.2)", Frames.headers("200", [("connection", "close")], ends: true)),
    .malformed("Keep-Alive (§8.2.2)", Frames.headers("200", [("keep-alive", "timeout=5")], ends: true)),
    .malformed("Proxy-Connection (§8.2.2)", Frames.headers("200", [("proxy-connection", "close")], ends: true)),
    .malformed("Transfer-Encoding (§8.2.2)", Frames.headers("200", [("transfer-encoding", "chunked")], ends: true)),
    .malformed(
      "Transfer-Encoding with white space", Frames.headers("200", [("transfer-encoding", " chunked")], ends: true)),
    .malformed("Upgrade (§8.2.2)", Frames.headers("200", [("upgrade", "h2c")], ends: true)),
    .malformed("TE other than trailers (§8.2.2)", Frames.headers("200", [("te", "gzip")], ends: true)),
    .malformed("an unknown pseudo-field (§8.3)", Frames.headers("200", [(":a", "b")], ends: true)),
    .malformed("a pseudo-field of requests (§8.3)", Frames.headers("200", [(":path", "/")], ends: true)),
    .malformed("two statuses (§8.3)", Frames.headers("200", [(":status", "200")], ends: true)),
    .malformed("a status after a field (§8.3)", Frames.headers(nil, [("a", "b"), (":status", "200")], ends: true)),
    .malformed("no status (§8.3.2)", Frames.headers(nil, [("a", "b")], ends: true)),
    .malformed("an empty head (§8.3.2)", Frames.headers(block: [], ends: true)),
    .malformed("a status of two digits (§8.3.2)", Frames.headers("20", ends: true)),
    .malformed("a status of four digits (§8.3.2)", Frames.headers("2000", ends: true)),
    .malformed("a status that is no number (§8.3.2)", Frames.headers("2x0", ends: true)),
    .malformed("a status with a reason (§8.3.2)", Frames.headers("200 OK", ends: true)),
    .malformed("a status below 100 (RFC 9110 §15)", Frames.headers("099", ends: true)),
    .malformed("101 (§8.6)", Frames.headers("101", ends: true)),
    .malformed("an informational head that ends the stream (§8.1)", Frames.headers("103", ends: true)),
    .malformed("a Content-Length of a 1xx", Frames.headers("103", [("content-length", "1")])),
    .malformed(
      "DATA after an informational head (§8.1)", Frames.headers("103"), Frames.data("a"),
      after: ["informational HTTP/2 103 |"]),
    .malformed("a length that is no number", Frames.headers("200", [("content-length", "x")], ends: true)),
    .malformed("a negative length", Frames.headers("200", [("content-length", "-1")], ends: true)),
    .malformed("a length with a sign", Frames.headers("200", [("content-length", "+1")])),
    .malformed("an empty length", Frames.headers("200", [("content-length", "")], ends: true)),
    .malformed("a list of lengths", Frames.headers("200", [("content-length", "1, 1")])),
    .malformed("a length above 2^63", Frames.headers("200", [("content-length", "9223372036854775808")])),
    .malformed("two lengths", Frames.headers("200", [("content-length", "1"), ("content-length", "1")])),
    .malformed("a length of a 204 (RFC 9110 §8.6)", Frames.headers("204", [("content-length", "5")], ends: true)),
    .malformed(
      "a head that ends before its length (§8.1.1)", Frames.headers("200", [("content-length", "1")], ends: true)),
    .malformed(
      "a body longer than its length (§8.1.1)",
      Frames.headers("200", [("content-length", "1")]), Frames.data("a"), Frames.data("b", ends: true),
      after: ["head HTTP/2 200 |content-length: 1|", "body"], phase: "receiving", body: "a"),
    .malformed(
      "a body shorter than its length (§8.1.1)",
      Frames.headers("200", [("content-length", "3")]), Frames.data("ab", ends: true),
      after: ["head HTTP/2 200 |content-length: 3|", "body"], phase: "receiving", body: "ab"),
    .malformed(
      "a body that its trailers end before its length",
      Frames.headers("200", [("content-length", "3")]), Frames.data("ab"), Frames.trailers([("a", "b")]),
      after: ["head HTTP/2 200 |content-length: 3|", "body"], phase: "receiving", body: "ab"),
    .malformed(
      "a body in a response to HEAD", method: .head, Frames.headers(), Frames.data("a", ends: true), after: [ok],
      phase: "receiving"),
    .malformed(
      "a body of a 204", Frames.headers("204"), Frames.data("a", ends: true), after: ["head HTTP/2 204 |"],
      phase: "receiving"),
    .malformed(
      "a body of a 304", Frames.headers("304"), Frames.data("a", ends: true), after: ["head HTTP/2 304 |"],
      phase: "receiving"),
    .malformed(
      "trailers that do not end the stream (§8.1)", Frames.headers(), Frames.trailers([("a", "b")], ends: false),
      after: [ok], phase: "receiving"),
    .malformed(
      "a status in trailers (§8.1)", Frames.headers(), Frames.trailers([(":status", "200")]), after: [ok],
      phase: "receiving"),
    .malformed(
      "an upper-case name in trailers", Frames.headers(), Frames.trailers([("A", "b")]), after: [ok], phase: "receiving"
    ),
    .malformed(
      "101 informational heads", (0..<101).flatMap { _ in Frames.headers("103") },
      after: Array(repeating: "informational HTTP/2 103 |", count: 100)),
  ]

  /// Violations of the connection's protocol (RFC 9113 §5.4.1).
  static let broken: [HTTP2Row] = [
    .broken("DATA of an idle stream (§5.1)", Frames.data("x", stream: 101)),
    .broken("HEADERS of an idle stream (§5.1)", Frames.headers(stream: 101)),
    .broken("RST_STREAM of an idle stream (§6.4)", Frames.reset(0, stream: 101)),
    .broken("WINDOW_UPDATE of an idle stream (§5.1)", Frames.windowUpdate(1, stream: 101)),
    .broken("HEADERS of a stream of the server's (§5.1.1)", Frames.headers(stream: 2)),
    .broken("DATA before the head", Frames.data("x")),
    .broken("DATA of stream 0 (§6.1)", Frames.data("x", stream: 0)),
    .broken("HEADERS of stream 0 (§6.2)", Frames.headers(stream: 0)),
    .broken("RST_STREAM of stream 0 (§6.4)", Frames.reset(0, stream: 0)),
    .broken("RST_STREAM of a wrong size (§6.4)", Frames.frame(3, stream: 1, [0])),
    .broken("SETTINGS of a wrong size (§6.5)", Frames.frame(4, stream: 0, [1, 2, 3])),
    .broken("SETTINGS of a stream (§6.5)", Frames.frame(4, stream: 1)),
    .broken("an acknowledgement with settings (§6.5)", Frames.frame(4, flags: 1, stream: 0, [0, 1, 0, 0, 0, 0])),
    .broken("a window larger than 2^31 − 1 (§6.5.2)", Frames.settings([(4, 1 << 31)])),
    .broken("a frame size below 2^14 (§6.5.2)", Frames.settings([(5, 16_383)])),
    .broken("ENABLE_PUSH of a server (§6.5.2)", Frames.settings([(2, 1)])),
    .broken(
      "PUSH_PROMISE after it was disabled (§6.6)",
      Frames.frame(5, flags: Frames.endHeaders, stream: 1, Frames.number(2, 4) + Frames.literal(":method", "GET"))),
    .broken("PING of a stream (§6.7)", Frames.frame(6, stream: 1, [UInt8](repeating: 0, count: 8))),
    .broken("PING of a wrong size (§6.7)", Frames.frame(6, stream: 0, [0])),
    .broken("GOAWAY of a stream (§6.8)", Frames.frame(7, stream: 1, [UInt8](repeating: 0, count: 8))),
    .broken("GOAWAY of a wrong size (§6.8)", Frames.frame(7, stream: 0, [0])),
    .broken("a window increment of 0 (§6.9)", Frames.windowUpdate(0)),
    .broken("a window above 2^31 − 1 (§6.9.1)", Frames.windowUpdate(0x7fff_ffff)),
    .broken("CONTINUATION without HEADERS (§6.10)", Frames.frame(9, flags: 4, stream: 1)),
    .broken(
      "another frame before CONTINUATION (§6.10)",
      Frames.frame(1, stream: 1, Frames.literal(":status", "200")), Frames.ping()),
    .broken("a frame above the largest size (§4.2)", Frames.frame(0, stream: 1, [UInt8](repeating: 0, count: 16_385))),
    .broken("an index that no table has (RFC 7541 §2.3.3)", Frames.headers(block: [0xff, 0xff, 0x7f])),
    .broken("a table size above the setting (RFC 7541 §6.3)", Frames.headers(block: [0x3f, 0xff, 0xff, 0x7f])),
    .broken(
      "padding longer than the frame (§6.1)", Frames.headers(), Frames.frame(0, flags: 8, stream: 1, [9, 1]),
      after: [ok]),
    .broken(
      "invalid SETTINGS within a body", Frames.headers(), Frames.data("half"), Frames.frame(4, stream: 0, [1]),
      after: [ok, "body"], body: "half"),
    .broken(
      "DATA of an idle stream within a body", Frames.headers(), Frames.data("half"), Frames.data("x", stream: 101),
      after: [ok, "body"], body: "half"),
  ]
}
#endif
