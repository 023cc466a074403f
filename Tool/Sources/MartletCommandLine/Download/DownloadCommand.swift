@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Downloads to a file: `--download`. The same command continues an earlier try.
struct DownloadCommand {
  private let call: PreparedCall
  private let environment: ToolEnvironment
  private let progress: DownloadProgress
  /// The file that `--output` names; nil if the server or the URL determines it.
  private let chosen: URL?
  private let overwrites: Bool
  private let isQuiet: Bool
  /// The file to write; the chosen one, or a hidden one that gets its name at the end.
  private let destination: URL
  /// The file that describes an unfinished download.
  private let state: URL

  init(
    _ call: PreparedCall, _ arguments: ParsedArguments, _ environment: ToolEnvironment, progress: DownloadProgress
  ) throws(UsageError) {
    (self.call, self.environment, self.progress) = (call, environment, progress)
    (overwrites, isQuiet) = (arguments.has(.overwrite), arguments.has(.quiet))
    chosen = arguments.value(.output).map { environment.file($0) }
    if let chosen, let path = arguments.value(.output) {
      _ = try OutputFile(chosen, shown: path, overwrites: overwrites)
    }
    let name = chosen?.lastPathComponent ?? DownloadName.name(of: call.request.url)
    let folder = chosen?.deletingLastPathComponent() ?? environment.folder
    destination = chosen ?? folder.appending(component: ".\(name).download")
    state = folder.appending(component: ".\(name).resumption")
  }

  /// Downloads, and reports the file's name on standard error, except with `--quiet`.
  func run() async throws -> HTTPResponse {
    let saved = (try? SpareDescriptors.contents(of: state)).flatMap {
      try? JSONDecoder().decode(DownloadResumption.self, from: $0)
    }
    progress.begin()
    let response: HTTPResponse
    do {
      response = try await call.session.resumableDownload(for: call.request, to: destination, resuming: saved)
    } catch {
      progress.end()
      try keep(error.resumption, after: saved)
      throw error
    }
    progress.end()
    try keep(nil, after: saved)
    let file = try place(response)
    guard !isQuiet else { return response }
    var status = stat()
    stat(file.path, &status)
    environment.report("\(file.lastPathComponent): \(Quantity.text(Int64(status.st_size)))")
    return response
  }

  /// Records where the next try continues; without such a position, removes the record. Bytes of an earlier try for
  /// another URL, which was not continued, are removed too.
  private func keep(_ resumption: DownloadResumption?, after earlier: DownloadResumption?) throws {
    if let earlier, earlier.file != resumption?.file { earlier.discard() }
    guard let resumption else {
      unlink(state.path)
      return
    }
    let partial = try PartialFile(for: state, access: .ownerOnly, phase: nil)
    try partial.append(try JSONEncoder().encode(resumption))
    try partial.complete()
    let total = resumption.size.map { " of \(Quantity.text($0))" } ?? ""
    environment.report("\(Quantity.text(resumption.byteCount))\(total) are kept: the same command continues")
  }

  /// Gives the file its name.
  private func place(_ response: HTTPResponse) throws -> URL {
    if let chosen { return chosen }
    let name = DownloadName.name(response.fields, response.url)
    if overwrites {
      let file = environment.folder.appending(component: name)
      do throws(HTTPError) { try FileReplacement.move(destination, to: file) } catch {
        throw failure(file, because: error)
      }
      return file
    }
    for number in 0..<10_000 {
      let file = environment.folder.appending(component: DownloadName.numbered(name, number))
      // A link fails if the name is taken, so that no file is replaced that appeared in the meantime.
      if link(destination.path, file.path) == 0 {
        unlink(destination.path)
        return file
      }
      if errno == EEXIST { continue }
      // A file system without hard links.
      guard errno == EPERM || errno == ENOTSUP, access(file.path, F_OK) != 0,
        rename(destination.path, file.path) == 0
      else { throw failure(file) }
      return file
    }
    throw failure(environment.folder.appending(component: name))
  }

  private func failure(_ file: URL, because error: HTTPError? = nil) -> HTTPError {
    let reason = error?.message ?? "'\(file.path)' cannot be written"
    return HTTPError(.file, "\(reason); the download is '\(destination.path)'", phase: .receiving)
  }
}
