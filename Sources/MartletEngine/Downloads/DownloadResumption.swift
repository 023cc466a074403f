public import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// How a download that did not end goes on, in this run of the program or a later one.
///
/// ```swift
/// do {
///   _ = try await session.resumableDownload(for: request, to: file, resuming: saved)
/// } catch {
///   saved = error.resumption        // Codable: keep it where you like
/// }
/// ```
///
/// It names the file with the bytes that are there, which is the caller's from then on: resume it or ``discard()`` it. It
/// holds no field of the request and no credentials, but the URL as it was asked for.
///
/// What it names is believed only as far as it can be checked, so that a stored value which somebody has changed moves no
/// other file: see `HTTPSession.resumableDownload(for:to:resuming:)`.
public struct DownloadResumption: Sendable, Hashable, Codable {
  /// What was asked for, before any redirect.
  public let url: URL
  /// The file with the first ``byteCount`` bytes, beside the destination.
  public let file: URL
  /// How many bytes there are.
  public let byteCount: Int64
  /// How many there will be, nil where the server did not say.
  public let size: Int64?
  /// The strong entity tag, or the date of the last change, that the rest must have.
  public let validator: String
  /// Which file that was; nil in values that an earlier version stored, which begin anew.
  let identity: FileStatus.Identity?

  /// Removes the file, if it is still the one that was kept, and as it was; anything else is left alone.
  public func discard() {
    let path = file.path
    guard file.isFileURL, let name = path.split(separator: "/").last, PartialFileName(String(name)) != nil,
      describes(.named(path))
    else { return }
    unlink(path)
  }
}

extension DownloadResumption: CustomStringConvertible {
  /// How far it is, with the URL's secrets left out.
  public var description: String { "\(byteCount) of \(size.map(String.init) ?? "?") bytes of \(url.redacted)" }
}
