public import MartletSemantics

extension HTTPSession {
  /// Sends the request and writes a successful response's body to a file, which appears only when it is complete.
  ///
  /// The bytes go to a hidden file beside the destination, which replaces the destination at the end and is removed when
  /// something fails. A response that is not a 2xx is returned with its body unread, and the destination is left as it is:
  /// check ``HTTPResponse/status``. A connection that breaks is gone on with as ``RequestOptions/downloadResumptions`` says.
  ///
  /// - Throws: ``HTTPError``, of kind `.file` where the destination cannot be written.
  public func download(for request: HTTPRequest, to destination: URL) async throws(HTTPError) -> HTTPResponse {
    var download = try Download(request, of: self, to: .init(destination), resuming: nil, keeps: false)
    return try await download.run()
  }

  /// Downloads like ``download(for:to:)``, but keeps what has come when it fails or is cancelled: the error's
  /// ``HTTPError/resumption`` says how to go on.
  ///
  /// ```swift
  /// do {
  ///   _ = try await session.resumableDownload(for: request, to: file)
  /// } catch {
  ///   guard let resumption = error.resumption else { throw error }
  ///   _ = try await session.resumableDownload(for: request, to: file, resuming: resumption)
  /// }
  /// ```
  ///
  /// The rest is asked for with `Range` and `If-Range` (RFC 9110 §13.1.5, §14.2). The file is never a mixture: where the
  /// resource has changed, the server refuses ranges or the kept file is not as it was, the download begins anew. There is
  /// nothing to resume without a strong validator: a strong `ETag`, or where there is none a `Last-Modified` of at least a
  /// second before the response's `Date`. To be resumable, the request asks for `Accept-Encoding: identity` unless it says
  /// otherwise, and is a GET without a `Range` of its own; any other is downloaded as by ``download(for:to:)``.
  ///
  /// - Parameters:
  ///   - request: what is asked for. When resuming, the same again, with fresh credentials if it had any.
  ///   - destination: where the file appears; the bytes are kept beside it.
  ///   - resumption: what an earlier download to the same destination left. It is used if it is for the same URL and the file is in
  ///     the destination's folder, has the name of a partial file of the destination, and is the same regular file of the same
  ///     size. Anything else is not touched, and the download begins anew.
  /// - Returns: the response that brought the file or its rest: 200 or 206. For any other see ``download(for:to:)``; what was
  ///   kept stays as it is then.
  public func resumableDownload(
    for request: HTTPRequest, to destination: URL, resuming resumption: DownloadResumption? = nil
  ) async throws(HTTPError) -> HTTPResponse {
    try await resumableDownload(for: request, to: DownloadDestination(destination), resuming: resumption)
  }

  package func resumableDownload(
    for request: HTTPRequest, to destination: DownloadDestination, resuming resumption: DownloadResumption?
  ) async throws(HTTPError) -> HTTPResponse {
    var download = try Download(request, of: self, to: destination, resuming: resumption, keeps: true)
    return try await download.run()
  }
}
