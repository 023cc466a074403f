import Foundation
import Martlet
import MartletObservation
import MartletTesting
import Testing

/// Archives of the recorder, read by other programs.
@Suite("HTTP Archives", .timeLimit(.minutes(2)))
struct ArchiveTests {
  private let folder: TemporaryFolder
  private let server: Httpbin

  init() throws {
    folder = try TemporaryFolder()
    server = try Httpbin.shared.get()
  }

  /// Some of everything: a redirect, a form, a cookie, compression, binary content, a failure.
  private func record(redaction: Redaction) async throws -> HARRecorder {
    let recorder = HARRecorder(redaction: redaction)
    let session = makeSession { $0.listeners = [recorder] }
    let secret = [(name: "user", value: "u"), (name: "password", value: "hidden")]
    _ = try await session.text(server("/redirect/2"))
    _ = try await session.data(for: HTTPRequest(.post, server("/post?token=hidden"), body: .form(secret)))
    _ = try await session.text(server("/response-headers?Set-Cookie=a%3Dhidden%3B%20Path%3D%2F"))
    _ = try await session.text(server("/gzip"))
    _ = try await session.data(for: HTTPRequest(.get, server("/bytes/100")))
    _ = try await session.data(for: HTTPRequest(.get, server("/image/png")))
    _ = try? await session.text(URL(string: "http://127.0.0.1:\(try LocalPort.free())/") ?? server("/"))
    try recorder.write(to: folder.file("archive.har"))
    return recorder
  }

  private func read(by script: String) throws {
    try folder.write(Data(script.utf8), to: "check.py")
    try RealProcess.run(Python.path(), ["check.py", "archive.har"], in: folder.url)
  }

  @Test(arguments: [Redaction.standard, .off])
  func aValidatorFindsNothingWrong(redaction: Redaction) async throws {
    _ = try await record(redaction: redaction)

    try read(
      by: """
        import json, sys
        from hario_core.models.har_1_2 import HarLog
        log = HarLog.model_validate(json.load(open(sys.argv[1], encoding="utf-8"))["log"])
        assert len(log.entries) == 9, len(log.entries)
        """)
  }

  @Test func aReaderUnderstandsTheEntries() async throws {
    _ = try await record(redaction: .standard)

    try read(
      by: """
        import base64, sys
        from haralyzer import HarParser
        har = HarParser.from_file(sys.argv[1])
        entries = har.har_data["entries"]
        assert [e["response"]["status"] for e in entries] == [302, 302, 200, 200, 200, 200, 200, 200, 0]
        image = entries[7]["response"]["content"]
        assert base64.b64decode(image["text"]).startswith(b"\\x89PNG") and image["mimeType"] == "image/png"
        assert "hidden" not in open(sys.argv[1], encoding="utf-8").read()
        assert entries[3]["request"]["postData"]["text"] == "user=u&password=***"
        assert entries[5]["response"]["content"]["compression"] > 0
        for e in entries:
          parts = [v for k, v in e["timings"].items() if k != "ssl" and v > 0]
          assert abs(sum(parts) - e["time"]) < 0.001
        """)
  }
}
