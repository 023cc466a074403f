import Foundation
import MartletTesting
import SAPFoundationTesting
import Testing

import SAPFioriFlows
@_spi(Stores) @testable import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("The upload of logs", .timeLimit(.minutes(5)))
struct LogUploadTests {
  private let folder: TemporaryFolder
  private let upload: LogUpload

  init() throws {
    folder = try TemporaryFolder()
    upload = LogUpload(LogFiles(in: folder.url))
    try upload.files.prepare()
  }

  private func record(
    _ message: String, _ level: LogLevel = .info, name: String = "Orders", error: (any Error)? = nil
  ) -> LogRecord {
    LogRecord(
      date: Date(timeIntervalSince1970: 1_404_227_837.25), logLevel: level, loggerName: name, message: message,
      error: error, file: "Shop/Cart.swift", function: "order()", line: 7)
  }

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() }
  }

  private func failure(of url: URL, _ session: SAPURLSession = SAPURLSession(configuration: .ephemeral)) async
    -> SAPcpmsLogUploaderError?
  {
    do { try await upload.upload(to: url, with: session) } catch { return error as? SAPcpmsLogUploaderError }
    return nil
  }

  // MARK: - Lines

  @Test(
    arguments: [
      (.trace, "DEBUG"), (.debug, "DEBUG"), (.info, "INFO"), (.notice, "INFO"), (.warning, "WARN"), (.error, "ERROR"),
      (.critical, "FATAL"),
    ] as [(LogLevel, String)])
  func everyLevelHasItsSeverity(_ level: LogLevel, _ severity: String) throws {
    let line = LogLine.line(for: record("Hello", level), in: try #require(TimeZone(identifier: "Europe/Berlin")))
    #expect(
      line == "#2014-07-01T17:17:17.250+02:00#\(severity)##Orders#Shop/Cart.swift:7 order()#Hello#\n")
  }

  @Test(
    arguments: [
      ("item #7", ##"item \#7"##), (#"a\b"#, #"a\\b"#), ("two\nlines\r", #"two\nlines\r"#), ("\u{1B}[0m", " [0m"),
      ("", ""), ("é#", ##"é\#"##),
    ])
  func aMessageIsOneFieldOfOneLine(_ message: String, _ written: String) {
    let line = LogLine.line(for: record(message))
    #expect(line.hasSuffix("#\(written)#\n"))
    #expect(line.filter(\.isNewline).count == 1)
  }

  @Test func anErrorIsPartOfTheMessage() {
    let line = LogLine.line(for: record("No picture", .error, error: SAPURLSessionError.invalidRequest))
    #expect(line.hasSuffix("#No picture: The request cannot be sent.#\n"))
  }

  // MARK: - Files

  @Test func filesAreBoundedInSizeAndNumber() throws {
    upload.files.limits = .init(fileSize: 300, fileCount: 3)
    for number in 1...20 { upload.publish(record("message \(number)")) }

    #expect(try names.count == 3)
    upload.files.complete()
    let files = upload.files.completed()
    let text = try files.map { try String(contentsOf: $0, encoding: .utf8) }.joined()
    #expect(try files.allSatisfy { try Data(contentsOf: $0).count <= 300 })
    #expect(text.hasSuffix("message 20#\n") && !text.contains("message 1#"))
    #expect(try names == files.map(\.lastPathComponent))
  }

  @Test func aFileThatIsBeingWrittenIsNotUploadedByOthers() throws {
    let other = LogFiles(in: folder.url)
    upload.publish(record("mine"))
    other.append("theirs\n")

    #expect(other.completed().isEmpty)
    upload.files.complete()
    let complete = other.completed()
    #expect(complete.count == 1)
    #expect(try complete.allSatisfy { try String(contentsOf: $0, encoding: .utf8).contains("mine") })
  }

  @Test func expiredLinesAreRemovedWithoutAnUpload() throws {
    let days = Shared(0.0)
    let files = LogFiles(in: folder.url) { Date(timeIntervalSinceNow: days.value * 86_400) }
    files.append("old\n")
    files.complete()
    files.limits.days = 7
    days.change { $0 = 6.9 }
    files.removeExpired()
    #expect(files.completed().count == 1)
    days.change { $0 = 7.1 }
    files.append("new\n")
    #expect(try files.completed().isEmpty && names.count == 1)
  }

  @Test func theSettingsOfTheAppApply() {
    upload.apply(.init(logUploadEnabled: false, entryExpiry: 3, logLevel: "ERROR", maxFileNum: 2, maxFileSize: 1))
    #expect(!upload.isEnabled && upload.logLevel == .error)
    #expect(upload.files.limits == .init(fileSize: 1_048_576, fileCount: 2, days: 3))
    upload.apply(.init(logLevel: "whatever", maxFileSize: 0))
    #expect(upload.isEnabled && upload.logLevel == .error && upload.files.limits == .init())
    upload.apply(.init(logLevel: "NONE"))
    #expect(upload.logLevel == .off)
    upload.apply(.init(logLevel: "NONE", maxFileSize: .max))
    #expect(upload.files.limits.fileSize == 1 << 40)
  }

  // MARK: - Uploads

  @Test func linesAreUploadedOnceAndDeleted() async throws {
    let service = try MobileServices(.init(protectsAgainstCSRF: false))
    let settings = SAPcpmsSettingsParameters(backendURL: service.url, applicationID: "a b", deviceID: "d&1")
    let url = SAPcpmsLogUploader.url(for: settings)
    upload.publish(record("one #1"))
    upload.publish(record("two"))

    #expect(await failure(of: url) == nil)
    guard case .missingLogFiles? = await failure(of: url) else {
      Issue.record("expected .missingLogFiles")
      return
    }

    #expect(service.uploadedLogs.count == 1)
    #expect(service.uploadedLogs.first?.split(separator: "\n").count == 2)
    #expect(
      service.requests.first?.target
        == "/mobileservices/application/a%20b/clientlogs/v1/runtime/log/application/a%20b?deviceId=d%261")
    #expect(service.requests.first?.fields[.contentType] == "text/plain;charset=utf-8")
    #expect(try names.isEmpty)
  }

  @Test func linesOfTheMeantimeAreKeptAndASecondUploadIsRefused() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in
      _ = try? request.drainBody()
      try? request.wait(for: gate)
      return .status(.noContent)
    }
    upload.publish(record("before"))
    async let first = failure(of: server.url("/"))
    _ = try await server.request(1)
    upload.publish(record("meanwhile"))
    guard case .uploadAlreadyInProgress? = await failure(of: server.url("/")) else {
      Issue.record("expected .uploadAlreadyInProgress")
      return
    }
    gate.open()

    #expect(await first == nil)
    upload.files.complete()
    let left = try upload.files.completed().map { try String(contentsOf: $0, encoding: .utf8) }
    #expect(left.count == 1 && left[0].contains("meanwhile") && !left[0].contains("before"))
  }

  @Test(arguments: [204, 500]) func linesOfTheMeantimeRemoveNoFileOfTheUpload(_ status: Int) async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in
      _ = try? request.drainBody()
      try? request.wait(for: gate)
      return .status(.init(status))
    }
    upload.files.limits = .init(fileSize: 1, fileCount: 2)
    for number in 1...2 { upload.publish(record("before \(number)")) }
    async let result = failure(of: server.url("/"))
    _ = try await server.request(1)
    for number in 1...3 { upload.publish(record("meanwhile \(number)")) }
    #expect(try names.count == 4)
    gate.open()

    let error = await result
    #expect((error == nil) == (status == 204))
    upload.files.complete()
    let left = try upload.files.completed().map { try String(contentsOf: $0, encoding: .utf8) }
    #expect(left.count == 2 && left[0].contains("meanwhile 2") && left[1].contains("meanwhile 3"))
  }

  @Test func aFileThatIsRemovedDuringTheUploadIsNoError() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in
      _ = try? request.drainBody()
      try? request.wait(for: gate)
      return .status(.noContent)
    }
    upload.files.limits.fileSize = 1
    for number in 1...2 { upload.publish(record("message \(number)")) }
    async let result = failure(of: server.url("/"))
    _ = try await server.request(1)
    let first = try #require(try names.first)
    try FileManager.default.removeItem(at: folder.file(first))
    gate.open()

    #expect(await result == nil)
    #expect(try names.isEmpty)
  }

  @Test func aLoginPageConfirmsNothing() async throws {
    let server = try LoopbackServer { _ in .text("<html>").with("com.sap.cloud.security.login", "login-request") }
    upload.publish(record("kept"))
    await #expect(throws: SAPLoginRequiredError.self) {
      try await upload.upload(to: server.url("/"), with: SAPURLSession(configuration: .ephemeral))
    }
    #expect(upload.files.completed().count == 1)
  }

  @Test(arguments: [200, 201, 400, 403, 404, 500]) func anotherStatusThan204KeepsTheLines(_ status: Int) async throws {
    let server = try LoopbackServer { _ in .text("why", status: .init(status)) }
    upload.publish(record("kept"))

    let error = await failure(of: server.url("/"))

    switch (status, error) {
    case (400, .damagedLogFiles?), (403, .configurationNotEnabled?): break
    case (_, .networkError(nil, status, "why")?): break
    default: Issue.record("\(String(describing: error))")
    }
    #expect(error?.errorDescription == error?.description)
    #expect(upload.files.completed().count == 1)
  }

  @Test func theTextOfARefusalIsCutAfterAWholeCharacter() async throws {
    let start = String(repeating: "a", count: 999)
    let server = try LoopbackServer { _ in .text(start + "ü and more", status: .internalServerError) }
    upload.publish(record("kept"))
    guard case .networkError(nil, 500, let text)? = await failure(of: server.url("/")) else {
      Issue.record("expected .networkError")
      return
    }
    #expect(text == start)
  }

  @Test func aLostConnectionKeepsTheLinesAndASwitchedOffUploadSendsNothing() async throws {
    let server = try LoopbackServer { _ in .hangUp }
    upload.publish(record("kept"))
    guard case .networkError(let cause?, nil, nil)? = await failure(of: server.url("/")) else {
      Issue.record("expected .networkError")
      return
    }
    #expect(cause is URLError)
    upload.isEnabled = false
    let count = server.requests.count
    guard case .configurationNotEnabled? = await failure(of: server.url("/")) else {
      Issue.record("expected .configurationNotEnabled")
      return
    }
    #expect(server.requests.count == count && upload.files.completed().count == 1)
  }

  @Test func chunksAreRequestsOfTheirOwn() async throws {
    let service = try MobileServices(.init(protectsAgainstCSRF: false))
    let url = SAPcpmsLogUploader.url(for: .init(backendURL: service.url, applicationID: "app", deviceID: nil))
    upload.uploadsInChunks = true
    upload.files.limits.fileSize = 1
    for number in 1...3 { upload.publish(record("message \(number)")) }
    service.answer("*", with: .status(.noContent))
    service.answer("*", with: .status(.internalServerError))

    guard case .networkError(nil, 500, _)? = await failure(of: url) else {
      Issue.record("expected .networkError")
      return
    }
    #expect(try names.count == 2)
    #expect(await failure(of: url) == nil)
    #expect(try names.isEmpty)
    #expect(service.uploadedLogs.map { $0.contains("message 2#") } == [true, false])
  }

  @Test func theServiceKnowsItsLines() async throws {
    let service = try MobileServices(.init(protectsAgainstCSRF: false))
    let url = SAPcpmsLogUploader.url(for: .init(backendURL: service.url, applicationID: "app", deviceID: nil))
    try Data("not a line\n".utf8).write(to: folder.file("000.log"))
    guard case .damagedLogFiles? = await failure(of: url) else {
      Issue.record("expected .damagedLogFiles")
      return
    }
    service.takesLogs = false
    guard case .configurationNotEnabled? = await failure(of: url) else {
      Issue.record("expected .configurationNotEnabled")
      return
    }
    #expect(service.uploadedLogs.isEmpty)
  }

  #if os(Linux)
  @Test func aFullDiskRemovesNoLinesThatWereWritten() async throws {
    let program = SAPProgram(folder: try TemporaryFolder())
    #expect(try await program.run("full-logs", folder.url.path) == "")

    let lines = try upload.files.completed().map { try String(contentsOf: $0, encoding: .utf8) }.joined()
    // The first line that is written again begins the fourth file, which removes the first one with ten lines.
    #expect(lines.hasPrefix("before 11\n") && lines.contains("before 25\n"))
    #expect(lines.hasSuffix("after\n") && !lines.contains("lost"))
    #expect(try names.count == 3)
  }

  @Test func aProgramUploadsWhatItsEarlierRunLogged() async throws {
    let service = try MobileServices(.init(protectsAgainstCSRF: false))
    let program = SAPProgram(folder: folder)
    #expect(try await program.run("logs", "first") == "attached\n")
    #expect(try await program.run("logs", "second", service.url.absoluteString) == "attached\nuploaded\n")
    #expect(try await program.run("logs", "third", service.url.absoluteString) == "attached\nuploaded\n")

    #expect(service.uploadedLogs.count == 2)
    #expect(service.uploadedLogs.first?.contains("#first#") == true)
    #expect(service.uploadedLogs.first?.contains("#second#") == true)
    #expect(service.uploadedLogs.last?.contains("#third#") == true)
  }
  #endif

  @Test func withoutAHandlerNothingIsKept() async {
    #expect(SAPcpmsLogUploader.logLevel == .off)
    #expect(!SAPcpmsLogUploader.uploadLogInChunks && SAPcpmsLogUploader.logUploadEnabled)
    #expect(SAPcpmsLogUploader.logExpiration == 0)
    let error = await withCheckedContinuation { continuation in
      SAPcpmsLogUploader.uploadLogs(OnboardingSession(sapURLSession: SAPURLSession(configuration: .ephemeral))) {
        continuation.resume(returning: $0)
      }
    }
    guard case .internalError(is FoundationExtensionError)? = error as? SAPcpmsLogUploaderError else {
      Issue.record("expected .internalError")
      return
    }
  }
}
