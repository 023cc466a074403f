import MartletCurl
import Testing

/// Lines of libcurl's log, and texts of the caller that look like them.
@Suite(.timeLimit(.minutes(5)))
struct VerboseLineTests {
  private func line(_ text: String) -> VerboseLine? { Array(text.utf8).withUnsafeBytes { VerboseLine($0) } }

  @Test(
    arguments: [
      ("Using Stream ID: 5 (easy handle 0x5581)\n", .stream(5)),
      ("[HTTP/2] [7] OPENED stream for https://a.example/\n", .stream(7)),
      ("recveived GOAWAY, error=0, last_stream=3\n", .goAway(lastStream: 3)),
      ("received GOAWAY, error=11, last_stream=0\n", .goAway(lastStream: 0)),
      ("REFUSED_STREAM, retrying a fresh connect\n", .refused),
      ("HTTP/2 stream 3 refused by server, try again on a new connection\n", .refused),
      ("stream 1 closed\n", .streamClosed),
      ("Connection cache is full, closing the oldest one\n", .evicted),
      ("Connection #0 to host a.example left intact\n", .leftIntact),
      ("Excess found in a read: excess = 1, size = 2, maxdownload = 1, bytecount = 0\n", .excess),
      ("Leftovers after chunking: 3 bytes\n", .excess),
    ] as [(String, VerboseLine)])
  func knownLinesAreParsed(_ text: String, _ expected: VerboseLine) {
    #expect(line(text) == expected)
  }

  @Test(arguments: [
    "[HTTP/2] [1] [:path: /GOAWAY?last_stream=0]\n", "[HTTP/2] [1] [x: REFUSED_STREAM]\n",
    "[HTTP/2] [1] [x: refused by server]\n", "[HTTP/2] [1] [x: [HTTP/2] [9] OPENED stream for ]\n",
    "Re-using existing https: connection with host refused by server\n", "Host GOAWAY, last_stream=0 was resolved.\n",
    "HTTP/2 stream 1 was not closed cleanly: REFUSED_STREAM (err 7)\n", "HTTP/2 stream x refused by server\n",
    "Connection #0 isn't open enough, can't reuse\n", "Using Stream ID: x\n", "received GOAWAY\n", "",
  ])
  func textOfTheCallerIsIgnored(_ text: String) {
    #expect(line(text) == nil)
  }

  @Test func aURLThatLooksLikeALogLineOpensItsStream() {
    #expect(line("[HTTP/2] [1] OPENED stream for https://a.example/GOAWAY/last_stream=0\n") == .stream(1))
    #expect(line("[HTTP/2] [1] OPENED stream for https://a.example/?REFUSED_STREAM\n") == .stream(1))
  }
}
