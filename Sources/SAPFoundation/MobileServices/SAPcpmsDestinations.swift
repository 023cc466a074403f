public import Foundation
import MartletSemantics

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Asks Mobile Services for the destinations of an app: their names and paths.
///
/// ```swift
/// let session = SAPURLSession()
/// SAPcpmsDestinations(sapURLSession: session, settingsParameters: settings).load { destinations, error in
///   print(destinations ?? [:], error?.localizedDescription ?? "")
/// }
/// ```
///
/// Where the service is and what it answers is not published: by default `…/mobileservices/application/ID/endpoints` below the
/// backend is asked, and a JSON object of names and paths expected, or an array of objects with `name` and `path`. The other
/// initializer takes any URL.
open class SAPcpmsDestinations {
  private let session: SAPURLSession
  private let url: URL

  /// Makes one that asks this URL.
  public init(sapURLSession: SAPURLSession, destinationsServiceUrl: URL) {
    session = sapURLSession
    url = destinationsServiceUrl
  }

  /// Makes one that asks the backend of the settings for the destinations of its app.
  public convenience init(sapURLSession: SAPURLSession, settingsParameters: SAPcpmsSettingsParameters) {
    let id = PercentEncoding.pathSegment.encode(settingsParameters.applicationID)
    let base = settingsParameters.backendURL
    var parts = URLComponents(url: base, resolvingAgainstBaseURL: true)
    parts?.percentEncodedPath = "/mobileservices/application/\(id)/endpoints"
    self.init(sapURLSession: sapURLSession, destinationsServiceUrl: parts?.url ?? base)
  }

  /// Loads the destinations. The handler is called once, on the session's `delegateQueue`, with one or the other; the error is
  /// a ``SAPURLError``.
  open func load(completionHandler: @escaping @Sendable ([String: String]?, (any Error)?) -> Void) {
    var request = URLRequest(url: url)
    request.setValue(SAPURLSession.HTTPContentType.applicationJSON, forHTTPHeaderField: SAPURLSession.HTTPHeader.accept)
    let task = session.dataTask(with: request) { data, response, error in
      do {
        if let error { throw error }
        guard let response else { throw SAPURLError.unknown }
        completionHandler(try Self.read(SAPURLError.checked(data ?? Data(), response)), nil)
      } catch { completionHandler(nil, SAPURLError(error)) }
    }
    task.resume()
  }

  private struct Destination: Decodable {
    let name: String
    let path: String
  }

  private static func read(_ data: Data) throws -> [String: String] {
    if let list = try? JSONDecoder().decode([Destination].self, from: data) {
      return Dictionary(list.map { ($0.name, $0.path) }) { first, _ in first }
    }
    return try JSONDecoder().decode([String: String].self, from: data)
  }
}
