@_spi(Toolkit) public import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The state of an incomplete download, for resuming it in this or a later run of the program.
///
/// ```swift
/// do {
///   _ = try await session.resumableDownload(for: request, to: file, resuming: saved)
/// } catch {
///   saved = error.resumption        // it is Codable
/// }
/// ```
///
/// It names the file with the bytes received so far: resume the download, or ``discard()`` the file. It contains the
/// request's URL without user information, no fields and no credentials.
///
/// A stored value is checked before it is used, so that a manipulated one cannot name another file: see
/// `HTTPSession.resumableDownload(for:to:resuming:)`.
public struct DownloadResumption: Sendable, Hashable, Codable {
  /// The URL of the request, before redirects and without user information.
  public let url: URL
  /// The file with the first ``byteCount`` bytes, in the destination's folder.
  public let file: URL
  /// The number of bytes in the file.
  public let byteCount: Int64
  /// The size of the whole file; nil if the server did not send it.
  public let size: Int64?
  /// The strong entity tag or `Last-Modified` date that the rest must have.
  public let validator: String
  /// Identifies the file. Without it, as in a value that the program itself made, the download starts again.
  let identity: FileStatus.Identity?

  init(
    url: URL, file: URL, byteCount: Int64, size: Int64?, validator: String, identity: FileStatus.Identity?
  ) {
    self.url = url.withoutUserInformation ?? url
    (self.file, self.byteCount, self.size) = (file, byteCount, size)
    (self.validator, self.identity) = (validator, identity)
  }

  /// Whether it continues a download of this URL. A value of an earlier version may have user information.
  func isDownload(of other: URL) -> Bool { url.withoutUserInformation == other.withoutUserInformation }

  /// Removes the file if it is still the kept one; no other file is touched.
  public func discard() {
    let path = file.path
    guard file.isFileURL, let name = path.split(separator: "/").last, PartialFileName(String(name)) != nil,
      describes(.named(path))
    else { return }
    unlink(path)
  }

  /// Whether a file is the kept one, with the same size.
  func describes(_ status: FileStatus?) -> Bool {
    guard let status, let identity else { return false }
    return status.isOwnAndSingle && status.identity == identity && status.size == byteCount
  }
}

extension DownloadResumption: CustomStringConvertible, CustomReflectable {
  /// The numbers of bytes, and the URL without its secrets.
  public var description: String { "\(byteCount) of \(size.map(String.init) ?? "?") bytes of \(url.redacted)" }

  /// Only the description.
  public var customMirror: Mirror { Mirror(self, children: ["download": description]) }
}
