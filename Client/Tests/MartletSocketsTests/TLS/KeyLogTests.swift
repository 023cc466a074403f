import COpenSSL
import Glibc
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@testable import MartletSockets

/// The file with the secrets of TLS sessions (`tls.keyLog`).
@Suite(.timeLimit(.minutes(5)))
struct KeyLogTests {
  private let trust: MemoryTrust
  private let file: URL

  init() throws {
    trust = try MemoryTrust()
    file = trust.folder.file("keys.log")
  }

  private static let tshark = try? ChildProcess.path(of: "tshark")

  private func context() throws -> TLSContext { try trust.context { $0.keyLog = file } }

  private func lines() throws -> [[Substring]] {
    let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    #expect(text.hasSuffix("\n"))
    return text.split(separator: "\n").map { $0.split(separator: " ", omittingEmptySubsequences: false) }
  }

  private var mode: mode_t {
    var status = stat()
    return stat(file.path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  /// The client's random number, which begins each line: bytes 11 to 42 of its first record (RFC 8446 §4.1.2).
  private func random(in hello: [UInt8]) -> String { hello[11..<43].map { Int($0).hexadecimalPair }.joined() }

  /// Makes a request over a connection, and records what both sides send.
  private func exchange(over connection: MemoryConnection) throws -> (capture: PacketCapture, hello: [UInt8]) {
    var capture = PacketCapture()
    var hello: [UInt8] = []
    var isComplete = false
    for _ in 0..<20 where !isComplete || !connection.server.isHandshakeComplete {
      isComplete = try connection.client.handshake()
      let sent = connection.client.takeOutgoing()
      if hello.isEmpty { hello = sent }
      capture.add(sent, fromClient: true)
      connection.server.receive(sent)
      connection.server.handshake()
      let answered = connection.server.takeOutgoing()
      capture.add(answered, fromClient: false)
      connection.client.receive(answered)
    }
    try connection.client.write(Array("GET /secret/place HTTP/1.1\r\nHost: example.com\r\n\r\n".utf8))
    let request = connection.client.takeOutgoing()
    capture.add(request, fromClient: true)
    connection.server.receive(request)
    #expect(!connection.server.read().isEmpty)
    connection.server.write(Array("HTTP/1.1 418 Teapot\r\nContent-Length: 0\r\n\r\n".utf8))
    capture.add(connection.server.takeOutgoing(), fromClient: false)
    return (capture, hello)
  }

  @Test(
    arguments: [
      (TLS1_2_VERSION, ["CLIENT_RANDOM"]),
      (
        TLS1_3_VERSION,
        [
          "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "CLIENT_TRAFFIC_SECRET_0", "EXPORTER_SECRET",
          "SERVER_HANDSHAKE_TRAFFIC_SECRET", "SERVER_TRAFFIC_SECRET_0",
        ]
      ),
    ] as [(Int32, [String])])
  func eachSessionWritesItsSecretsWithTheRandomNumberOfItsClient(version: Int32, labels: [String]) throws {
    let context = try context()
    for count in 1...2 {
      let connection = try trust.connection(context: context) { $0.versions = version...version }
      let hello = try exchange(over: connection).hello
      let own = try lines().filter { $0.count == 3 && $0[1] == random(in: hello) }
      #expect(own.map { String($0[0]) }.sorted() == labels)
      #expect(own.allSatisfy { [64, 96].contains($0[2].count) && $0[2].allSatisfy(\.isHexDigit) })
      #expect(try lines().count == labels.count * count)
    }
    #expect(mode == 0o600)
  }

  @Test func withoutTheSettingNothingIsWritten() throws {
    _ = try exchange(over: try trust.connection())
    #expect(try trust.folder.names() == ["authority.pem"])
  }

  @Test func anExistingFileIsContinuedAndReadableByItsOwnerOnly() throws {
    try trust.folder.write(Data("# kept\n".utf8), to: "keys.log")
    chmod(file.path, 0o644)
    _ = try exchange(over: try trust.connection(context: context()))
    #expect(try lines().first == ["#", "kept"])
    #expect(try lines().count > 1)
    #expect(mode == 0o600)
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
  func aFileOfAnotherUserIsRefused() throws {
    try trust.folder.write(Data(), to: "keys.log")
    chown(file.path, 12_345, 12_345)
    let error = #expect(throws: HTTPError.self) { try context() }
    #expect(error?.message.contains("belongs to another user") == true)
  }

  @Test func aFileThatCannotBeWrittenIsAnErrorThatNamesIt() throws {
    let error = #expect(throws: HTTPError.self) {
      try trust.context { $0.keyLog = URL(filePath: "/no/such/folder/keys.log") }
    }
    #expect(error?.kind == .tlsFailed)
    #expect(error?.message == "tls.keyLog: '/no/such/folder/keys.log' cannot be written: No such file or directory")
    let remote = #expect(throws: HTTPError.self) { try trust.context { $0.keyLog = url("https://a.example/keys") } }
    #expect(remote?.message.contains("is not a file URL") == true)
  }

  @Test func aFullDiskDoesNotDisturbTheConnection() throws {
    let connection = try trust.connection(context: trust.context { $0.keyLog = URL(filePath: "/dev/full") })
    _ = try exchange(over: connection)
  }

  /// Another program decrypts a recording with the file, and cannot do so without.
  @Test(.enabled(if: tshark != nil, "tshark is missing: apt-get install tshark"), arguments: TLSSessionTests.versions)
  func aRecordingIsDecryptedWithTheFile(version: Int32) throws {
    let connection = try trust.connection(context: context()) { $0.versions = version...version }
    try trust.folder.write(try exchange(over: connection).capture.data, to: "capture.pcap")
    func read(_ options: [String]) throws -> String {
      let process = try ChildProcess(
        "tshark",
        ["-r", trust.folder.file("capture.pcap").path] + options
          + ["-Y", "http", "-T", "fields", "-e", "http.request.uri", "-e", "http.response.code"], output: .read)
      return String(decoding: process.readToEnd(), as: UTF8.self).split { $0.isWhitespace }.joined(separator: " ")
    }
    #expect(try read(["-o", "tls.keylog_file:\(file.path)"]) == "/secret/place 418")
    #expect(try read([]) == "")
  }
}

extension Int {
  fileprivate var hexadecimalPair: String { (self < 16 ? "0" : "") + String(self, radix: 16) }
}
