import Testing

@testable import MartletSemantics

/// Fields whose names and values become strings only when they are read.
@Suite(.timeLimit(.minutes(5)))
struct ReceivedFieldsTests {
  private let received = HTTPFields(
    lines: Array("Content-Type: text/html\r\nX-Tag:a\r\nset-cookie: b=1\r\nx-tag:  c d \r\nEmpty:\r\n".utf8)[...])
  private let made: HTTPFields = [
    "Content-Type": "text/html", "X-Tag": "a", "set-cookie": "b=1", "x-tag": "c d", "Empty": "",
  ]

  @Test(arguments: ["Content-Type", "content-type", "X-TAG", "Set-Cookie", "Empty", "Content-Typ", "X-Ta", "Y"])
  func areFoundLikeOthers(name: FieldName) {
    #expect(received[name] == made[name])
    #expect(received[values: name] == made[values: name])
    #expect(received.contains(name) == made.contains(name))
    #expect(received.list(name) == made.list(name))
  }

  @Test func haveTheSameLinesInOrder() {
    #expect(received.map(\.name.rawName) == made.map(\.name.rawName))
    #expect(received.map(\.value) == made.map(\.value))
    #expect(received.count == 5)
    #expect(!received.isEmpty)
    #expect(received.description == made.description)
  }

  @Test func areEqualToOthersAndHashLikeThem() {
    #expect(received == made)
    #expect(Set([received, made]).count == 1)
    var other = made
    other["Empty"] = "x"
    #expect(received != other)
  }

  @Test(
    arguments: [
      { $0["X-Tag"] = "e" }, { $0["x-new"] = "f" }, { $0.append("g", for: "X-Tag") }, { $0.remove("X-Tag") },
      { $0.remove("Y") }, { $0["Empty"] = nil }, { $0.removeAll { $0.rawName == "x-tag" } },
      { $0.append("a\rb", for: "Refused") }, { $0.append("c", forName: "no name") },
    ] as [@Sendable (inout HTTPFields) -> Void])
  func changeLikeOthers(_ change: @Sendable (inout HTTPFields) -> Void) {
    var (one, other) = (received, made)
    change(&one)
    change(&other)
    #expect(one == other)
    #expect(one.refusal == other.refusal)
    #expect(received == made, "copies are not changed")
  }

  @Test func aRefusalIsKeptByLaterChanges() {
    var fields = received
    fields.append("a\rb", for: "First")
    fields.append("a\nb", for: "Second")
    fields["X-Tag"] = "z"
    #expect(fields.refusal == .invalidValue(name: "First"))
    #expect(fields["X-Tag"] == "z")
    #expect(throws: HTTPFields.Refusal.self) { try fields.validate() }
  }

  @Test(arguments: ["A: b\r\n", "A: b\nB: c\n", "\r\nA: b\r\n", "A: b", ": c\r\nA: b\r\n", "A: b\r\nno colon\r\n"])
  func areWhatCorrectedFieldsAre(text: String) {
    // a value that is not plain causes all strings to be made at once
    let corrected = HTTPFields(lines: Array((text + "\r\nLast: \u{e9}\r\n").utf8)[...])
    var fields = HTTPFields(lines: Array((text + "\r\nLast: e\r\n").utf8)[...])
    fields["Last"] = "\u{e9}"
    #expect(fields == corrected)
  }

  @Test func areReadBySeveralTasksAtOnce() async {
    for _ in 0..<100 {
      let fields = HTTPFields(lines: Array("A: b\r\nContent-Type: text/html\r\n".utf8)[...])
      await withTaskGroup(of: [String].self) { group in
        for _ in 0..<8 {
          group.addTask { fields.map { "\($0.name)=\($0.value)" } + [fields["content-type"] ?? ""] }
        }
        for await texts in group { #expect(texts == ["A=b", "Content-Type=text/html", "text/html"]) }
      }
    }
  }
}
