import Foundation
@_spi(Transports) @testable import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// Bodies that are read from files.
@Suite(.timeLimit(.minutes(5)))
struct FileBodyTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func bytes(of body: OpenBody) async throws -> Data {
    var bytes = Data()
    while let chunk = try await body.source.next() { bytes.append(chunk) }
    return bytes
  }

  @Test func aBodyFromAFileIsReadWhenItIsSent() async throws {
    let file = try folder.write(Data(repeating: 7, count: 700_000), to: "body")
    let body = RequestBody.file(file)

    let open = try await body.open()

    #expect(open.length == 700_000)
    #expect(try await bytes(of: open) == Data(repeating: 7, count: 700_000))
    #expect(body.isReplayable)
  }

  @Test func anEmptyFileHasTheLengthZero() async throws {
    let open = try await RequestBody.file(try folder.write(Data(), to: "body")).open()
    #expect(open.length == 0)
    #expect(try await bytes(of: open).isEmpty)
  }

  /// A file that is only a hole takes no space, like the files that the system makes.
  @Test func aFileWithoutSpaceOnTheDiskIsSentWhole() async throws {
    let file = try folder.write(Data(), to: "body")
    #expect(truncate(file.path, 500_000) == 0)
    let open = try await RequestBody.file(file).open()
    #expect(open.length == 500_000)
    #expect(try await bytes(of: open) == Data(count: 500_000))
  }

  /// Their size is 0, that of a page, or 0 with more content than one chunk.
  @Test(arguments: ["/proc/version", "/sys/devices/system/cpu/online", "/proc/kallsyms"].filter(isReadable))
  func aFileThatTheSystemMakesIsSentWhole(path: String) async throws {
    let content = try read(path)
    let open = try await RequestBody.file(URL(filePath: path)).open()
    #expect(open.length == (content.count < 128 << 10 ? Int64(content.count) : nil))
    #expect(try await bytes(of: open) == content)
  }

  @Test(.enabled(if: isReadable("/proc/version"))) func aFormHasTheFilesThatTheSystemMakes() async throws {
    let content = try read("/proc/version")
    var form = MultipartForm()
    form.append(.file(URL(filePath: "/proc/version")), for: "file")
    let open = try await RequestBody.multipart(form).open()
    let bytes = try await bytes(of: open)
    #expect(bytes.range(of: content) != nil)
    #expect(open.length == Int64(bytes.count))
  }

  @Test func aFileThatGrowsIsSentUpToItsFirstSize() async throws {
    let file = try folder.write(Data(count: 200_000), to: "body")
    let open = try await RequestBody.file(file).open()
    let first = try await open.source.next()
    let handle = try FileHandle(forWritingTo: file)
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(count: 10))
    let rest = try await bytes(of: open)
    #expect((first?.count ?? 0) + rest.count == 200_000)
  }

  @Test func aFileThatShrinksIsAnError() async throws {
    let file = try folder.write(Data(count: 200_000), to: "body")
    let open = try await RequestBody.file(file).open()
    #expect(truncate(file.path, 100) == 0)
    let error = await #expect(throws: HTTPError.self) { try await bytes(of: open) }
    #expect(error?.message.contains("became shorter") == true)
  }

  @Test(arguments: ["/nowhere/file", "/tmp", "/dev/null"])
  func aBodyFromSomethingThatIsNoFileIsRefused(path: String) async throws {
    let error = await #expect(throws: HTTPError.self) {
      _ = try await RequestBody.file(URL(filePath: path)).open()
    }
    #expect(error?.kind == .file)
    #expect(error?.message.contains(path) == true)
  }
}

private func isReadable(_ path: String) -> Bool { (try? read(path).isEmpty) == false }

private func read(_ path: String) throws -> Data {
  let handle = try FileHandle(forReadingFrom: URL(filePath: path))
  defer { try? handle.close() }
  return try handle.readToEnd() ?? Data()
}
