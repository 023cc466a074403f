import Foundation
import MartletEngine
import MartletSemantics
import MartletURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension HTTPResponse {
  /// The response as Foundation writes it: lines of one name joined. Nothing in this module reads it back but for what an
  /// observer changed.
  var urlResponse: HTTPURLResponse? { head.urlResponse(from: url) }

  /// A response that an observer made up.
  init(_ response: URLResponse, _ data: Data, to request: HTTPRequest) {
    self.init(body: ResponseBody(data), url: response.url ?? request.url)
    if let response = response as? HTTPURLResponse { head = ReceivedHead.head(of: response) }
  }

  /// Takes over what somebody changed in the response that was shown.
  mutating func apply(_ changed: URLResponse, insteadOf shown: URLResponse?) {
    guard let changed = changed as? HTTPURLResponse, let shown = shown as? HTTPURLResponse else { return }
    let (old, new) = (ReceivedHead.head(of: shown), ReceivedHead.head(of: changed))
    head.status = new.status
    head.fields.takeChanges(from: old.fields, to: new.fields)
  }
}

extension ResponseHead {
  func urlResponse(from url: URL) -> HTTPURLResponse? {
    var lines: [String: String] = [:]
    for (name, _) in fields where lines[name.rawName] == nil { lines[name.rawName] = fields[name] }
    return HTTPURLResponse(
      url: url, statusCode: status.code, httpVersion: version?.rawValue ?? "HTTP/1.1", headerFields: lines)
  }
}
